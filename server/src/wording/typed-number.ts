import { numeral } from './say';

/** Marks between groups of three digits: a comma, a point, apostrophes and blanks of all widths. */
const GROUPED = /^([+-]?[1-9]\d{0,2})([,.'’\s])(\d{3}(?:\2\d{3})*)(?:([,.])(\d+))?(\s*[a-z]{0,3})$/iu;
const WITH_COMMA = /^([+-]?\d*),(\d+)(\s*[a-z]{0,3})$/iu;

/**
 * A number that a person typed, as files have it: `4,096`, `4 096` and `4.096` are 4096 where `whole` numbers are meant, `0,9` is 0.9. A comma
 * before three digits that may be either, as of `1,500 GiB`, is what it is in the language of the person. All else stays as it is.
 */
export function plainNumber(typed: string, whole: boolean): string {
  const text = typed.trim();
  const grouped = GROUPED.exec(text);
  if (grouped) {
    const [, first = '', mark = '', groups = '', point, decimals = '', unit = ''] = grouped;
    const isOne = groups.length === 3 && point === undefined;
    const mayBeFraction = isOne && (!whole || unit.trim() !== '');
    const isFraction = mayBeFraction && (mark === '.' || (mark === ',' && isDecimalMark(',')));
    if (isFraction) return `${first}.${groups}${unit}`;
    if (mark !== point) return `${first}${groups.replaceAll(mark, '')}${point ? `.${decimals}` : ''}${unit}`;
  }
  const [, before, after, unit = ''] = WITH_COMMA.exec(text) ?? [];
  const isMeant = before !== undefined && (!whole || unit.trim() !== '');
  return isMeant ? `${before}.${after}${unit}` : text;
}

const isDecimalMark = (mark: string) => numeral('0.5').includes(mark);
