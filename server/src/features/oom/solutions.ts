import type { Estimated } from '../../advice/changed-run';
import { type NamedRequest, namedRequests, type RequestsOfRun } from '../../explanation/named-requests';
import { isSmall, mayBe, tensorBytesOf } from '../../measured/allocation';
import type { Quantity } from '../../measured/quantity';
import type { TorchEra } from '../../measured/torch-message';
import type { Clues } from './clues';
import { supportOf } from './matches';

/** What a stated size would have to be for a tensor of the run to have the size that was asked for. */
export interface Solution {
  readonly field: 'batch.sequence' | 'batch.micro' | 'vocabulary';
  /** Values that give this size, and the one that the run states. */
  readonly from: number;
  readonly to: number;
  readonly stated: number;
  readonly request: NamedRequest;
  /** How far the traceback speaks for the tensor. */
  readonly support: number;
}

/** Below this the sizes of a run lie so close that some value always fits. */
const WORTH_SOLVING = 64 * 2 ** 20;
const MOST = 4;
/** Tensors that values are reported of: those that the traceback speaks for, else the largest. */
const MOST_TENSORS_SOLVED = 2;
/** Runs that are walked again to prove a value. */
const MOST_PROVEN = 6;

/**
 * Sequence, samples or vocabulary for which a tensor of the run has the size that was asked for; each is proven by walking
 * the run with that value. Of tensors that the traceback speaks against none is solved.
 */
export function solutionsOf(
  analysis: Estimated,
  run: RequestsOfRun,
  requested: Quantity,
  era: TorchEra | undefined,
  clues: Clues,
): Solution[] {
  if (isSmall(requested) || requested.bytes < WORTH_SOLVING) return [];
  const range = tensorBytesOf(requested, era);
  const seen = new Set<string>();
  const found = run.requests
    .filter((request) => request.grows > 0 && request.kind !== 'temporary')
    .map((request) => ({ request, support: supportOf(request, clues) }))
    .filter(({ support }) => support >= 0)
    .sort((a, b) => b.support - a.support || b.request.bytes - a.request.bytes)
    .flatMap(({ request, support }) => {
      const key = `${request.bytes} ${request.grows}`;
      if (seen.has(key)) return [];
      seen.add(key);
      return solved(request, run, range).map((solution) => ({ ...solution, request, support }));
    });
  const proven: Solution[] = [];
  const names = new Set<string>();
  let walks = 0;
  for (const solution of found) {
    if (proven.length >= MOST || walks >= MOST_PROVEN) break;
    if (names.size >= MOST_TENSORS_SOLVED && !names.has(solution.request.name)) continue;
    if (solution.field !== 'vocabulary') {
      walks++;
      if (!holds(analysis, solution, requested, era)) continue;
    }
    names.add(solution.request.name);
    proven.push(asStated(solution, analysis));
  }
  return proven;
}

/** Sizes as the config states them, not as one GPU has them: split over ranks, or a chosen and a rejected completion each. */
function asStated(solution: Solution, { resolved }: Estimated): Solution {
  const { field, from, to, stated } = solution;
  if (field === 'vocabulary' || !resolved.run) return solution;
  const share = resolved.run[field] / stated;
  return {
    ...solution,
    from: Math.ceil(from * share),
    to: Math.floor(to * share),
    stated: resolved.run[field],
  };
}

type Values = Pick<Solution, 'field' | 'from' | 'to' | 'stated'>;

function solved(
  request: NamedRequest,
  { batch, sequence }: RequestsOfRun,
  [least, most]: readonly [number, number],
): Values[] {
  const { bytes, grows } = request;
  const within = (stated: number, power: number) => {
    const from = Math.ceil(stated * (least / bytes) ** (1 / power) - 1e-9);
    const to = Math.floor(stated * (most / bytes) ** (1 / power) + 1e-9);
    return { from, to, stated };
  };
  const values: Values[] = [];
  const samples = within(batch, 1);
  if (samples.from === samples.to && samples.from !== batch && samples.from > 0 && samples.from <= 64 * batch)
    values.push({ field: 'batch.micro', ...samples });
  const length = within(sequence, grows);
  const plausible = length.from <= length.to && length.from >= 1 && length.to <= 64 * sequence;
  if (plausible && (sequence < length.from || sequence > length.to))
    values.push({ field: 'batch.sequence', ...length });
  const vocabulary = request.overVocabulary ? request.shape?.at(-1) : undefined;
  if (vocabulary !== undefined) {
    const words = within(vocabulary, 1);
    const near = words.from <= words.to && words.to <= 2 * vocabulary && words.from >= vocabulary / 2;
    if (near && (vocabulary < words.from || vocabulary > words.to))
      values.push({ field: 'vocabulary', ...words });
  }
  return values;
}

/** Whether the run with that value has such a tensor of that size. */
function holds(
  analysis: Estimated,
  { field, from, to, stated, request }: Solution,
  requested: Quantity,
  era: TorchEra | undefined,
): boolean {
  const run = analysis.resolved.run;
  if (!run || field === 'vocabulary') return false;
  // Sizes on one GPU are the config's over the ranks that split them.
  const share = run[field] / stated;
  const value = Math.round(((from + to) / 2) * share);
  const input = analysis.alternative({ [field]: value });
  if (!input) return false;
  return namedRequests(input).requests.some(
    ({ name, kind, bytes }) => name === request.name && kind === request.kind && mayBe(bytes, requested, era),
  );
}
