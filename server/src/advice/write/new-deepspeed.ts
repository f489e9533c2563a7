import type { Written } from '../../dialects/words';
import type { FieldPath, RunValues, TrainingRun } from '../../run/fields';
import { type MadeConfig, madeConfig, type NewConfigs } from './new-config';

/** What the new file states: nobody else needs words for it. */
export const STATED_BY_DEEPSPEED: readonly FieldPath[] = [
  'zero.stage',
  'offload.optimizer',
  'offload.parameters',
];

/** The DeepSpeed config that changes ask for; undefined where they ask for none, or its name is taken. */
export function madeDeepspeed(
  place: NewConfigs | undefined,
  run: TrainingRun,
  changes: RunValues,
): MadeConfig | undefined {
  const stage = changes['zero.stage'];
  if (!place || changes['parallel.data'] !== 'zero' || run['parallel.data'] === 'zero') return undefined;
  if (stage === undefined || stage < 1) return undefined;
  const optimizer = changes['offload.optimizer'] === 'cpu';
  const parameters = changes['offload.parameters'] === 'cpu';
  const name = `ds_zero${stage}${optimizer || parameters ? '_offload' : ''}.json`;
  const text = `${JSON.stringify(deepspeedConfig(stage, optimizer, parameters), undefined, 2)}\n`;
  return madeConfig(place, name, text);
}

/**
 * As the guide of transformers has it: what the Trainer knows is `auto`, so that it is stated once
 * (https://github.com/huggingface/transformers/blob/v4.57.1/docs/source/en/deepspeed.md). An optimizer of the Trainer beside offload has to
 * be allowed (`zero_allow_untested_optimizer`, https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/engine.py).
 */
function deepspeedConfig(stage: number, optimizer: boolean, parameters: boolean): Written {
  const toHost = { device: 'cpu', pin_memory: true };
  return {
    train_batch_size: 'auto',
    train_micro_batch_size_per_gpu: 'auto',
    gradient_accumulation_steps: 'auto',
    gradient_clipping: 'auto',
    zero_allow_untested_optimizer: true,
    bf16: { enabled: 'auto' },
    fp16: { enabled: 'auto' },
    zero_optimization: {
      stage,
      ...(optimizer && { offload_optimizer: toHost }),
      ...(parameters && { offload_param: toHost }),
      overlap_comm: true,
      contiguous_gradients: true,
      ...(stage === 3 && {
        reduce_bucket_size: 'auto',
        stage3_prefetch_bucket_size: 'auto',
        stage3_param_persistence_threshold: 'auto',
        stage3_gather_16bit_weights_on_model_save: true,
      }),
    },
  };
}
