import type { Knob, KnobId, Turned } from '../../server/src/shared/protocol';

/** Knobs that say how many samples one micro step has over all GPUs: more GPUs mean more, more parts of the model fewer. */
const FACTORS: Readonly<Partial<Record<KnobId, 1 | -1>>> = {
  'micro-batch': 1,
  gpus: 1,
  tensor: -1,
  pipeline: -1,
};

/**
 * Turns gradient accumulation so that a step has as many samples as in the file, after `by` was turned; where accumulation itself was
 * turned, the micro batch. Where no whole number does that, the nearest.
 */
export function keepGlobalBatch(knobs: readonly Knob[], turned: Turned, by: KnobId): Turned {
  const other: KnobId | undefined =
    by === 'accumulation' ? 'micro-batch' : FACTORS[by] === undefined ? undefined : 'accumulation';
  const knob = knobs.find(({ id }) => id === other);
  if (!other || knob?.kind !== 'number') return turned;
  const rest = { ...turned };
  delete rest[other];
  const wanted = Math.max(1, Math.round(knob.value / growth(knobs, rest)));
  return wanted === knob.value ? rest : { ...rest, [other]: wanted };
}

/** Samples of a step as a multiple of those in the file. */
export function growth(knobs: readonly Knob[], turned: Turned): number {
  return knobs.reduce((product, knob) => {
    const power = knob.id === 'accumulation' ? 1 : FACTORS[knob.id];
    if (power === undefined || knob.kind !== 'number') return product;
    const factor = Number(turned[knob.id] ?? knob.value) / knob.value;
    return power === 1 ? product * factor : product / factor;
  }, 1);
}
