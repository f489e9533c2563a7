import type { ConfigNode } from '../../config/node';
import { flagOf, integerOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, inertKeys } from '../key-rows';
import { KeyTable } from '../key-table';
import { baseModelName } from './ludwig-names';
import { LUDWIG } from './ludwig-repository';
import { LUDWIG_TRAINER as TRAINER } from './ludwig-source';

const MODEL = fileIn(LUDWIG, 'ludwig/schema/model_types/llm.py');
const ADAPTER = fileIn(LUDWIG, 'ludwig/schema/llms/peft.py');
const QUANTIZATION = fileIn(LUDWIG, 'ludwig/schema/llms/quantization.py');
const PREPROCESSING = fileIn(LUDWIG, 'ludwig/schema/preprocessing.py');
const PARAMETERS = fileIn(LUDWIG, 'ludwig/schema/llms/model_parameters.py');
const INERT = 'Setting of Ludwig that costs no GPU memory.';

/** The opposite of a switch. */
function notOf(node: ConfigNode): boolean | undefined {
  const skips = flagOf(node);
  return skips === undefined ? undefined : !skips;
}

/** Keys of Ludwig's configs for language models (`model_type: llm`). */
export const LUDWIG_KEYS: readonly KeySpec[] = [
  ...block('', MODEL, [
    ['model_type', 'string', 'Kind of model; `llm` fine-tunes a language model.', { values: ['llm'] }],
    [
      'base_model',
      'string',
      "Model of the Hub, a folder, or one of Ludwig's presets.",
      { sets: 'model.id', means: baseModelName },
    ],
    ['input_features', 'array', 'Columns that go in: one of text.'],
    ['output_features', 'array', 'Columns that come out: one of text.'],
    ['adapter', 'object', 'What is trained in place of all weights.', { fields: ['method.kind'] }],
    ['quantization', 'object', 'How the frozen base is stored.', { fields: ['quantization.kind'] }],
    ['trainer', 'object', 'Batch, steps, optimizer, precision.'],
    ['preprocessing', 'object', 'How samples become tokens.'],
    ['model_parameters', 'object', 'Changes to the base model.'],
    ['backend', 'any', 'Where it runs: in one process, or under Ray.', { fields: ['parallel.data'] }],
  ]),
  ...block('adapter', ADAPTER, [
    [
      'type',
      'string',
      'Kind of adapter.',
      {
        sets: 'lora.kind',
        spellings: { lora: 'lora', adalora: 'adalora', ia3: 'ia3' },
        fields: ['method.kind'],
      },
    ],
    ['r', 'integer', 'Rank of the LoRA matrices.', { default: 8, sets: 'lora.rank', assumes: ADAPTER }],
    [
      'init_r',
      'integer',
      'Rank that AdaLoRA starts with.',
      { default: 12, sets: 'lora.rank', assumes: ADAPTER },
    ],
    [
      'alpha',
      'integer',
      'LoRA scaling numerator, twice the rank where unset. Costs no memory.',
      { default: null, sets: 'lora.alpha' },
    ],
    [
      'dropout',
      'number',
      'Dropout on the adapter input.',
      { default: 0.05, sets: 'lora.dropout', assumes: ADAPTER },
    ],
    [
      'bias_type',
      'string',
      'Biases that are trained beside the adapters.',
      {
        values: ['none', 'all', 'lora_only'],
        default: 'none',
        sets: 'lora.bias',
        spellings: { none: 'none', all: 'all', 'lora-only': 'lora_only' },
      },
    ],
    [
      'target_modules',
      'array',
      "Modules that get an adapter; unset: PEFT's for the architecture.",
      { default: null, sets: 'lora.targets' },
    ],
    ['use_dora', 'boolean', 'Weight-decomposed LoRA.', { default: false, sets: 'lora.dora' }],
    [
      'pretrained_adapter_weights',
      'string',
      'Folder of a trained adapter, whose own settings count.',
      { default: null, fields: ['lora.rank'] },
    ],
    ['postprocessor', 'object', 'What happens to the adapter after training.'],
  ]),
  ...block('adapter.postprocessor', ADAPTER, [
    [
      'merge_adapter_into_base_model',
      'boolean',
      'Merge the trained adapter into the base model.',
      { default: false },
    ],
    ['progressbar', 'boolean', INERT, { default: false }],
  ]),
  ...block('quantization', QUANTIZATION, [
    [
      'bits',
      'integer',
      'Bits per weight of the frozen base.',
      { values: [4, 8], default: 4, fields: ['quantization.kind'] },
    ],
    [
      'bnb_4bit_quant_type',
      'string',
      'Type of 4-bit weights.',
      { values: ['nf4', 'fp4'], default: 'nf4', fields: ['quantization.kind'] },
    ],
    [
      'bnb_4bit_use_double_quant',
      'boolean',
      'Quantizes the scales of the blocks once more.',
      { default: true, sets: 'quantization.double', assumes: QUANTIZATION },
    ],
    [
      'bnb_4bit_compute_dtype',
      'string',
      'Type that quantized weights are multiplied in, and that the rest of the model is loaded in.',
      {
        values: ['float32', 'float16', 'bfloat16'],
        default: 'float16',
        sets: 'precision.weights',
        spellings: { fp32: 'float32', fp16: 'float16', bf16: 'bfloat16' },
        assumes: QUANTIZATION,
        fields: ['precision.compute'],
      },
    ],
  ]),
  ...block('trainer', TRAINER, [
    ['type', 'string', '`finetune` trains; `none` does not.', { default: 'none' }],
    [
      'batch_size',
      'integer',
      'Samples per forward pass; `auto` tries sizes.',
      { auto: true, default: 1, sets: 'batch.micro', assumes: TRAINER },
    ],
    [
      'gradient_accumulation_steps',
      'integer',
      'Micro batches per optimizer step; `auto` takes them from the effective batch, else one.',
      { auto: true, default: 'auto', sets: 'batch.accumulation' },
    ],
    [
      'effective_batch_size',
      'integer',
      'Samples per optimizer step.',
      { auto: true, default: 'auto', sets: 'batch.global', fields: ['batch.accumulation'] },
    ],
    [
      'eval_batch_size',
      'integer',
      'Samples per forward pass of the evaluation; 0: as in training.',
      { auto: true, default: 2, sets: 'evaluation.batch', assumes: TRAINER },
    ],
    [
      'skip_all_evaluation',
      'boolean',
      'Nothing is evaluated.',
      { default: false, sets: 'evaluation.enabled', means: notOf },
    ],
    ['train_steps', 'integer', 'Training steps of the whole run.', { default: null }],
    ['optimizer', 'object', 'Optimizer and its options.', { fields: ['optimizer.name'] }],
    [
      'use_mixed_precision',
      'boolean',
      'Autocast to fp16, with a loss scaler.',
      { default: false, fields: ['precision.scheme', 'precision.compute'] },
    ],
    ['compile', 'boolean', 'Compiles the model.', { default: false, sets: 'kernels.compile' }],
    [
      'enable_gradient_checkpointing',
      'boolean',
      'Activation checkpointing of every layer.',
      {
        default: false,
        sets: 'activations.checkpointing',
        spellings: { none: false, full: true },
        fields: ['activations.reentrant'],
      },
    ],
    [
      'layers_to_freeze_regex',
      'string',
      'Parameters whose names match are frozen.',
      { default: null, fields: ['method.kind'] },
    ],
  ]),
  ...block('trainer.optimizer', fileIn(LUDWIG, 'ludwig/schema/optimizers.py'), [
    [
      'type',
      'string',
      'Optimizer by its name.',
      {
        default: 'adam',
        fields: ['optimizer.name', 'optimizer.implementation'],
      },
    ],
    [
      'momentum',
      'number',
      'Momentum; above 0 it is a state of its own.',
      { fields: ['optimizer.extraStates'] },
    ],
    ['amsgrad', 'boolean', 'Keeps the largest second moment too.', { fields: ['optimizer.extraStates'] }],
    ['centered', 'boolean', 'RMSprop keeps the mean gradient too.', { fields: ['optimizer.extraStates'] }],
  ]),
  ...block('preprocessing', PREPROCESSING, [
    [
      'global_max_sequence_length',
      'integer',
      'Most tokens of input and output together; longer samples are cut.',
      { default: null, sets: 'batch.sequence' },
    ],
  ]),
  ...block('model_parameters', PARAMETERS, [
    [
      'neftune_noise_alpha',
      'integer',
      'Noise on the embedded tokens (NEFTune).',
      { default: 0, sets: 'method.noisyEmbeddings', means: (node) => (integerOf(node) ?? 0) > 0 },
    ],
    ['rope_scaling', 'object', 'Stretches the positions.', { default: null }],
  ]),
  ...inertKeys('', MODEL, INERT, {
    object: 'prompt generation defaults hyperopt',
    string: 'ludwig_version',
  }),
  ...inertKeys('adapter', ADAPTER, INERT, {
    boolean: 'use_rslora',
    integer: 'target_r tinit tfinal delta_t total_step',
    number: 'beta1 beta2 orth_reg_weight',
  }),
  ...inertKeys('trainer', TRAINER, INERT, {
    integer:
      'epochs eval_steps steps_per_checkpoint checkpoints_per_epoch early_stop max_batch_size increase_batch_size_on_plateau',
    number: 'base_learning_rate regularization_lambda',
    boolean: 'should_shuffle evaluate_training_set enable_profiling',
    string: 'validation_field validation_metric regularization_type learning_rate_scaling',
    any: 'learning_rate learning_rate_scheduler gradient_clipping profiler',
  }),
];

export const LUDWIG_TABLE = new KeyTable(LUDWIG_KEYS, 'Ludwig');
