import { entryOf, mapAt, nodeAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../config/node';
import { flagOf, integerOf, isAuto, isBlank, numberOf, textOf } from '../config/scalar';
import type { FieldPath } from '../run/fields';
import { say } from '../wording/say';
import { readBatch } from './deepspeed-batch';
import { DEEPSPEED_KEYS } from './deepspeed-keys';
import { optimizerOf, readOptimizer } from './deepspeed-optimizer';
import { readPrecision } from './deepspeed-precision';
import { checkDeepspeed } from './deepspeed-rules';
import { readZero } from './deepspeed-zero';
import type { Dialect, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import { isAtLeast } from './version';

const DOCS = 'https://www.deepspeed.ai/docs/config-json/';

/** DeepSpeed's JSON config. */
export const deepspeed: Dialect = {
  id: 'deepspeed',
  name: 'DeepSpeed',
  keys: DEEPSPEED_KEYS,
  // Keys in quotes: other families have their own `per_device_train_batch_size`.
  markers: /"(?:zero_optimization|train_micro_batch_size_per_gpu|train_batch_size)/,
  detect: detectDeepspeed,
  read: readDeepspeed,
};

/** Keys that only DeepSpeed uses at top level; Megatron-like YAML files repeat some among hundreds of their own. */
const COMPANIONS = [
  'fp16',
  'bf16',
  'bfloat16',
  'optimizer',
  'scheduler',
  'steps_per_print',
  'gradient_clipping',
  'wall_clock_breakdown',
  'gradient_accumulation_steps',
  'zero_allow_untested_optimizer',
  'activation_checkpointing',
];

function detectDeepspeed(root: ConfigNode, fileName: string): number {
  if (root.kind !== 'map') return 0;
  // Families that hold DeepSpeed's keys among their own: they are read by their own dialects.
  if (entryOf(root, 'distributed_type') || !/\.(json|jsonc|hjson)$/i.test(fileName)) return 0;
  const zero = entryOf(root, 'zero_optimization')?.value;
  const micro = entryOf(root, 'train_micro_batch_size_per_gpu');
  const global = entryOf(root, 'train_batch_size');
  const companions = COMPANIONS.filter((key) => entryOf(root, key)).length;
  if (zero && (zero.kind === 'map' || flagOf(zero) !== undefined || isBlank(zero))) return 1;
  if (micro) return 0.9;
  return global && companions > 0 ? 0.8 : 0;
}

function readDeepspeed(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  draft.assume('framework', 'deepspeed', say('the file is a {0} config', 'DeepSpeed'));
  const stage = readStage(root, draft);
  readZero(mapAt(root, 'zero_optimization'), stage, draft);
  const offloaded = readOffload(root, stage, context, draft);
  readPrecision(root, draft);
  const optimizer = optimizerOf(root);
  if (optimizer) readOptimizer(root, optimizer, offloaded, draft);
  readParallel(root, draft);
  readSchedule(root, draft);
  readBatch(root, context, draft);
  checkDeepspeed(document, root, stage, optimizer, context, draft);
  return draft.reading();
}

/** ZeRO stage with the old boolean form; 0 where the block or the key is absent or left to the caller. */
function readStage(root: MapNode, draft: Draft): number {
  const entry = entryOf(root, 'zero_optimization');
  const block = entry?.value;
  const node = nodeAt(block, 'stage');
  const source = `${DOCS}#zero-optimizations-for-fp16-training`;
  const legacy = block?.kind === 'scalar' ? flagOf(block) : undefined;
  if (block && legacy !== undefined) {
    draft.state('zero.stage', legacy ? 1 : 0, block, 'zero_optimization');
    draft.state('parallel.data', 'zero', block, 'zero_optimization');
    return legacy ? 1 : 0;
  }
  const stage = integerOf(node);
  if (node && stage !== undefined && stage >= 0 && stage <= 3) {
    draft.state('zero.stage', stage, node, 'zero_optimization.stage');
    draft.state('parallel.data', 'zero', node, 'zero_optimization.stage');
    return stage;
  }
  if (!isAuto(node))
    draft.assume('zero.stage', 0, say('{0} default', 'DeepSpeed'), source, 'zero_optimization.stage');
  draft.assume('parallel.data', 'zero', say('DeepSpeed shards data-parallel state by ZeRO'), source);
  return 0;
}

const PLACES = ['none', 'cpu', 'nvme'] as const;
type Place = (typeof PLACES)[number];

function placeOf(node: ConfigNode | undefined): Place | undefined {
  const text = textOf(node)?.toLowerCase();
  return PLACES.find((place) => place === text);
}

/** Offload of states and weights; true where the optimizer steps on the CPU. */
function readOffload(root: MapNode, stage: number, context: ReadContext, draft: Draft): boolean {
  const block = mapAt(root, 'zero_optimization');
  const optimizer = readPlace(
    block,
    'offload_optimizer',
    'cpu_offload',
    'offload.optimizer',
    stage >= 1,
    draft,
  );
  const parameters = readPlace(
    block,
    'offload_param',
    'cpu_offload_param',
    'offload.parameters',
    stage === 3,
    draft,
  );
  const ratio = nodeAt(block, 'offload_optimizer.ratio');
  const share = numberOf(ratio);
  const ratioKey = 'zero_optimization.offload_optimizer.ratio';
  if (ratio && share !== undefined) draft.state('offload.optimizerRatio', share, ratio, ratioKey);
  if (optimizer !== 'none' || parameters !== 'none') {
    const owner = optimizer !== 'none' ? 'offload_optimizer' : 'offload_param';
    const pin = nodeAt(block, `${owner}.pin_memory`);
    const pinned = flagOf(pin);
    const key = `zero_optimization.${owner}.pin_memory`;
    if (pin && pinned !== undefined) draft.state('offload.pinMemory', pinned, pin, key);
    else {
      const pins = isAtLeast(context.known['version.deepspeed'], '0.19.5') === true;
      const note = pins ? say('DeepSpeed default since 0.19.5') : say('DeepSpeed default until 0.19.4');
      draft.assume('offload.pinMemory', pins, note, `${DOCS}#optimizer-offloading`, key);
    }
  }
  if (stage === 3) readBuffers(block, draft);
  return optimizer !== 'none';
}

/** Buffers of offload to NVMe, in elements. */
const BUFFERS: readonly [path: string, field: FieldPath][] = [
  ['offload_optimizer.buffer_count', 'offload.optimizerBuffers'],
  ['offload_param.buffer_count', 'offload.parameterBuffers'],
  ['offload_param.buffer_size', 'offload.parameterBufferSize'],
  ['offload_param.max_in_cpu', 'offload.parametersInHost'],
];

function readBuffers(block: MapNode | undefined, draft: Draft): void {
  for (const [path, field] of BUFFERS) {
    const node = nodeAt(block, path);
    const value = integerOf(node);
    if (node && value !== undefined) draft.state(field, value, node, `zero_optimization.${path}`);
  }
  for (const key of ['stage3_gather_16bit_weights_on_model_save', 'gather_16bit_weights_on_model_save']) {
    const node = nodeAt(block, key);
    if (!node || flagOf(node) !== true) continue;
    draft.state('saving.weights', 'full', node, `zero_optimization.${key}`);
    return;
  }
}

/** New block, or the old flag. What the stage cannot use has no effect and is not stated. */
function readPlace(
  block: MapNode | undefined,
  key: 'offload_optimizer' | 'offload_param',
  old: string,
  field: 'offload.optimizer' | 'offload.parameters',
  usable: boolean,
  draft: Draft,
): Place {
  const device = nodeAt(block, `${key}.device`);
  const place = placeOf(device);
  if (device && place !== undefined) {
    if (usable || place === 'none') draft.state(field, place, device, `zero_optimization.${key}.device`);
    return usable ? place : 'none';
  }
  const flag = nodeAt(block, old);
  if (flag && flagOf(flag) === true && usable) {
    draft.state(field, 'cpu', flag, `zero_optimization.${old}`);
    return 'cpu';
  }
  if (!isAuto(device)) {
    draft.assume(
      field,
      'none',
      say('{0} default', 'DeepSpeed'),
      `${DOCS}#optimizer-offloading`,
      `zero_optimization.${key}`,
    );
  }
  return 'none';
}

/** A schedule that decays over the whole run says how long that is. */
function readSchedule(root: MapNode, draft: Draft): void {
  const node = nodeAt(root, 'scheduler.params.total_num_steps');
  const steps = integerOf(node);
  if (node && steps !== undefined && steps > 0)
    draft.state('schedule.steps', steps, node, 'scheduler.params.total_num_steps');
}

function readParallel(root: MapNode, draft: Draft): void {
  const sequence = nodeAt(root, 'sequence_parallel_size');
  const ulysses = integerOf(sequence);
  if (sequence && ulysses !== undefined)
    draft.state('parallel.ulysses', ulysses, sequence, 'sequence_parallel_size');
  const tensor = nodeAt(root, 'tensor_parallel.autotp_size');
  const size = integerOf(tensor);
  if (tensor && size !== undefined && size > 0) {
    draft.state('parallel.tensor', size, tensor, 'tensor_parallel.autotp_size');
  }
  const experts = nodeAt(root, 'expert_parallel.autoep_size');
  const expert = integerOf(experts);
  if (experts && expert !== undefined && flagOf(nodeAt(root, 'expert_parallel.enabled')) === true) {
    draft.state('parallel.expert', expert, experts, 'expert_parallel.autoep_size');
  }
  const compile = nodeAt(root, 'compile.deepcompile');
  if (compile && flagOf(compile) === true)
    draft.state('kernels.compile', true, compile, 'compile.deepcompile');
}
