import type { ConfigDocument } from '../config/node';
import type { FieldPath } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import type { Problem } from '../text/problem';
import { firstKey, keyRange } from './verdict';

/** A run that a framework stops on before it trains: whatever the rest would need, it does not come to that. */
export interface RefusedRun {
  readonly problem: Problem;
  readonly missing: ResolvedRun['unknown'];
}

interface Refusal extends Pick<Problem, 'code' | 'message' | 'source'> {
  /** What the run states and the framework stops on. */
  readonly field: FieldPath;
  /** All that decides it is stated: an error, else a warning. */
  readonly isCertain: boolean;
  /** What is asked for in place of the field. */
  readonly asked?: { readonly field: FieldPath; readonly example: string };
  /** What a quick fix needs, where the file itself states the field. */
  readonly data?: Problem['data'];
}

export function refusedRun(
  { origins }: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
  { code, message, source, field, isCertain, asked, data }: Refusal,
): RefusedRun {
  const origin = origins[field];
  const own = origin?.location?.uri === document.uri && origin.kind === 'file' ? origin : undefined;
  return {
    missing: [asked ? { ...asked, reason: message } : { field, reason: message, stated: true }],
    problem: {
      code,
      severity: isCertain ? 'error' : 'warning',
      message,
      range: (own && keyRange(own, document)) ?? firstKey(document),
      source,
      ...(own && data ? { data } : {}),
    },
  };
}
