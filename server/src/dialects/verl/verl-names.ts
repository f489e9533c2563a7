import { fileIn, VERL } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { DefaultValue } from '../section';

export const VERL_SOURCE = fileIn(VERL, 'verl/');
export const FSDP_ENGINE = 'workers/engine/fsdp/transformer_impl.py';

/** What verl takes where a key is left out. */
export function verlDefault<V>(
  value: V,
  note = say('{0} default', 'verl'),
  file = 'trainer/config/',
): DefaultValue<V> {
  return { value, note, source: `${VERL_SOURCE}${file}` };
}

/**
 * What starts a config, as far as its launch shows: a trainer of verl's own with the config that it takes (`trainer/config/ppo_trainer.yaml`,
 * `ppo_megatron_trainer.yaml`, `sft_trainer_engine.yaml`, `sft_trainer.yaml`).
 */
export type Trainer = 'ppo' | 'megatron' | 'sft' | 'older-sft';

/** How the trainers spell what means the same: RL keeps the policy in a block of its own, fine-tuning has it at the top. */
export interface VerlNames {
  readonly model: string;
  readonly engine: string;
  readonly optimizer: string;
  readonly ulysses: readonly [string, string];
  readonly strategy: string;
  /** FSDP where nothing names one. */
  readonly scheme: 'fsdp1' | 'fsdp2';
  readonly unpadded: readonly [string, ...string[]];
  /** GPUs of each machine where the file does not state it. */
  readonly gpusPerNode: number;
}

export const ACTOR = 'actor_rollout_ref.actor';
export const RL: VerlNames = {
  model: 'actor_rollout_ref.model',
  engine: `${ACTOR}.fsdp_config`,
  optimizer: `${ACTOR}.optim`,
  ulysses: [`${ACTOR}.ulysses_sequence_parallel_size`, `${ACTOR}.fsdp_config.ulysses_sequence_parallel_size`],
  strategy: `${ACTOR}.strategy`,
  scheme: 'fsdp1',
  unpadded: ['actor_rollout_ref.model.use_remove_padding', 'use_remove_padding'],
  gpusPerNode: 8,
};
/** The value model of PPO; its FSDP has a block of its own since 0.8. */
export const CRITIC: VerlNames = {
  model: 'critic.model',
  engine: 'critic.model.fsdp_config',
  optimizer: 'critic.optim',
  ulysses: ['critic.ulysses_sequence_parallel_size', 'critic.fsdp.ulysses_sequence_parallel_size'],
  strategy: 'critic.strategy',
  scheme: 'fsdp1',
  unpadded: ['critic.model.use_remove_padding'],
  gpusPerNode: 8,
};
export const FINE_TUNING: VerlNames = {
  model: 'model',
  engine: 'engine',
  optimizer: 'optim',
  ulysses: ['ulysses_sequence_parallel_size', 'engine.ulysses_sequence_parallel_size'],
  strategy: 'engine.strategy',
  scheme: 'fsdp1',
  unpadded: ['model.use_remove_padding', 'use_remove_padding'],
  gpusPerNode: 1,
};
/** `fsdp_sft_trainer`: FSDP 2 since 0.4, padded unless it is asked for otherwise. */
export const OLDER_FINE_TUNING: VerlNames = {
  ...FINE_TUNING,
  engine: 'model.fsdp_config',
  strategy: 'model.strategy',
  scheme: 'fsdp2',
  unpadded: ['use_remove_padding'],
};
