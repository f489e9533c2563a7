import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';

/** Whether the run's pipeline keeps several layer chunks on a stage, and how many. */
export function chunksPerStage(run: TrainingRun): number {
  switch (run['parallel.pipelineSchedule']) {
    case 'zbv':
    case 'dualpipev':
      return 2;
    case 'gpipe':
    case 'sequential':
      return 1;
    default:
      return run['parallel.virtualStages'];
  }
}

/** Layers that embedding and head count as: torchtitan gives its ends one layer less (`pipeline_parallel_*_less_layers`). */
function weightOfEnds(run: TrainingRun): { first: number; last: number } {
  const first = run['parallel.embeddingLayers'] ?? behaviours(run).layersPerEnd;
  return { first, last: run['parallel.headLayers'] ?? first };
}

/** `total` over `parts`, the first ones taking the remainder. */
function evenly(total: number, parts: number): number[] {
  const base = Math.floor(total / parts);
  return Array.from({ length: parts }, (_, i) => base + (i < total - base * parts ? 1 : 0));
}

/**
 * Layers of each chunk in model order, `parallel.pipeline` x chunks of them; their sum is `layers`.
 *
 * As stated (`parallel.stageLayers`), else with the stated number on the first and last stage
 * (`megatron/core/transformer/transformer_block.py`, `get_num_layers_to_build`), else evenly, where embedding and head may
 * count as layers (there, `account_for_*_in_pipeline_split`; torchtitan, `_generate_llm_fqn_per_model_part`). A remainder goes
 * to the first chunks.
 */
export function layersPerChunk(run: TrainingRun, layers: number): number[] {
  const p = run['parallel.pipeline'];
  const v = chunksPerStage(run);
  const n = p * v;
  const stated = run['parallel.stageLayers'].map(Number);
  if (stated.length === n && stated.reduce((sum, count) => sum + count, 0) === layers) return stated;
  const firstStage = run['parallel.firstStageLayers'];
  const lastStage = run['parallel.lastStageLayers'];
  if (p > 1 && (firstStage !== undefined || lastStage !== undefined)) {
    const ends = (firstStage ?? 0) + (lastStage ?? 0);
    const between = p - (firstStage === undefined ? 0 : 1) - (lastStage === undefined ? 0 : 1);
    if (ends <= layers && (between > 0 || ends === layers)) {
      const rest = evenly(layers - ends, Math.max(1, between));
      const stages = [...rest.slice(0, between)];
      if (firstStage !== undefined) stages.unshift(firstStage);
      if (lastStage !== undefined) stages.push(lastStage);
      const perStage = stages.map((count) => evenly(count, v));
      return Array.from({ length: n }, (_, i) => perStage[i % p]?.[Math.floor(i / p)] ?? 0);
    }
  }
  const { first, last } = weightOfEnds(run);
  const counts = evenly(layers + first + last, n);
  counts[0] = (counts[0] ?? 0) - first;
  counts[n - 1] = (counts[n - 1] ?? 0) - last;
  return counts.some((count) => count < 0) ? evenly(layers, n) : counts;
}
