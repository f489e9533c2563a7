import { interpolated } from '../../config/interpolation';
import { mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, isBlank, textOf } from '../../config/scalar';
import { onDemand } from '../../memo/on-demand';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import { block, inertKeys, movedRow } from '../key-rows';
import { KeyTable } from '../key-table';
import { shapeOfArguments } from '../megatron/gpt-arguments';
import { configOfShape, predictsFurther } from '../megatron/gpt-shape';
import { MEGATRON_KEYS } from '../megatron/megatron-keys';
import { withPublishedNames } from '../megatron/megatron-linears';
import { checkMegatron } from '../megatron/megatron-rules';
import {
  megatron,
  OPTIMIZER_SETTINGS,
  readAttention,
  readLoss,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readRecomputation,
  readStates,
} from '../megatron/parallel-arguments';
import { SpelledSection, type Spelling, writtenKeys } from '../megatron/spelled-section';
import { readUnmodelled } from '../megatron/unmodelled-arguments';
import { type DefaultValue, Section } from '../section';
import { bringBridgedPrediction } from './further-tokens';
import { megatronBridgeWords } from './megatron-bridge-words';
import { MEGATRON_BRIDGE } from './nemo-repository';
import { leaveToRecipe } from './recipe-settings';

const SOURCE = fileIn(MEGATRON_BRIDGE, 'src/megatron/bridge/training/config.py');
const LORA = fileIn(MEGATRON_BRIDGE, 'src/megatron/bridge/peft/lora.py');
const RECIPES = fileIn(MEGATRON_BRIDGE, 'src/megatron/bridge/recipes');

function own<V>(value: V, note: string): DefaultValue<V> {
  return { value, note, source: RECIPES };
}

/** Blocks of the config container that hold Megatron's arguments. */
const BLOCKS = {
  train: [
    'micro_batch_size',
    'global_batch_size',
    'train_iters',
    'eval_iters',
    'train_samples',
    'eval_micro_batch_size',
  ],
  optimizer: OPTIMIZER_SETTINGS,
  ddp: [
    'grad_reduce_in_fp32',
    'data_parallel_sharding_strategy',
    'num_distributed_optimizer_instances',
    'overlap_param_gather',
    'overlap_grad_reduce',
  ],
  dist: ['use_megatron_fsdp', 'use_torch_fsdp2'],
  comm_overlap: ['tp_comm_overlap'],
} as const;

/** Where the arguments stand: in their blocks, the rest in `model`. */
const SPELLING: Spelling = {
  ...Object.fromEntries(
    Object.entries(BLOCKS).flatMap(([name, keys]) => keys.map((key) => [key, [`${name}.${key}`]] as const)),
  ),
  use_distributed_optimizer: ['optimizer.use_distributed_optimizer', 'ddp.use_distributed_optimizer'],
  grad_reduce_in_fp32: ['mixed_precision.grad_reduce_in_fp32', 'ddp.grad_reduce_in_fp32'],
  use_megatron_fsdp: ['dist.use_megatron_fsdp', 'ddp.use_megatron_fsdp'],
};
const SHARED = Object.values(BLOCKS).flat() as readonly string[];

/** Megatron's arguments that a `model` block has. */
const MODEL_KEYS = MEGATRON_KEYS.filter(({ path }) => !SHARED.includes(path));

