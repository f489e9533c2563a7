import { estimate as estimateRun } from '../estimate';
import { findAccelerator } from '../hardware/catalog';
import { FIELD_PATHS, type FieldPath, type RunValues } from '../run/fields';
import { type Fact, fact, type Origin } from '../run/origin';
import { resolveRun } from '../run/resolve';
import type { Analysis } from './analysis';

/** Fields that `derive` fills: what they follow from may be changed, so they are derived anew. */
const DERIVED: ReadonlySet<FieldPath> = new Set<FieldPath>([
  'batch.global',
  'batch.accumulation',
  'batch.micro',
  'hardware.nodes',
  'parallel.data',
]);
/** The global batch is a product: whoever changes one of its factors changes it, even where a file states it. */
const FACTORS: readonly FieldPath[] = ['batch.micro', 'batch.accumulation', 'hardware.gpus'];
/** What a machine is, where its GPU is another. */
const OF_THE_GPU: readonly FieldPath[] = ['hardware.gpuMemory', 'hardware.instance'];

const SUPPOSED: Origin = { kind: 'command-line', note: 'tried' };

/** The statements that a run rests on, with some of them replaced. */
function factsOf({ resolved }: Analysis, values: RunValues): Fact[] {
  const dropped = new Set<FieldPath>();
  if (FACTORS.some((field) => values[field] !== undefined)) dropped.add('batch.global');
  if (values['hardware.gpu'] !== undefined) for (const field of OF_THE_GPU) dropped.add(field);
  const gpus = values['hardware.gpus'];
  const had = resolved.values['hardware.gpus'];
  if (gpus !== undefined && had !== undefined) {
    // Machines keep their size; one that holds fewer GPUs than it has is still one.
    const nodes = resolved.values['hardware.nodes'] ?? 1;
    if (nodes > 1 || gpus > had) dropped.add('hardware.nodes');
  }
  const facts: Fact[] = [];
  for (const field of FIELD_PATHS) {
    const stated = resolved.values[field];
    const origin = resolved.origins[field];
    const changed = values[field];
    if (changed !== undefined) {
      facts.push(fact(field, changed, SUPPOSED));
    } else if (stated !== undefined && origin && !dropped.has(field)) {
      if (origin.kind !== 'inferred' || !DERIVED.has(field)) facts.push(fact(field, stated, origin));
    }
  }
  return facts;
}

/**
 * The analysis of a config as if its run had other values; no text is read and none is written. Without an estimate where
 * the values make no run, with `resolved.unknown` and `refused` saying why. A few milliseconds at most.
 */
export function variantOf(
  analysis: Analysis,
  values: RunValues,
): { readonly analysis: Analysis; readonly refused: readonly string[] } {
  const resolution = resolveRun(factsOf(analysis, values));
  const gpu = values['hardware.gpu'];
  const accelerator = gpu === undefined ? analysis.accelerator : findAccelerator(gpu);
  const { model } = analysis;
  const refused = resolution.rejected.map(({ fact: { field }, reason }) => `${field}: ${reason}`);
  const { run } = resolution;
  const estimate =
    run && model && accelerator && refused.length === 0
      ? estimateRun({ run, model, accelerator })
      : undefined;
  return {
    analysis: { ...analysis, resolved: resolution, accelerator, estimate, problems: [] },
    refused,
  };
}
