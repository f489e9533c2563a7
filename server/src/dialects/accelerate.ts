import { entryOf, mapAt, nodeAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../config/node';
import { flagOf, integerOf, isAuto, textOf } from '../config/scalar';
import type { DType, FieldPath, FieldValue } from '../run/fields';
import { say } from '../wording/say';
import { readFsdp } from './accelerate-fsdp';
import { ACCELERATE_KEYS } from './accelerate-keys';
import { type RunKind, runKindOf } from './accelerate-kind';
import { readMegatron } from './accelerate-megatron';
import { checkAccelerate } from './accelerate-rules';
import { readZero } from './deepspeed-zero';
import type { Dialect, ReadContext, Reading } from './dialect';
import { Draft } from './draft';

const DOCS = 'https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch';

/** Config of `accelerate launch`: YAML, or JSON of old versions. */
export const accelerate: Dialect = {
  id: 'accelerate',
  name: 'Accelerate',
  keys: ACCELERATE_KEYS,
  markers: /distributed_type/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || !entryOf(root, 'distributed_type')) return 0;
    const companions = ['compute_environment', 'num_processes', 'mixed_precision', 'num_machines', 'use_cpu'];
    if (companions.some((key) => entryOf(root, key))) return 1;
    return root.entries.some((entry) => /^(deepspeed|fsdp|megatron_lm)_config$/.test(entry.key)) ? 0.8 : 0;
  },
  read: readAccelerate,
};

function readAccelerate(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  draft.assume('framework', 'accelerate', say('the file is an {0} config', 'Accelerate'));
  const kind = readAccelerateSettings(root, draft);
  checkAccelerate(root, kind, context, draft);
  return draft.reading();
}

/** States what the launcher's settings say, from its config or from the same names on its command line. */
export function readAccelerateSettings(root: MapNode, draft: Draft): RunKind {
  const kind = runKindOf(root);
  if (kind.gpu) {
    if (kind.sagemaker) readInstance(root, draft);
    readHardware(root, kind, draft);
    readPrecision(root, kind, draft);
    readData(root, kind, draft);
    readParallelism(root, draft);
    readCompile(root, draft);
  }
  return kind;
}

function readInstance(root: MapNode, draft: Draft): void {
  const node = nodeAt(root, 'ec2_instance_type');
  const name = textOf(node);
  if (node && name) draft.instance = { name, range: node.range };
}

function readHardware(root: MapNode, kind: RunKind, draft: Draft): void {
  const processes = nodeAt(root, 'num_processes');
  const count = integerOf(processes);
  if (kind.type === 'NO' && kind.node && !kind.sagemaker) {
    draft.state(
      'hardware.gpus',
      1,
      kind.node,
      'distributed_type',
      say('distributed_type NO runs one process'),
    );
  } else if (processes && count !== undefined) {
    draft.state('hardware.gpus', count, processes, 'num_processes');
  }
  const machines = nodeAt(root, 'num_machines');
  const nodes = integerOf(machines);
  if (machines && nodes !== undefined) draft.state('hardware.nodes', nodes, machines, 'num_machines');
  else draft.assume('hardware.nodes', 1, say('{0} default', 'Accelerate'), DOCS, 'num_machines');
}

const LOW = new Set<string>(['fp16', 'bf16', 'fp8']);

/** Precision that the file asks for: `mixed_precision`, or the old `fp16: true`. */
export function mixedPrecisionOf(
  root: MapNode,
):
  | { readonly value: 'no' | 'fp16' | 'bf16' | 'fp8'; readonly node: ConfigNode; readonly key: string }
  | undefined {
  const node = nodeAt(root, 'mixed_precision');
  const text = textOf(node)?.toLowerCase();
  if (node && text !== undefined) {
    if (LOW.has(text)) return { value: text as 'fp16' | 'bf16' | 'fp8', node, key: 'mixed_precision' };
    return flagOf(node) === false ? { value: 'no', node, key: 'mixed_precision' } : undefined;
  }
  const old = nodeAt(root, 'fp16');
  return old && flagOf(old) === true ? { value: 'fp16', node: old, key: 'fp16' } : undefined;
}

const FP8_LIBRARIES: Readonly<Record<string, FieldValue<'precision.fp8'>>> = {
  te: 'transformer-engine',
  ao: 'torchao',
};

