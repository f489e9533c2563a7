import { BITSANDBYTES, fileIn } from '../sources/repositories';

/** Where bitsandbytes exports its optimizers. */
export const BITSANDBYTES_OPTIMIZERS = fileIn(BITSANDBYTES, 'bitsandbytes/optim/__init__.py');

/** The first release of bitsandbytes with such optimizers, or with their argument `is_paged`; the newest first. */
const SINCE: readonly (readonly [name: RegExp, since: string])[] = [
  [/ademamix/i, '0.44'],
  [/^paged/i, '0.39'],
  [/^lion/i, '0.38'],
];

/** The first release with an optimizer of bitsandbytes, by its class (`PagedLion`) or its name in a Trainer (`paged_lion_8bit`). */
export function bitsandbytesRelease(name: string): string | undefined {
  return SINCE.find(([pattern]) => pattern.test(name))?.[1];
}
