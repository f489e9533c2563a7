import type { AskedValue } from './job-manifest';
import type { MapEntry } from './node';
import { textOf } from './scalar';

/** A key of a manifest with the value that it asks for. */
export const askedBy = ({ key, value }: MapEntry): AskedValue => ({
  key,
  text: textOf(value) ?? '',
  range: value.range,
});
