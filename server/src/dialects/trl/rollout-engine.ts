import { flagOf, textOf } from '../../config/scalar';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { readGenerationSteps } from '../hf/generation-steps';
import type { Section } from '../section';
import { trlDefault } from './trl-default';
import type { TrlMethod } from './trl-method';

/** Completions come from the model itself or from vLLM, which takes a share of the GPU where it runs on the same. */
export function readRollouts(section: Section, method: TrlMethod, context: ReadContext): void {
  if (method !== 'grpo' && method !== 'rloo' && method !== 'online_dpo' && method !== 'distillation') return;
  const vllm = section.find('use_vllm');
  const version = context.known['version.trl'];
  if (!vllm || flagOf(vllm.node) !== true) {
    if (vllm && flagOf(vllm.node) === false) section.state('rollout.engine', 'transformers', vllm);
    else section.assume('rollout.engine', trlDefault('transformers' as const, 'grpo_config.py'), 'use_vllm');
    if (method === 'rloo' && isAtLeast(version, '0.22') === false)
      readUpdate(section, section.integerOrDefault('num_mini_batches'));
    else readGenerated(section, method, context);
    return;
  }
  const colocated = isColocated(section, version);
  section.state(
    'rollout.engine',
    colocated ? 'vllm-colocate' : 'vllm-server',
    section.find('vllm_mode') ?? vllm,
  );
  if (!colocated) return;
  section.take('vllm_gpu_memory_utilization', 'vllm_enable_sleep_mode', 'vllm_tensor_parallel_size');
}

/** Whether vLLM runs on the GPUs that train. Until 0.15 it had one of its own (`vllm_device`); servers were the default until 1.0. */
export function isColocated(section: Section, version: unknown): boolean {
  const byDefault = isAtLeast(version, '1.0') === true ? 'colocate' : 'server';
  return (textOf(section.find('vllm_mode')?.node) ?? byDefault) === 'colocate';
}

/**
 * What one call generates. GRPO took a micro batch until 0.16, what a step takes in 0.17, and since 0.18 as many micro batches as are stated,
 * of which a step's are the default (`grpo_trainer.py`, `get_train_dataloader`); RLOO does so since 0.22. Distillation takes what a step
 * takes; online DPO generates two completions for each prompt of a micro batch.
 */
function readGenerated(section: Section, method: TrlMethod, context: ReadContext): void {
  if (method === 'online_dpo') return;
  const since = (release: string) => isAtLeast(context.known['version.trl'], release) !== false;
  if (method === 'grpo' && !since('0.17')) return;
  const states = method === 'rloo' || (method === 'grpo' && since('0.18'));
  const file = `${method}_trainer.py`;
  if (states) readGenerationSteps(section, context, trlDefault(0, file));
  else section.assume('rollout.steps', trlDefault(0, file));
}

/**
 * What an update of PPO takes, and of RLOO until 0.21: the model generates it in parts, and the scores of every token are kept
 * (`ppo_trainer.py`, `rloo_trainer.py`). RLOO accumulates within each of `parts`. Returns how many sequences that are.
 */
export function readUpdate(section: Section, parts: number): number {
  const micro = section.integerOrDefault('per_device_train_batch_size');
  const sequences = micro * section.integerOrDefault('gradient_accumulation_steps') * Math.max(1, parts);
  const note = say('micro batch × accumulation');
  section.assume('rollout.sequences', { ...trlDefault(sequences, 'ppo_trainer.py'), note });
  const part = section.find('local_rollout_forward_batch_size');
  const size = Math.min(sequences, section.integerOrDefault('local_rollout_forward_batch_size'));
  if (part) section.state('rollout.batch', size, part);
  else section.assume('rollout.batch', trlDefault(size, 'utils.py'), 'local_rollout_forward_batch_size');
  return sequences;
}