/** Rows of types, data and adapters, which have keys of their own. */
function blockRows(): KeySpec[] {
  return [
    ...block('mixed_precision', SOURCE, [
      [
        'grad_reduce_in_fp32',
        'boolean',
        'Main gradients in fp32.',
        { fields: ['precision.gradientAccumulation'] },
      ],
      ['fp8', 'any', 'fp8 products.', { fields: ['precision.fp8'] }],
    ]),
    ...block('dataset', SOURCE, [
      ['micro_batch_size', 'integer', 'Samples per GPU and forward pass.', { sets: 'batch.micro' }],
      ['global_batch_size', 'integer', 'Samples per step over all GPUs.', { sets: 'batch.global' }],
      ['seq_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
      ['sequence_length', 'integer', 'Tokens per sample.', { sets: 'batch.sequence' }],
      ['packed_sequence_specs', 'any', 'Packing.'],
      [
        'packed_sequence_specs.packed_sequence_size',
        'integer',
        'Tokens of a packed row.',
        { sets: 'batch.sequence' },
      ],
    ]),
    ...block('peft', SOURCE, [
      ['dim', 'integer', 'Rank.', { default: 32, sets: 'lora.rank', assumes: LORA }],
      ['alpha', 'number', 'Scaling.', { default: 32, sets: 'lora.alpha', assumes: LORA }],
      [
        'dropout',
        'number',
        'Dropout on the input of adapters.',
        { default: 0, sets: 'lora.dropout', assumes: LORA },
      ],
      ['target_modules', 'array', 'Modules that get adapters.', { fields: ['lora.targets'] }],
    ]),
  ];
}

/** Made for the first file that has them: every start loads this family. */
const rows = onDemand((): readonly KeySpec[] => [
  ...block('', SOURCE, [
    ['model', 'object', 'The model and its parallelism.', { fields: ['features.unmodelled'] }],
    ['hf_path', 'string', 'Model on the Hub.', { sets: 'model.id' }],
    ['train', 'object', 'Batch and steps.'],
    ['optimizer', 'object', 'Optimizer.'],
    ['dataset', 'object', 'Data.'],
    ['ddp', 'object', 'Reduction of gradients.'],
    ['dist', 'object', 'Process groups and FSDP.'],
    ['comm_overlap', 'object', 'Transfers that overlap products.'],
    ['peft', 'object', 'Adapters.', { fields: ['method.kind'] }],
    [
      'mixed_precision',
      'any',
      'Types.',
      { fields: ['precision.compute', 'precision.weights', 'precision.scheme', 'precision.fp8'] },
    ],
  ]),
  ...inertKeys('', SOURCE, 'Block of Megatron-Bridge that costs no GPU memory.', {
    any: 'scheduler checkpoint logger rng profiling tokenizer rerun_state_machine validation ft straggler nvrx_straggler dataloader',
  }),
  ...MODEL_KEYS.map((row) => {
    const first = row.alias ?? row.deprecated;
    return movedRow(`model.${row.path}`, row, {
      alias: first ? `model.${first}` : row.alias,
      deprecated: undefined,
    });
  }),
  ...Object.entries(BLOCKS).flatMap(([name, keys]) =>
    MEGATRON_KEYS.filter(({ path }) => (keys as readonly string[]).includes(path)).map((row) =>
      movedRow(`${name}.${row.path}`, row),
    ),
  ),
  ...block('model', SOURCE, [
    ['num_moe_experts', 'integer', 'Experts.', { fields: ['model.config'] }],
    ['hf_model_id', 'string', 'Model on the Hub.', { sets: 'model.id' }],
    ['hf_path', 'string', 'Model on the Hub.', { sets: 'model.id' }],
    ['pretrained_model_name_or_path', 'string', 'Model on the Hub.', { sets: 'model.id' }],
  ]),
  ...block('ddp', SOURCE, [
    [
      'grad_reduce_in_fp32',
      'boolean',
      'Main gradients in fp32.',
      { fields: ['precision.gradientAccumulation'] },
    ],
    [
      'use_megatron_fsdp',
      'boolean',
      'Megatron-FSDP.',
      { fields: ['parallel.data', 'fsdp.strategy', 'features.unmodelled'] },
    ],
    [
      'use_distributed_optimizer',
      'boolean',
      'States are sharded.',
      { fields: ['parallel.distributedOptimizer'] },
    ],
  ]),
  ...blockRows(),
]);

const table = onDemand(() => new KeyTable(rows(), 'Megatron-Bridge'));
/** Types have PyTorch's names, too (`str_to_dtype` of `bridge/utils/activation_map.py`). */
const TORCH_TYPE = /^(?:torch\.)?(?:bfloat16|float16|float32|half|float)$/;
/** OmegaConf takes null for any value: it is what is not given. */
const policy: KeyPolicy = {
  ...scriptPolicy('Megatron-Bridge'),
  accepts: (node) => isBlank(node) || TORCH_TYPE.test(textOf(node) ?? ''),
};

/** Overrides of Megatron-Bridge: the rest stands in a recipe, which is Python. */
export const megatronBridge: Dialect = {
  id: 'megatron-bridge',
  name: 'Megatron-Bridge',
  get keys() {
    return rows();
  },
  words: megatronBridgeWords,
  markers: /^train\s*:/m,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (root.kind !== 'map' || !mapAt(root, 'train') || has('trainer') || has('policy')) return 0;
    const batch = has('train.micro_batch_size') || has('train.global_batch_size') || has('train.train_iters');
    if (!batch) return 0;
    const parts = [
      'ddp',
      'dist',
      'rng',
      'logger',
      'scheduler',
      'checkpoint',
      'peft',
      'mixed_precision',
      'profiling',
    ];
    const sizes =
      has('model.tensor_model_parallel_size') ||
      has('model.seq_length') ||
      has('model.pipeline_model_parallel_size');
    const beside = parts.filter(has).length;
    // litgpt has a `train` block with a micro batch too.
    if (has('checkpoint_dir') || has('train.save_interval') || has('precision')) return 0;
    return sizes || (has('train.train_iters') && beside >= 2) ? 1 : beside >= 3 ? 0.7 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const filled = interpolated(root);
    if (filled?.kind !== 'map') return draft.reading();
    const section = new Section(filled, draft, '', table());
    const blocks = ['model', ...Object.keys(BLOCKS)].flatMap((path) => {
      const block = mapAt(filled, path);
      return block ? [{ path, block }] : [];
    });
    const args = new SpelledSection(flat(filled), draft, {}, '', writtenKeys(blocks.reverse()));
    draft.assume('framework', 'megatron-bridge', say('the file overrides a recipe of Megatron-Bridge'));
    section.assume(
      'model.code',
      megatron('megatron' as const, '', say('Megatron-Bridge runs Megatron-Core')),
    );
    const predicts = readModel(document, section, args, draft);
    readParallelism(args, args.integer('num_layers'));
    readRecomputation(args);
    readPrecision(section, args);
    readOptimizerArguments(args);
    readAttention(args);
    readModules(args, { transformerEngine: true, grouped: true });
    readUnmodelled(args, predicts);
    if (!predicts && !args.has('hidden_size')) bringBridgedPrediction(section, args, context.model, HUB);
    readLoss(args);
    readSharding(section);
    readBatch(section);
    readPeft(section);
    leaveToRecipe(filled, recipeOf(document), draft);
    rejectMisfits(filled, table(), draft);
    draft.rules(() => {
      checkKeys(filled, table(), policy, draft);
      checkMegatron(args, context, draft, {
        modern: true,
        complete: false,
        flags: false,
        shown: (name) => `\`${SPELLING[name]?.[0] ?? `model.${name}`}\``,
      });
    });
    return draft.reading();
  },
};

