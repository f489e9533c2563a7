import { isEstimated } from '../advice/changed-run';
import { withChanges } from '../memo/on-demand';
import type { FieldPath, RunValues } from '../run/fields';
import { fieldError, shortAlias } from '../run/parse-field';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { rememberedEstimate } from '../workspace/estimate-cache';

/** The analysis of a config as if its run had other values, or why they make no run. */
type Variant = { readonly analysis: Analysis } | { readonly refused: string };

/**
 * No text is read and none is written. A few milliseconds. Refused, as sentences for people: a value that cannot be meant,
 * and values that make no run together.
 */
export function variantOf(analysis: Analysis, values: RunValues): Variant {
  const reasons = (Object.keys(values) as FieldPath[]).flatMap((field) => {
    const error = fieldError(field, values[field]);
    return error === undefined ? [] : [`${shortAlias(field)}: ${error}.`];
  });
  if (reasons.length > 0) return { refused: reasons.join(' ') };
  const input = isEstimated(analysis) ? analysis.alternative(values) : undefined;
  if (!input) return { refused: say('The GPUs do not divide into these groups, or the GPU is not known.') };
  const { run, accelerator } = input;
  return {
    analysis: withChanges(analysis, {
      resolved: { ...analysis.resolved, values: run, run },
      accelerator,
      estimate: rememberedEstimate(input),
      alternative: (changes) => analysis.alternative?.({ ...values, ...changes }),
      answers: undefined,
      problems: [],
    }),
  };
}
