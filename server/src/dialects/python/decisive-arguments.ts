import type { PyArgument, PyCall } from '../../config/python/value';
import type { FieldPath } from '../../run/fields';
import { argumentsOf, type Calls, isDecided, leaveValue } from './call-block';

type Decisions = Readonly<Record<string, readonly FieldPath[]>>;

/**
 * Arguments that are read one by one, not as keys of a table, and the fields that each decides, by the call that takes them. What the
 * readers of these calls assume where an argument is left out must not be assumed where it is passed and not known.
 */
const DECIDES: readonly (readonly [RegExp, Decisions])[] = [
  [
    /(?:^|\.)Fast\w*Model\.from_pretrained$/,
    {
      max_seq_length: ['batch.sequence'],
      dtype: ['precision.weights'],
      full_finetuning: ['method.kind', 'quantization.kind', 'precision.weights', 'precision.scheme'],
      load_in_8bit: ['quantization.kind'],
      load_in_16bit: ['quantization.kind'],
      load_in_fp8: ['quantization.kind'],
      float32_mixed_precision: ['precision.scheme'],
      fast_inference: ['rollout.engine'],
    },
  ],
  [
    /(?:^|\.)get_peft_model$/,
    {
      lora_dropout: ['lora.dropout'],
      target_modules: ['lora.targets'],
      modules_to_save: ['lora.modulesToSave'],
      finetune_vision_layers: ['lora.targets'],
      finetune_language_layers: ['lora.targets'],
      finetune_attention_modules: ['lora.targets'],
      finetune_mlp_modules: ['lora.targets'],
    },
  ],
  [
    /^torch\.optim\.(?:\w+\.)?[A-Z]\w*$/,
    {
      fused: ['optimizer.implementation'],
      foreach: ['optimizer.implementation'],
      momentum: ['optimizer.name'],
    },
  ],
  [
    /(?:^|\.)MixedPrecision(?:Policy)?$/,
    { param_dtype: ['precision.compute', 'precision.scheme'], reduce_dtype: ['precision.reduce'] },
  ],
  [/(?:^|\.)fully_shard$/, { reshard_after_forward: ['fsdp.strategy', 'fsdp.reshardSize'] }],
  [/(?:^|\.)FullyShardedDataParallel$/, { cpu_offload: ['offload.parameters', 'offload.optimizer'] }],
  [/(?:^|\.)CPUOffload$/, { offload_params: ['offload.parameters', 'offload.optimizer'] }],
  [
    /^(?:pytorch_lightning|lightning(?:\.pytorch)?)\.(?:\w+\.)*Trainer$/,
    {
      devices: ['hardware.gpus'],
      num_nodes: ['hardware.gpus'],
      precision: ['precision.compute', 'precision.scheme'],
    },
  ],
  [
    /(?:^|\.)FSDPStrategy$/,
    {
      cpu_offload: ['offload.parameters', 'offload.optimizer'],
      activation_checkpointing: ['activations.checkpointing'],
      activation_checkpointing_policy: ['activations.checkpointing'],
    },
  ],
  [
    /(?:^|\.)DeepSpeedStrategy$/,
    {
      stage: ['zero.stage'],
      offload_optimizer: ['offload.optimizer'],
      offload_parameters: ['offload.parameters'],
      offload_optimizer_device: ['offload.optimizer'],
      offload_params_device: ['offload.parameters'],
      allgather_bucket_size: ['zero.allgatherBucket'],
      reduce_bucket_size: ['zero.reduceBucket'],
      overlap_comm: ['zero.overlapCommunication'],
      contiguous_gradients: ['zero.contiguousGradients'],
      sub_group_size: ['zero.subGroup'],
    },
  ],
];

/**
 * Reports the arguments above whose values only the running script knows, or a condition decides, and that nothing reported yet.
 * To be called when all is read.
 */
export function leaveDecisive({ program, draft }: Calls): void {
  for (const call of program.calls) {
    const decisions = DECIDES.find(([callee]) => callee.test(call.callee))?.[1];
    if (!decisions) continue;
    for (const argument of unsettledOf(program, call)) {
      const fields = Object.hasOwn(decisions, argument.key) ? decisions[argument.key] : undefined;
      if (!fields || draft.hasLeft(argument.used)) continue;
      leaveValue(draft, argument, fields);
    }
  }
}

const unsettledOf = (program: Calls['program'], call: PyCall): PyArgument[] =>
  argumentsOf(program, call).filter(({ value }) => !isDecided(program, value));
