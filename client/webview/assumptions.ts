import type { Breakdown } from '../../server/src/shared/protocol';
import { fieldLabel, formatInteger } from '../../server/src/shared/words';
import { dataTable, namedRows } from './data-table';
import { h } from './element';
import { isHttps } from './links';
import { breakable } from './sentence';
import { t } from './strings';

/** Values that the file does not set, and who states them; defaults, of which there are many, are folded away. */
export function assumptionTables(assumptions: Breakdown['assumptions']): HTMLElement[] {
  const stated = assumptions.filter(({ kind }) => kind !== 'default');
  const defaults = assumptions.filter(({ kind }) => kind === 'default');
  const folded = () =>
    h(
      'details',
      { 'data-key': 'defaults' },
      h('summary', {}, t('defaults', defaults.length)),
      assumptionTable(defaults),
    );
  return [
    ...(stated.length > 0 ? [assumptionTable(stated)] : []),
    ...(defaults.length > 0 ? [folded()] : []),
  ];
}

function assumptionTable(assumptions: Breakdown['assumptions']): HTMLElement {
  const rows = assumptions.map(({ field, value, source, link }) => {
    const text = () => h('code', {}, valueText(value));
    const originName = () => (isHttps(link) ? h('a', { href: link }, source || link) : source);
    // In words: people write a field by many names, and few by ours.
    const name = h('span', { title: field }, breakable(fieldLabel(field)));
    return [namedRows(name, text(), ' · ', originName()), text(), originName()];
  });
  const table = dataTable(t('assumptionsCaption'), [t('field'), t('value'), t('statedBy')], rows, {
    wide: [1, 2],
  });
  table.classList.add('assumptions');
  return table;
}

function valueText(value: unknown): string {
  if (typeof value === 'number' && Number.isInteger(value)) {
    return formatInteger(value);
  }
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? t('unset'));
}