/** Who multiplies in fp8: as stated, else torchao is looked for first (`accelerator.py`, `__init__`). */
function readFp8(root: MapNode, kind: RunKind, node: ConfigNode, key: string, draft: Draft): void {
  const path = ['fp8_config.backend', 'fp8_config.fp8_backend', 'fp8_backend'].find((p) => nodeAt(root, p));
  const found = path === undefined ? undefined : nodeAt(root, path);
  const backend = textOf(found)?.toLowerCase();
  if (found && path !== undefined && backend === 'msamp' && kind.type !== 'DEEPSPEED') {
    // Accelerate's default is O2 (`MSAMPRecipeKwargs`).
    const level = nodeAt(root, 'fp8_config.opt_level') ?? nodeAt(root, 'fp8_config.fp8_opt_level');
    const one = textOf(level)?.toUpperCase() === 'O1';
    draft.state('precision.fp8', one ? 'ms-amp-o1' : 'ms-amp-o2', found, path);
    return;
  }
  if (found && path !== undefined && backend === 'msamp') {
    draft.report(
      'fp8-not-modelled',
      'information',
      say('MS-AMP under DeepSpeed is not modelled: the estimate takes bf16 products, which needs more.'),
      found.range,
    );
    return;
  }
  const library = FP8_LIBRARIES[backend ?? ''];
  if (found && path !== undefined && library) draft.state('precision.fp8', library, found, path);
  else draft.state('precision.fp8', 'torchao', node, key, say('Accelerate looks for torchao first'));
}

function readPrecision(root: MapNode, kind: RunKind, draft: Draft): void {
  const mixed = mixedPrecisionOf(root);
  const file = nodeAt(root, 'deepspeed_config.deepspeed_config_file');
  // The linked DeepSpeed file says which precision it is.
  if (kind.type === 'DEEPSPEED' && file && !mixed) return;
  if (!mixed || mixed.value === 'no') {
    readFullPrecision(mixed, draft);
    return;
  }
  const { value, node, key } = mixed;
  // Products in fp8 run inside autocast to bf16: results and what is kept of them have its type.
  const base: DType = value === 'fp8' ? 'bf16' : value;
  draft.state('precision.compute', base, node, key);
  if (value === 'fp8') readFp8(root, kind, node, key, draft);
  switch (kind.type) {
    case 'DEEPSPEED':
      draft.state('precision.scheme', 'deepspeed', node, key);
      draft.state('precision.weights', base, node, key, say('DeepSpeed holds weights in the low precision'));
      break;
    case 'MEGATRON_LM':
      draft.state('precision.scheme', 'megatron', node, key);
      draft.state('precision.weights', base, node, key);
      break;
    case 'FSDP':
      draft.state('precision.scheme', 'fsdp', node, key);
      // Trained weights are upcast to fp32 and split so (`precision.masterWeights`); frozen ones stay as loaded.
      draft.state(
        'precision.masterWeights',
        'fp32',
        node,
        key,
        say('Accelerate upcasts trained weights to fp32 under FSDP mixed precision and splits them so'),
      );
      inferWeights(draft);
      draft.assume(
        'precision.reduce',
        base,
        say('FSDP mixed precision of Accelerate reduces in the low precision'),
        DOCS,
      );
      break;
    default:
      draft.state('precision.scheme', 'autocast', node, key);
      inferWeights(draft);
  }
}

function readFullPrecision(mixed: ReturnType<typeof mixedPrecisionOf>, draft: Draft): void {
  if (mixed) draft.state('precision.scheme', 'native', mixed.node, mixed.key);
  else
    draft.assume(
      'precision.scheme',
      'native',
      say('Accelerate default: no mixed precision'),
      DOCS,
      'mixed_precision',
    );
  inferWeights(draft);
}

/** Accelerate does not say how the script loads the model. */
function inferWeights(draft: Draft): void {
  const note = say('transformers 4 loads weights in fp32, transformers 5 in the type of the checkpoint');
  draft.infer('precision.weights', 'fp32', note);
}

function readData(root: MapNode, kind: RunKind, draft: Draft): void {
  const { node } = kind;
  if (!node) return;
  const key = 'distributed_type';
  switch (kind.type) {
    case 'NO':
      draft.state('parallel.data', 'none', node, key);
      break;
    case 'MULTI_GPU':
      draft.state('parallel.data', 'ddp', node, key);
      break;
    case 'DEEPSPEED':
      draft.state('parallel.data', 'zero', node, key);
      readDeepspeedBlock(root, draft);
      break;
    case 'FSDP':
      readFsdp(root, node, draft);
      break;
    case 'MEGATRON_LM':
      draft.state('parallel.data', 'ddp', node, key);
      readMegatron(root, draft);
      break;
    case 'DATA_PARALLEL':
      draft.state('parallel.data', 'ddp', node, key);
      break;
  }
}

