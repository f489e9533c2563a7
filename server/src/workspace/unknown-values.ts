import { otherSizes } from '../hardware/catalog';
import type { Estimate } from '../results/estimate';
import { FIELDS, type FieldPath, type FieldSpec, type RunValues } from '../run/fields';
import { isStated, type Origin } from '../run/origin';
import type { Resolution } from '../run/resolve';
import { isDecisive, type Unread } from '../run/unread';
import { beginTogether } from '../text/place';
import { canonicalUri } from '../text/uri';

/**
 * What becomes of a run where the value of a field is written and not known. `decisive`: another run, which is not estimated.
 * `tried`: the estimate holds where it does with each of the others. `withheld`: the others are too many to try, so that no verdict
 * follows. `free`: no value of it has a part in the peak.
 */
type StandingOfUnknown = 'decisive' | 'withheld' | 'free' | { readonly tried: readonly RunValues[] };

const each = <P extends FieldPath>(field: P, values: readonly unknown[]): readonly RunValues[] =>
  values.map((value) => ({ [field]: value }) as RunValues);

/** The ends of what a field may be, where not each of its values is tried. */
const TRIED: Readonly<Partial<Record<FieldPath, readonly RunValues[]>>> = {
  // What keeps least and most per parameter, and the usual ones.
  'optimizer.name': each('optimizer.name', ['sgd', 'adafactor', 'adamw-8bit', 'adamw', 'ademamix', 'soap']),
  // All logits in fp32, in their own type, and none.
  'loss.implementation': each('loss.implementation', ['full', 'full-upcast', 'native', 'liger']),
  'kernels.lora': each('kernels.lora', [[], ['mlp', 'qkv', 'output']]),
  'activations.checkpointEvery': each('activations.checkpointEvery', [1, 8]),
  'activations.layers': each('activations.layers', [0, 1, 4096]),
  'activations.period': each('activations.period', [-2, 2, 4096]),
  'batch.accumulation': each('batch.accumulation', [1, 16]),
  // It is the micro batches that it leaves which count.
  'batch.global': each('batch.accumulation', [1, 16]),
  'batch.images': each('batch.images', [0, 1, 8]),
  'hardware.nodes': each('hardware.nodes', [1, 8]),
  'evaluation.batch': each('evaluation.batch', [1, 64]),
  'evaluation.sequence': each('evaluation.sequence', [128, 131_072]),
  'evaluation.samples': each('evaluation.samples', [1, 100_000]),
  'evaluation.accumulation': each('evaluation.accumulation', [1, 1000]),
  'evaluation.generatedTokens': each('evaluation.generatedTokens', [0, 4096]),
  'evaluation.beams': each('evaluation.beams', [1, 8]),
  'optimizer.extraStates': each('optimizer.extraStates', [0, 1, 2]),
  'optimizer.blockSize': each('optimizer.blockSize', [64, 2048]),
  'fsdp.minParameters': each('fsdp.minParameters', [1, 1_000_000_000]),
  'ddp.bucketCap': each('ddp.bucketCap', [2 ** 20, 2 ** 30]),
  'allocator.maxSplit': each('allocator.maxSplit', [20 * 2 ** 20, 2 ** 30]),
  'allocator.roundup': each('allocator.roundup', [1, 2, 64]),
};

/** Fields whose value, whatever it is, moves no tensor of a GPU. */
const FREE: ReadonlySet<FieldPath> = new Set([
  'framework',
  // Versions have ends of their own, which are estimated.
  'version.torch',
  'version.transformers',
  'version.deepspeed',
  'version.bitsandbytes',
  'version.liger',
  'version.trl',
  'version.accelerate',
  // LISA draws as many layers at each step.
  'method.switchSteps',
  // A factor.
  'lora.alpha',
  // The peak is that of a GPU, and the card that a machine holds is a field of its own.
  'hardware.hostMemory',
  'hardware.instance',
  'hardware.price',
  'loading.hostCopies',
  // Each step takes the same.
  'schedule.steps',
  'schedule.tokens',
]);

/** What becomes of a run where the value of a field is written and not known. */
export function standingOfUnknown(field: FieldPath): StandingOfUnknown {
  if (FREE.has(field)) return 'free';
  if (isDecisive(field)) return 'decisive';
  const tried = TRIED[field];
  if (tried) return { tried };
  const spec: FieldSpec = FIELDS[field];
  if (spec.type === 'flag') return { tried: each(field, [true, false]) };
  return spec.type === 'choice' ? { tried: each(field, spec.values) } : 'withheld';
}

/** What a value that is not known may make of an estimate. */
export interface AnsweredValue {
  readonly unread: Unread;
  /** What the run needs with another value; undefined where they are too many to try. */
  readonly estimate?: Estimate;
}

/** Values that stand in the files and are not known, and of which nobody else states what they decide, each with what else they may be. */
export function answeredValues(
  { origins, values }: Pick<Resolution, 'origins' | 'values'>,
  unread: readonly Unread[],
  otherwise: (changes: RunValues) => Estimate | undefined,
): AnsweredValue[] {
  const asked = new Set<FieldPath>();
  const ofOtherSizes = (one: Unread) =>
    otherSizes(values['hardware.gpu'] ?? '').flatMap((gpu): AnsweredValue[] => {
      const estimate = otherwise({ 'hardware.gpu': gpu });
      return estimate ? [{ unread: one, estimate }] : [];
    });
  return unread.flatMap((one) => {
    if (one.kind !== 'value') return [];
    return (one.fields ?? []).flatMap((field): AnsweredValue[] => {
      if (field === 'hardware.gpu' && isTakenFrom(origins[field], one)) return ofOtherSizes(one);
      if (isStated(origins[field]) || asked.has(field)) return [];
      asked.add(field);
      const standing = standingOfUnknown(field);
      if (standing === 'withheld') return [{ unread: one }];
      if (typeof standing === 'string') return [];
      return standing.tried.flatMap((changes) => {
        const estimate = otherwise(changes);
        return estimate ? [{ unread: one, estimate }] : [];
      });
    });
  });
}

/** Whether a value was taken from a name that leaves it open: `a100`, of which there are two sizes. Whoever else states it knows it. */
const isTakenFrom = (origin: Origin | undefined, { location }: Unread): boolean =>
  origin?.location !== undefined &&
  canonicalUri(origin.location.uri) === canonicalUri(location.uri) &&
  beginTogether(origin.location.range, location.range);

/** Without names of GPUs that leave open which it is where somebody else states it. */
export const withoutKnownCard = (
  unread: readonly Unread[],
  { origins }: Pick<Resolution, 'origins'>,
): readonly Unread[] =>
  unread.filter(
    (one) =>
      one.kind !== 'value' ||
      one.fields?.length !== 1 ||
      one.fields[0] !== 'hardware.gpu' ||
      origins['hardware.gpu'] === undefined ||
      isTakenFrom(origins['hardware.gpu'], one),
  );