/** Megatron's arguments of all blocks side by side, each at its place. */
function flat(root: MapNode): MapNode {
  const entries = ['model', ...Object.keys(BLOCKS)].flatMap((name) => {
    const inner = mapAt(root, name)?.entries ?? [];
    const keys = (BLOCKS as Readonly<Record<string, readonly string[]>>)[name];
    return keys ? inner.filter(({ key }) => keys.includes(key)) : inner;
  });
  return { ...root, entries };
}

const HUB = ['model.hf_model_id', 'model.hf_path', 'hf_path', 'model.pretrained_model_name_or_path'];
const SEQUENCE = [
  'model.seq_length',
  'dataset.seq_length',
  'dataset.sequence_length',
  'dataset.packed_sequence_specs.packed_sequence_size',
];

/** Recipes by the words of a file's name: the model that they train, and the tokens of a sample. */
const MODELS: readonly (readonly [pattern: RegExp, model: string, sequence: number])[] = [
  [/llama_?32_?1b/, 'meta-llama/Llama-3.2-1B', 8192],
  [/llama_?32_?3b/, 'meta-llama/Llama-3.2-3B', 8192],
  [/llama_?31_?8b/, 'meta-llama/Llama-3.1-8B', 8192],
  [/llama_?31_?70b/, 'meta-llama/Llama-3.1-70B', 8192],
  [/llama_?31_?405b/, 'meta-llama/Llama-3.1-405B', 8192],
  [/llama_?3_?8b/, 'meta-llama/Meta-Llama-3-8B', 8192],
  [/llama_?3_?70b/, 'meta-llama/Meta-Llama-3-70B', 8192],
  [/llama_?2_?7b/, 'meta-llama/Llama-2-7b-hf', 4096],
  [/mixtral_?8x7b/, 'mistralai/Mixtral-8x7B-v0.1', 4096],
  [/deepseek_?v3/, 'deepseek-ai/DeepSeek-V3', 4096],
  [/deepseek_?v2_?lite/, 'deepseek-ai/DeepSeek-V2-Lite', 4096],
  [/qwen3_?30b_?a3b/, 'Qwen/Qwen3-30B-A3B', 4096],
  [/qwen3_?235b_?a22b/, 'Qwen/Qwen3-235B-A22B', 4096],
  [/qwen3_?8b/, 'Qwen/Qwen3-8B', 4096],
  [/qwen3_?next_?80b/, 'Qwen/Qwen3-Next-80B-A3B-Instruct', 4096],
  [/qwen25_?7b|qwen2_5_?7b/, 'Qwen/Qwen2.5-7B', 4096],
];

/** The name of a file as recipes are called. */
const recipeOf = ({ uri }: ConfigDocument): string =>
  decodeURIComponent(uri.split('/').at(-1) ?? '')
    .toLowerCase()
    .replaceAll('-', '_')
    .replaceAll('.', '');