const PLACES = ['none', 'cpu', 'nvme'] as const;

function readDeepspeedBlock(root: MapNode, draft: Draft): void {
  const block = mapAt(root, 'deepspeed_config');
  const file = nodeAt(block, 'deepspeed_config_file');
  const path = textOf(file);
  if (file && path && path !== 'none') {
    const key = 'deepspeed_config.deepspeed_config_file';
    draft.links.push({ path, range: file.range, key, role: 'deepspeed' });
    return;
  }
  const source = 'https://huggingface.co/docs/accelerate/usage_guides/deepspeed';
  const stageNode = nodeAt(block, 'zero_stage');
  const stage = integerOf(stageNode);
  if (stageNode && stage !== undefined)
    draft.state('zero.stage', stage, stageNode, 'deepspeed_config.zero_stage');
  else draft.assume('zero.stage', 2, say('{0} default', 'Accelerate'), source, 'deepspeed_config.zero_stage');
  const effective = stage ?? 2;
  // The DeepSpeed config that Accelerate generates leaves these to DeepSpeed.
  readZero(undefined, effective, draft);
  const accumulation = nodeAt(block, 'gradient_accumulation_steps');
  const steps = integerOf(accumulation);
  const key = 'deepspeed_config.gradient_accumulation_steps';
  if (accumulation && steps !== undefined) draft.state('batch.accumulation', steps, accumulation, key);
  else if (accumulation && isAuto(accumulation)) draft.auto(key, accumulation);
  readWholeModel(block, effective, draft);
  const offload: readonly [string, 'offload.optimizer' | 'offload.parameters', number][] = [
    ['offload_optimizer_device', 'offload.optimizer', 1],
    ['offload_param_device', 'offload.parameters', 3],
  ];
  for (const [name, field, from] of offload) {
    const node = nodeAt(block, name);
    const place = PLACES.find((candidate) => candidate === textOf(node)?.toLowerCase());
    const path = `deepspeed_config.${name}`;
    if (node && place && (place === 'none' || effective >= from)) draft.state(field, place, node, path);
    else draft.assume(field, 'none', say('{0} default', 'Accelerate'), source, path);
  }
}

/** Stage 3 builds the model in shards, and saves it so, unless told otherwise. */
function readWholeModel(block: MapNode | undefined, stage: number, draft: Draft): void {
  if (stage !== 3) return;
  const init = nodeAt(block, 'zero3_init_flag');
  if (init && flagOf(init) === false)
    draft.state('loading.placement', 'host', init, 'deepspeed_config.zero3_init_flag');
  const save = nodeAt(block, 'zero3_save_16bit_model');
  if (save && flagOf(save) === true)
    draft.state('saving.weights', 'full', save, 'deepspeed_config.zero3_save_16bit_model');
}

const SIZES: readonly [key: string, field: FieldPath][] = [
  ['parallelism_config_tp_size', 'parallel.tensor'],
  ['parallelism_config_cp_size', 'parallel.context'],
  ['parallelism_config_sp_size', 'parallel.ulysses'],
  ['parallelism_config_dp_replicate_size', 'parallel.replicate'],
];

function readParallelism(root: MapNode, draft: Draft): void {
  const block = mapAt(root, 'parallelism_config');
  for (const [key, field] of SIZES) {
    const node = nodeAt(block, key);
    const size = integerOf(node);
    if (node && size !== undefined) draft.state(field, size, node, `parallelism_config.${key}`);
  }
  const kernel = nodeAt(block, 'parallelism_config_sp_attn_implementation');
  const sequence = integerOf(nodeAt(block, 'parallelism_config_sp_size')) ?? 1;
  const known = { flash_attention_2: 'flash2', flash_attention_3: 'flash3', sdpa: 'sdpa' } as const;
  const name = textOf(kernel);
  if (!kernel || sequence <= 1 || name === undefined || !Object.hasOwn(known, name)) return;
  const value = known[name as keyof typeof known];
  draft.state(
    'attention.implementation',
    value,
    kernel,
    'parallelism_config.parallelism_config_sp_attn_implementation',
  );
}

function readCompile(root: MapNode, draft: Draft): void {
  const places = [
    ['dynamo_config', 'dynamo_backend'],
    ['dynamo_config', 'backend'],
    ['dynamo_backend'],
  ] as const;
  for (const path of places) {
    const node = nodeAt(root, path);
    const backend = textOf(node);
    if (!node || backend === undefined) continue;
    draft.state('kernels.compile', !/^(no|false)$/i.test(backend), node, path.join('.'));
    return;
  }
}
