import type { PyUnknown, PyValue } from './value';

/** Whether a value is one text, whatever stands in it. */
export function isText(value: PyValue | undefined): boolean {
  if (value?.kind === 'either') return value.options.every(isText);
  if (value?.kind === 'unknown') return value.text === 'one';
  return value?.kind === 'scalar' && typeof value.value === 'string';
}

/** Whether a value is a list of texts and of nothing else, empty ones among them. */
export function isListOfTexts(value: PyValue): boolean {
  if (value.kind === 'either') return value.options.every(isListOfTexts);
  if (value.kind === 'list') return value.items.every(isText);
  return value.kind === 'unknown' && value.text === 'list';
}

/** What a loop over texts gives in each round. */
export const eachText = (over: PyValue | undefined): Pick<PyUnknown, 'text'> =>
  over && isListOfTexts(over) ? { text: 'one' } : {};
