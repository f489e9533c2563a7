import type { Breakdown } from '../../server/src/features/protocol';
import { formatInteger } from '../../server/src/wording/figures';
import { h } from './element';
import { isHttps } from './links';
import { t } from './strings';

/** Values that the file does not state, and who says them; defaults are folded away where somebody says more. */
export function assumptionTables(assumptions: Breakdown['assumptions']): HTMLElement[] {
  const said = assumptions.filter(({ kind }) => kind !== 'default');
  const defaults = assumptions.filter(({ kind }) => kind === 'default');
  if (said.length === 0 || defaults.length === 0) return [assumptionTable(assumptions)];
  return [
    assumptionTable(said),
    h(
      'details',
      { 'data-key': 'defaults' },
      h('summary', {}, t('defaults', defaults.length)),
      assumptionTable(defaults),
    ),
  ];
}

function assumptionTable(assumptions: Breakdown['assumptions']): HTMLElement {
  return h(
    'table',
    { class: 'assumptions' },
    h('caption', { class: 'spoken' }, t('assumptionsCaption')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('field')),
        h('th', { scope: 'col' }, t('value')),
        h('th', { scope: 'col' }, t('whoSays')),
      ),
    ),
    h(
      'tbody',
      {},
      ...assumptions.map(({ field, value, source, link }) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, h('code', {}, ...breakable(field))),
          h('td', {}, h('code', {}, valueText(value))),
          h('td', {}, isHttps(link) ? h('a', { href: link }, source || link) : source),
        ),
      ),
    ),
  );
}

/** A path may break after its dots. */
function breakable(path: string): Node[] {
  return path
    .split(/(?<=\.)/)
    .flatMap((part, i) => [...(i > 0 ? [h('wbr')] : []), document.createTextNode(part)]);
}

function valueText(value: unknown): string {
  if (typeof value === 'number' && Number.isInteger(value)) {
    return formatInteger(value);
  }
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? t('unset'));
}
