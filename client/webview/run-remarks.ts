import type { Breakdown } from '../../server/src/shared/protocol';
import { fieldLabel } from '../../server/src/shared/words';
import { assumptionTables } from './assumptions';
import { button, h } from './element';
import { section } from './section';
import { sentence } from './sentence';
import { t } from './strings';
import type { Surroundings } from './surroundings';

/** What there is to know about the figures of a run: notes, what would decide it, what was not understood, assumptions. */
export function runRemarks({ notes, open = [], notUnderstood = [], assumptions }: Breakdown): Node[] {
  const list = (title: string, sentences: readonly string[]) =>
    sentences.length > 0 ? [section(title, h('ul', {}, ...sentences.map((text) => h('li', {}, text))))] : [];
  return [
    ...list(t('notes'), notes),
    ...list(
      t('decides'),
      open.map(({ sentence: text }) => text),
    ),
    ...list(
      t('notUnderstood'),
      notUnderstood.map(({ message }) => message),
    ),
    ...(assumptions.length > 0 ? [section(t('assumptions'), ...assumptionTables(assumptions))] : []),
  ];
}

/** What no file states and the figures need, with the way to supply it. */
export function missingFields({ unknown }: Breakdown, send: Surroundings['send']): HTMLElement {
  const fields = unknown.map(({ field }) => field);
  return section(
    t('missing'),
    h(
      'ul',
      {},
      ...unknown.map(({ field, reason }) =>
        h(
          'li',
          {},
          h('strong', {}, `${sentence(fieldLabel(field))}:`),
          h('span', { class: 'quiet' }, ` ${reason}`),
        ),
      ),
    ),
    h(
      'p',
      { class: 'buttons' },
      button(t('supply'), { 'data-key': 'supply' }, () => send({ type: 'supply', fields })),
    ),
  );
}
