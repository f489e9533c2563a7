import type { Category, CausingKey } from '../../server/src/shared/protocol';
import { button, h } from './element';
import { t } from './strings';

/** How many keys are named under a part; the rest shape it less directly. */
const NAMED = 6;

/** Index of the key to look at first for a part; undefined where no key shapes it. */
export const firstKeyOf = (keys: readonly CausingKey[], category: Category): number | undefined =>
  ordered(keys, category)[0]?.index;

/** Keys that shape a part with their indices: those first that are looked at for this part, not for the run. */
function ordered(keys: readonly CausingKey[], category: Category) {
  const place = ({ places }: CausingKey) => places[category] ?? Number.POSITIVE_INFINITY;
  return keys
    .flatMap((key, index) => (key.categories.includes(category) ? { key, index } : []))
    .sort((a, b) => (place(a.key) === place(b.key) ? 0 : place(a.key) - place(b.key)));
}

/** `Set by`: the keys that shape a part, each leading to its place in the editor. */
export function keysOfPart(
  keys: readonly CausingKey[] | undefined,
  category: Category,
  reveal: (index: number) => void,
): HTMLElement | undefined {
  const found = ordered(keys ?? [], category);
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