/** Whether the model has layers that predict further tokens. */
function readModel(document: ConfigDocument, section: Section, args: Section, draft: Draft): boolean {
  // Student and teacher are both in memory, and their recipe names them (`models/distillation_provider.py`).
  const distilled = section.find(['model.teacher', 'model.kd_config']);
  if (distilled) {
    draft.refuseTask(distilled.node, distilled.key);
    return false;
  }
  const hub = section.has(HUB);
  section.take(...HUB);
  const found = args.find('hidden_size');
  const read = shapeOfArguments(args, { bert: false, flags: false });
  if (!hub && found && 'shape' in read) {
    const config = configOfShape(read.shape);
    args.state('model.config', config, found, read.note);
    return predictsFurther(config);
  }
  if (hub || found) return false;
  const name = recipeOf(document);
  const recipe = MODELS.find(([pattern]) => pattern.test(name));
  const at = section.find(['model', 'train']);
  if (!recipe || !at) return false;
  const [, model, sequence] = recipe;
  draft.infer('model.id', model, say("the file's name speaks of this recipe"), at.node, at.key);
  if (!section.has(SEQUENCE) && !/_\d+k_|vl_/.test(name))
    draft.infer(
      'batch.sequence',
      sequence,
      say("as in the recipe that the file's name speaks of"),
      at.node,
      at.key,
    );
  return false;
}

/** Recipes train in bf16 with fp32 masters (`bf16_mixed`); gradients are reduced in bf16 or fp32 as the recipe has it. */
function readPrecision(section: Section, args: Section): void {
  const found = section.find('mixed_precision');
  const word = textOf(found?.node)?.toLowerCase();
  const type =
    word === undefined
      ? undefined
      : /bf16/.test(word)
        ? 'bf16'
        : /fp16/.test(word)
          ? 'fp16'
          : /fp32/.test(word)
            ? 'fp32'
            : undefined;
  if (found && type) {
    for (const field of ['precision.weights', 'precision.compute'] as const)
      section.state(field, type, found);
    section.state('precision.scheme', 'megatron', found);
    if (/fp8/.test(word ?? '')) section.state('precision.fp8', 'transformer-engine', found);
  } else {
    const note = say('recipes of Megatron-Bridge train in bf16 with fp32 masters');
    for (const field of ['precision.weights', 'precision.compute'] as const)
      section.assume(field, own('bf16' as const, note));
    section.assume('precision.scheme', own('megatron' as const, note));
  }
  const wide = section.find(['mixed_precision.grad_reduce_in_fp32', 'ddp.grad_reduce_in_fp32']);
  const reduce = flagOf(wide?.node);
  if (wide && reduce !== undefined)
    section.state('precision.gradientAccumulation', reduce ? 'fp32' : (type ?? 'bf16'), wide);
  const fp8 = section.find('mixed_precision.fp8');
  if (fp8 && textOf(fp8.node) !== undefined && flagOf(fp8.node) !== false)
    section.state('precision.fp8', 'transformer-engine', fp8);
  readStates(args);
  args.assume('parallel.distributedOptimizer', own(true, say('recipes shard the states')));
}

function readSharding(section: Section): void {
  const fsdp = section.find(['dist.use_megatron_fsdp', 'ddp.use_megatron_fsdp', 'dist.use_torch_fsdp2']);
  const strategy = section.textOrDefault('ddp.data_parallel_sharding_strategy');
  if (fsdp && flagOf(fsdp.node) === true && /optim_grads/.test(strategy)) {
    section.state('parallel.data', 'fsdp2', fsdp);
    section.state('fsdp.strategy', strategy === 'optim_grads' ? 'grad-op' : 'full', fsdp);
  } else section.assume('parallel.data', own('ddp' as const, say('replicas, whose states are sharded')));
}

function readBatch(section: Section): void {
  section.take('train.micro_batch_size', 'dataset.micro_batch_size');
  section.take('train.global_batch_size', 'dataset.global_batch_size', ...SEQUENCE);
  section.take('train.train_iters', 'train.eval_iters');
}

function readPeft(section: Section): void {
  const found = section.find(['peft._target_', 'peft.dim', 'peft.target_modules']);
  const peft = section.section('peft');
  if (!found) return;
  section.state('method.kind', 'lora', found);
  peft.take('dim', 'alpha', 'dropout');
  const place = peft.find('target_modules');
  const words = peft.texts('target_modules') ?? ['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2'];
  const modules = withPublishedNames(words.map((word) => word.replace(/^.*\./, '')));
  if (place) peft.state('lora.targets', modules, place);
  else
    peft.assume('lora.targets', {
      value: modules,
      note: say('Megatron-Bridge default: all four linear layers'),
      source: LORA,
    });
}
