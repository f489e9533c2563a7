import type { RunValues } from '../../server/src/run/fields';
import { lower, type MeasuredRow, NotExpressed } from './row';
import { dateOf } from './versions';

/** How GPUs share the model, and what is kept in host memory. */
export function parallelism(row: MeasuredRow): RunValues {
  const { parallel } = row;
  if (!parallel) {
    if ((row.num_gpus ?? 1) > 1)
      throw new NotExpressed('several GPUs and no word on how they share the work');
    return { ...offload(row) };
  }
  if (parallel.naive_mp && parallel.naive_mp > 1) {
    throw new NotExpressed(
      'a model cut over GPUs without a pipeline (`device_map`) is not in the vocabulary',
    );
  }
  // `sp` is Megatron's flag, or the size of DeepSpeed-Ulysses.
  const ulysses = parallel.ulysses ?? (typeof parallel.sp === 'number' ? parallel.sp : 1);
  const ranks = (parallel.dp ?? 1) * (parallel.tp ?? 1) * (parallel.pp ?? 1) * (parallel.cp ?? 1) * ulysses;
  if ((row.num_gpus ?? ranks) > ranks) {
    throw new NotExpressed(`${row.num_gpus} GPUs, of which the parallel sizes account for ${ranks}`);
  }
  return {
    ...dataParallel(row),
    'parallel.tensor': parallel.tp ?? 1,
    'parallel.sequence': parallel.sp === true,
    'parallel.pipeline': parallel.pp ?? 1,
    'parallel.context': parallel.cp ?? 1,
    'parallel.ulysses': ulysses,
    'parallel.expert': parallel.ep ?? 1,
    'parallel.virtualStages': parallel.vpp ?? stagesPerRank(row),
    ...(parallel.dp_replicate ? { 'parallel.replicate': parallel.dp_replicate } : {}),
    ...distributedOptimizer(row),
    ...schedule(parallel.schedule),
    ...offload(row),
  };
}

/** torchtitan gives a rank two stages of an interleaved schedule (`pipelining_utils.py`, `generate_split_points`). */
function stagesPerRank({ framework, parallel }: MeasuredRow): number {
  return lower(framework).includes('torchtitan') && lower(parallel?.schedule).includes('interleaved') ? 2 : 1;
}

/** Megatron shards its optimizer only where it is set to. */
function distributedOptimizer(row: MeasuredRow): RunValues {
  const text = `${lower(row.optimizer)} ${lower(row.notes)}`;
  return /distributed[- _]optimizer/.test(text) ? { 'parallel.distributedOptimizer': true } : {};
}

function schedule(text: string | null | undefined): RunValues {
  const name = lower(text);
  if (name === '') return {};
  if (name.includes('interleaved')) return { 'parallel.pipelineSchedule': 'interleaved' };
  if (name.includes('1f1b')) return { 'parallel.pipelineSchedule': '1f1b' };
  if (name.includes('gpipe')) return { 'parallel.pipelineSchedule': 'gpipe' };
  throw new NotExpressed(`pipeline schedule "${text}" is not in the vocabulary`);
}

/** ZeRO's stage, as a number or as a text. */
export function zeroStage({ parallel }: MeasuredRow): number | undefined {
  const digit = /^(?:stage |zero-?)?([0-3])$/.exec(lower(parallel?.zero_stage))?.[1];
  return digit === undefined ? undefined : Number(digit);
}

function dataParallel(row: MeasuredRow): RunValues {
  const { parallel } = row;
  const stage = zeroStage(row);
  if (stage !== undefined) return { 'parallel.data': 'zero', 'zero.stage': stage };
  const fsdp = lower(parallel?.fsdp);
  if (fsdp !== '') {
    const version = /fsdp ?2|per-param/.test(`${fsdp} ${lower(row.framework)}`) ? 'fsdp2' : defaultFsdp(row);
    return {
      'parallel.data': version,
      ...strategy(fsdp, row),
      ...prefetch(version),
      ...ends(row),
      ...checkpoints(version, row),
    };
  }
  if ((parallel?.dp ?? 1) > 1 || /\bddp\b/.test(lower(row.framework))) return { 'parallel.data': 'ddp' };
  return { 'parallel.data': 'none' };
}

