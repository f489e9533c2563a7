import RELEASES from '../../../data/framework-keys/trlx.jsonl' with { type: 'text' };
import { fileIn, TRLX } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { block, inertKeys, releasedBlock } from '../key-rows';
import { KeyTable } from '../key-table';

/** What the releases say of the keys: types and defaults of most rows. */
const RELEASED = new ReleasedKeys([new FrameworkKeys(() => RELEASES)]);

const CONFIGS = fileIn(TRLX, 'trlx/data/configs.py');
const PPO = fileIn(TRLX, 'trlx/models/modeling_ppo.py');

/** trlX's YAML: six blocks, and those of a hyperparameter sweep. */
export const TRLX_KEYS: readonly KeySpec[] = [
  ...block('', CONFIGS, [
    ['train', 'object', 'The training job.'],
    ['model', 'object', 'The model.'],
    ['tokenizer', 'object', 'The tokenizer.'],
    ['optimizer', 'object', 'The optimizer.'],
    ['scheduler', 'object', 'The learning rate.'],
    ['method', 'object', 'What is trained for.'],
    ['tune_config', 'object', 'A hyperparameter sweep with Ray Tune.'],
  ]),
  ...releasedBlock('train', CONFIGS, RELEASED, [
    ['batch_size', 'Samples per GPU and optimizer step.', { fields: ['batch.micro', 'batch.accumulation'] }],
    [
      'minibatch_size',
      'Samples per GPU and forward pass; must divide `batch_size`. Unset: all of it.',
      { fields: ['batch.micro', 'batch.accumulation'] },
    ],
    ['seq_length', 'Tokens per sample, prompt and answer together.', { sets: 'batch.sequence' }],
    [
      'n_ctx',
      'Name of `seq_length` in 2022.',
      { type: 'integer', alias: 'train.seq_length', sets: 'batch.sequence' },
    ],
    ['total_steps', 'Optimizer steps of the whole run at most.', { sets: 'schedule.steps' }],
    ['eval_interval', 'Optimizer steps between evaluations.', { fields: ['evaluation.enabled'] }],
    ['trainer', 'Trainer.', { fields: ['method.objective'] }],
    ['save_optimizer', 'Save the states of the optimizer, too.', { sets: 'saving.optimizer', assumes: true }],
  ]),
  ...block('model', CONFIGS, [
    ['model_path', 'string', 'Model on the Hub, or a folder.', { sets: 'model.id' }],
    [
      'num_layers_unfrozen',
      'integer',
      'Last layers that are trained; -1: all. PPO then keeps the reference for these layers only.',
      {
        default: -1,
        fields: ['method.kind', 'method.trainable', 'method.trainableLayers', 'method.referenceModel'],
      },
    ],
    ['model_arch_type', 'string', 'Kind of model.', { values: ['causal', 'seq2seq'], default: 'causal' }],
    [
      'peft_config',
      'object',
      'Adapters.',
      { default: null, fields: ['method.kind', 'lora.rank', 'lora.targets'] },
    ],
    ['peft_config.peft_type', 'string', 'Kind of adapter.', { fields: ['method.kind'] }],
    ['peft_config.r', 'integer', 'Rank of the LoRA matrices.', { default: 8, fields: ['lora.rank'] }],
    [
      'peft_config.lora_alpha',
      'number',
      'LoRA scaling numerator. Costs no memory.',
      { fields: ['lora.alpha'] },
    ],
    ['peft_config.lora_dropout', 'number', 'Dropout on the adapter input.', { fields: ['lora.dropout'] }],
    ['peft_config.target_modules', 'any', 'Modules that get an adapter.', { fields: ['lora.targets'] }],
    ['peft_config.task_type', 'string', 'Task type of the adapter.'],
    ['model_type', 'string', 'Trainer in configs of 2022.', { fields: ['method.objective'] }],
    ['tokenizer_path', 'string', 'Tokenizer in configs of 2022.'],
    ['device', 'string', 'Device.'],
    ['model_extra_configs', 'object', 'Further arguments of `from_pretrained`.'],
    ['delta_kwargs', 'object', 'Adapters of OpenDelta, which trlX no longer supports.'],
  ]),
  ...releasedBlock('optimizer', CONFIGS, RELEASED, [
    [
      'name',
      'Optimizer.',
      { values: ['adam', 'adamw', 'adam_8bit_bnb', 'adamw_8bit_bnb', 'sgd'], fields: ['optimizer.name'] },
    ],
    ['kwargs', 'Its arguments.'],
  ]),
  ...releasedBlock('method', PPO, RELEASED, [
    ['name', 'Method.', { fields: ['method.objective', 'features.unmodelled'] }],
    ['chunk_size', 'Sequences per GPU that are generated at a time.', { sets: 'rollout.batch' }],
    ['num_rollouts', 'Rollouts per epoch.'],
    ['gen_kwargs', 'Arguments of generation.'],
    [
      'gen_kwargs.max_length',
      'Tokens of prompt and answer.',
      { type: 'integer', alias: 'method.gen_kwargs.max_new_tokens', sets: 'rollout.completion' },
    ],
    [
      'gen_kwargs.max_new_tokens',
      'Tokens that are generated.',
      { type: 'integer', sets: 'rollout.completion' },
    ],
    ['num_value_layers_unfrozen', 'Layers of a value branch of its own.'],
  ]),
  ...inertKeys('method.gen_kwargs', CONFIGS, 'Setting of trlX that costs no GPU memory.', {
    integer: 'min_length',
  }),
  ...inertKeys(
    'train',
    CONFIGS,
    'Setting of trlX that costs no GPU memory.',
    {
      released: `pipeline project_name run_name entity_name group_name checkpoint_dir rollout_logging_dir
    resume_from_checkpoint tracker logging_dir epochs checkpoint_interval seed save_best`,
      string: `orchestrator accelerate_config_path`,
      integer: `log_interval lr_ramp_steps lr_decay_steps input_size gen_size`,
      number: `grad_clip weight_decay learning_rate_init learning_rate_target lr_init lr_target opt_eps`,
      boolean: `accelerate`,
      any: `tags trainer_kwargs opt_betas`,
    },
    RELEASED,
  ),
];

export const TRLX_TABLE = new KeyTable(TRLX_KEYS, 'trlX', RELEASED);
