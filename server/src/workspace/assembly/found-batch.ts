import type { EstimateInput } from '../../estimate';
import { withChanges } from '../../memo/on-demand';
import type { Estimate, FoundBatch } from '../../results/estimate';
import type { FieldPath, RunValues, TrainingRun } from '../../run/fields';
import type { Origin } from '../../run/origin';
import type { Resolution } from '../../run/resolve';
import { keepsAccumulation, triedBatches, withMicroBatch } from '../../run/tried-batches';
import { ACCELERATE, COMPOSER, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';

type Estimating = (input: EstimateInput) => Estimate;

const fits = ({ verdict, peak, capacityBytes }: Estimate) =>
  verdict === 'fits' || (verdict === 'unknown' && peak.upperBytes <= capacityBytes);

/** A run whose framework looks for a micro batch that fits. Transformers refuses to under ZeRO 3 (`create_accelerator_and_postprocess`). */
const isFound = (run: TrainingRun) =>
  run['batch.adaptive'] && !(run['parallel.data'] === 'zero' && run['zero.stage'] === 3);

/** The largest micro batch of those that the framework tries whose run is sure to fit, else one sample. Memory grows with each. */
function foundMicro({ run, ...rest }: EstimateInput, estimate: Estimating): number {
  const tried = triedBatches(run);
  // Each is looked at by itself: what would be tried after it is no part of what it needs.
  const isEnough = (micro: number) =>
    fits(estimate({ ...rest, run: { ...lowered(run, micro), 'batch.adaptive': false } }));
  let low = 0;
  let high = tried.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isEnough(tried[middle] ?? 1)) high = middle;
    else low = middle + 1;
  }
  return tried[low] ?? run['batch.micro'];
}

const lowered = (run: TrainingRun, micro: number): TrainingRun =>
  micro === run['batch.micro'] ? run : { ...run, ...withMicroBatch(run, micro) };

/** A run with the micro batch that its framework finds for it. */
export const withFoundBatch = (input: EstimateInput, estimate: Estimating): EstimateInput =>
  isFound(input.run) ? { ...input, run: lowered(input.run, foundMicro(input, estimate)) } : input;

/**
 * An alternative of a run, with the micro batch that its framework finds: where the alternative states one, that is looked at as it is, and
 * nothing is looked for.
 */
export function alternativeFound(
  input: EstimateInput | undefined,
  changes: RunValues,
  estimate: Estimating,
): EstimateInput | undefined {
  if (!input?.run['batch.adaptive']) return input;
  if (changes['batch.micro'] === undefined || changes['batch.adaptive'] === true)
    return withFoundBatch(input, estimate);
  return { ...input, run: { ...input.run, 'batch.adaptive': false } };
}

/** The run that a framework comes to which lowers the micro batch. */
interface FoundRun {
  readonly resolution: Resolution;
  readonly foundBatch: FoundBatch;
}

/** Where the framework looks for a micro batch, the run with the one that it finds; undefined where it takes the one that is set. */
export function foundRun(
  resolution: Resolution,
  rest: Omit<EstimateInput, 'run'>,
  estimate: Estimating,
): FoundRun | undefined {
  const { run, values, origins } = resolution;
  if (!run || !isFound(run)) return undefined;
  const from = run['batch.micro'];
  const micro = foundMicro({ run, ...rest }, estimate);
  if (micro === from) return undefined;
  const changes = withMicroBatch(run, micro);
  const places = Object.fromEntries(
    (Object.keys(changes) as FieldPath[]).flatMap((field) =>
      run[field] === changes[field] ? [] : [[field, originOf(field, origins[field], run)]],
    ),
  );
  return {
    foundBatch: { micro, from },
    resolution: {
      ...resolution,
      run: { ...run, ...changes },
      values: { ...values, ...changes },
      origins: { ...origins, ...places },
    },
  };
}

function originOf(field: FieldPath, before: Origin | undefined, run: TrainingRun): Origin {
  const from = run['batch.micro'];
  if (field === 'batch.micro')
    return {
      ...before,
      kind: 'inferred',
      note: say('found while it runs: {0} is tried first', String(from)),
      source: keepsAccumulation(run)
        ? fileIn(ACCELERATE, 'src/accelerate/utils/memory.py')
        : fileIn(COMPOSER, 'composer/trainer/trainer.py'),
      before: from,
    };
  const note =
    field === 'evaluation.batch'
      ? say('evaluation keeps the batch that is set')
      : say('follows the micro batch that is found');
  return { kind: 'inferred', note };
}

/** The estimate of a run that was found, with how. */
export function withFoundNote(estimate: Estimate, { resolution, foundBatch }: FoundRun): Estimate {
  const { micro, from } = foundBatch;
  const { run } = resolution;
  const found = say(
    'The micro batch is found while it runs: {0} is tried first, and a smaller one after each error of memory. {1} is the largest of them that is sure to fit here, and the figures are of it.',
    String(from),
    String(micro),
  );
  const least = say(
    'The micro batch is found while it runs: {0} is tried first, and a smaller one after each error of memory. The figures are of one sample, the least that is tried.',
    String(from),
  );
  const fewer =
    run && keepsAccumulation(run)
      ? ` ${say('Accumulation stays as it is set: a step has fewer samples.')}`
      : '';
  const note = `${fits(estimate) ? found : least}${fewer}`;
  return withChanges(estimate, { foundBatch, notes: [note, ...estimate.notes] });
}