/**
 * Loops of their own checkpoint what FSDP wraps from within (`apply_activation_checkpointing`: fsdp_qlora, llama-recipes);
 * behind a Trainer the models of transformers do it themselves.
 */
function checkpoints(version: 'fsdp1' | 'fsdp2', row: MeasuredRow): RunValues {
  const own = /fsdp_qlora|llama-?(recipes|cookbook)|plain pytorch/.test(lower(row.framework));
  return version === 'fsdp1' && own ? { 'fsdp.checkpoints': 'within' } : {};
}

/** torchtitan wraps embedding and output apart from the root since 28 July 2025 (its #1094). */
function ends(row: MeasuredRow): RunValues {
  const apart = /torchtitan/.test(lower(row.framework)) && (dateOf(row) ?? '') >= '2025-08';
  return apart ? { 'fsdp.separateEnds': true } : {};
}

/** Which FSDP a framework of the row's time wraps with, where the row does not say it. */
function defaultFsdp(row: MeasuredRow): 'fsdp1' | 'fsdp2' {
  const framework = lower(row.framework);
  if (/fsdp ?1/.test(framework)) return 'fsdp1';
  if (/torchtitan/.test(framework)) return 'fsdp2';
  // torchtune moved all of its distributed recipes to FSDP2 in 0.3 (September 2024).
  if (/torchtune/.test(framework)) return (dateOf(row) ?? '') >= '2024-09' ? 'fsdp2' : 'fsdp1';
  return 'fsdp1';
}

function strategy(fsdp: string, row: MeasuredRow): RunValues {
  // Under pipelines torchtitan keeps gathered weights (`parallelize_llama.py`, `reshard_after_forward`).
  const pipelined = (row.parallel?.pp ?? 1) > 1;
  if (pipelined && lower(row.framework).includes('torchtitan')) return { 'fsdp.strategy': 'grad-op' };
  if (/no_shard|\bddp\b/.test(fsdp)) return { 'fsdp.strategy': 'none' };
  if (/grad_op|zero-2/.test(fsdp)) return { 'fsdp.strategy': 'grad-op' };
  if (/hybrid/.test(fsdp)) return { 'fsdp.strategy': 'hybrid' };
  return { 'fsdp.strategy': 'full' };
}

/** FSDP1 itself prefetches in backward (`BackwardPrefetch.BACKWARD_PRE` is the default of the class). */
function prefetch(version: 'fsdp1' | 'fsdp2'): RunValues {
  return version === 'fsdp1' ? { 'fsdp.backwardPrefetch': 'pre' } : {};
}

function offload(row: MeasuredRow): RunValues {
  const text = lower(row.offload);
  if (/^(none|no|off|false)?$/.test(text)) return {};
  const values: { -readonly [P in keyof RunValues]: RunValues[P] } = {};
  if (/activation/.test(text)) values['activations.offload'] = true;
  if (/param/.test(text)) values['offload.parameters'] = 'cpu';
  if (/optimizer|deepspeed cpu/.test(text)) values['offload.optimizer'] = 'cpu';
  if (Object.keys(values).length === 0 && /^(to )?(cpu|host)( offload(ing)?)?$/.test(text)) {
    // FSDP's `CPUOffload` moves the weights, and what steps them with them; ZeRO-Offload the optimizer.
    values[lower(row.parallel?.fsdp) === '' ? 'offload.optimizer' : 'offload.parameters'] = 'cpu';
  }
  if (Object.keys(values).length === 0) throw new NotExpressed(`offload "${row.offload}" is not understood`);
  const sharded = zeroStage(row) !== undefined || lower(row.parallel?.fsdp) !== '';
  if (values['offload.optimizer'] && !sharded) {
    throw new NotExpressed('an optimizer in host memory without ZeRO or FSDP is not in the vocabulary');
  }
  return values;
}
