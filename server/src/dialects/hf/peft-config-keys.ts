import type { KeySpec } from '../dialect';
import { block } from '../key-rows';

const PEFT = 'https://huggingface.co/docs/peft/package_reference/lora#peft.LoraConfig';

/** A PEFT config as a block of a script's config. */
export const PEFT_CONFIG_KEYS: readonly KeySpec[] = [
  ...block('', PEFT, [
    ['peft_config', 'object', 'Adapter that is trained (PEFT).', { fields: ['method.kind'] }],
  ]),
  ...block('peft_config', PEFT, [
    ['peft_type', 'string', 'Kind of adapter.', { default: 'LORA', fields: ['method.kind'] }],
    ['task_type', 'string', 'Task of the model.'],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, fields: ['lora.rank'] }],
    [
      'lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { default: 8, fields: ['lora.alpha'] },
    ],
    ['lora_dropout', 'number', 'Dropout on the adapter input.', { default: 0, fields: ['lora.dropout'] }],
    ['target_modules', 'any', 'Modules that get an adapter.', { default: null, fields: ['lora.targets'] }],
    [
      'modules_to_save',
      'any',
      'Modules trained in full beside the adapters.',
      { default: null, fields: ['lora.modulesToSave'] },
    ],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, fields: ['lora.dora'] }],
    ['use_rslora', 'boolean', 'Scale by the root of the rank.', { default: false }],
    ['bias', 'string', 'Biases that are trained.', { default: 'none' }],
    ['num_virtual_tokens', 'integer', 'Trained tokens of prefix or prompt tuning.'],
  ]),
];
