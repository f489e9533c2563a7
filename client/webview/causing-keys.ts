import type { Category, CausingKey } from '../../server/src/shared/protocol';
import { button, h } from './element';
import { t } from './strings';

/** How many keys are named under a part; the rest shape it less directly. */
const NAMED = 6;

/** `Set by`: the keys that shape a part, each leading to its place in the editor. */
export function keysOfPart(
  keys: readonly CausingKey[] | undefined,
  category: Category,
  reveal: (index: number) => void,
): HTMLElement | undefined {
  const found = (keys ?? []).flatMap((key, index) =>
    key.categories.includes(category) ? { key, index } : [],
  );
  if (found.length === 0) return undefined;
  return h(
    'p',
    { class: 'set-by' },
    h('span', { class: 'quiet' }, `${t('setBy')} `),
    ...found
      .slice(0, NAMED)
      .map(({ key, index }) =>
        button(
          key.key,
          { class: 'link', title: t('setByTitle', key.key), 'data-key': `key-${category}-${index}` },
          () => reveal(index),
        ),
      ),
  );
}
