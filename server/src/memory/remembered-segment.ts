import { rememberedOf } from '../memo/remembered';
import type { Tape } from '../model/tape';
import { BEHAVIOUR_FIELDS } from '../run/behaviours';
import type { FieldPath, TrainingRun } from '../run/fields';
import { isJournaled } from './ledger';
import type { BackwardOptions } from './play-backward';
import { type Segment, segmentOf } from './segment';
import type { TracedStage } from './traced-run';

/** Fields that a segment depends on beside its tape. */
export const SEGMENT_FIELDS: readonly FieldPath[] = [
  'activations.checkpointing',
  'activations.modules',
  'activations.reentrant',
  'activations.distributed',
  'activations.offload',
  'kernels.compile',
  'kernels.fusedGelu',
  'kernels.fusedLayerNorm',
  'kernels.fusedSoftmax',
  'kernels.xla',
  ...BEHAVIOUR_FIELDS,
  'parallel.tensor',
];

const segments = rememberedOf<Tape, Segment>(Number.POSITIVE_INFINITY);
const texts = new WeakMap<TrainingRun, string>();

/**
 * What `segmentOf` gives, remembered as long as its tape is: pipeline stages and runs that share a trace play each layer
 * once. Played anew while a journal is kept, which tells of its own ledgers only.
 */
export function rememberedSegment(
  traced: TracedStage,
  run: TrainingRun,
  gradients: 'keep' | 'pass',
  shared?: BackwardOptions['shared'],
): Segment {
  if (isJournaled()) return segmentOf(traced, run, gradients, shared);
  const every = Math.min(traced.copies, run['activations.checkpointEvery']);
  let key = `${gradients}${every}${traced.whole === true}${traced.stage.role === 'layer'};${settingsOf(run)}`;
  for (const { id } of traced.consumed) key += `,${id}`;
  for (const { id } of traced.shared ?? []) key += `+${id}`;
  for (const { id } of traced.held ?? []) key += `=${id}`;
  for (const [name, places] of shared ?? []) {
    key += `;${name}`;
    for (const { first, last, apart } of places) key += `${first}${last}${apart}`;
  }
  return segments.of(traced.tape, key, () => segmentOf(traced, run, gradients, shared));
}

function settingsOf(run: TrainingRun): string {
  const known = texts.get(run);
  if (known !== undefined) return known;
  const text = SEGMENT_FIELDS.map((path) => String(run[path])).join();
  texts.set(run, text);
  return text;
}
