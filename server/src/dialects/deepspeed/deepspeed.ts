import { isLeftOpen } from '../../config/filled-later';
import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isAuto, isBlank, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { DEEPSPEED_OPTIMIZERS } from '../optimizer-names';
import { Section } from '../section';
import { AUTO_STAGE } from './deepspeed-auto';
import { readBatch } from './deepspeed-batch';
import { deepspeedJoins } from './deepspeed-joins';
import { DEEPSPEED_KEYS, DEEPSPEED_TABLE, OFFLOAD_DOCS, ZERO_DOCS } from './deepspeed-keys';
import { optimizerOf, readOptimizer } from './deepspeed-optimizer';
import { readPrecision } from './deepspeed-precision';
import { checkDeepspeed } from './deepspeed-rules';
import { deepspeedWords } from './deepspeed-words';
import { readZero } from './deepspeed-zero';

/** DeepSpeed's JSON config. */
export const deepspeed: Dialect = {
  id: 'deepspeed',
  name: 'DeepSpeed',
  released: DEEPSPEED_TABLE.released,
  optimizers: Object.keys(DEEPSPEED_OPTIMIZERS),
  keys: DEEPSPEED_KEYS,
  schema: { strict: true, dropsAuto: true },
  isLibrary: true,
  words: deepspeedWords,
  // Keys in quotes: other families have their own `per_device_train_batch_size`.
  markers: /"(?:zero_optimization|train_micro_batch_size_per_gpu|train_batch_size)/,
  detect: detectDeepspeed,
  read: readDeepspeed,
  joins: deepspeedJoins,
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
  // A file of another tool that has some of the same words, such as GPT-NeoX' arguments or a diffusion trainer's.
  const known = root.entries.filter(({ key }) => DEEPSPEED_TABLE.find(key)).length;
  const own = 2 * known >= root.entries.length;
  if (zero && (zero.kind === 'map' || flagOf(zero) !== undefined || isBlank(zero))) return own ? 1 : 0.9;
  if (!own) return 0;
  if (micro) return 0.9;
  return global && companions > 0 ? 0.8 : 0;
}

function readDeepspeed(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  draft.assume('framework', 'deepspeed', say('the file is a {0} config', 'DeepSpeed'));
  const { stage, optimizer } = readDeepspeedSettings(root, draft, context);
  // A caller may still choose another stage, with which DeepSpeed refuses other things.
  const settled = isStageOpen(root) ? undefined : stage;
  draft.rules(() => checkDeepspeed(document, root, settled, optimizer, context, draft));
  return draft.reading();
}

/** States what the settings say, from a file or from a dictionary of a program. */
export function readDeepspeedSettings(
  root: MapNode,
  draft: Draft,
  context: ReadContext,
): { readonly stage: number; readonly optimizer: ReturnType<typeof optimizerOf> } {
  const section = new Section(root, draft, '', DEEPSPEED_TABLE);
  const stage = readStage(section, draft, context);
  readZero(section.section('zero_optimization'), stage);
  const offloaded = readOffload(section, stage, context);
  readPrecision(section, draft);
  const optimizer = optimizerOf(root);
  if (optimizer) readOptimizer(root, optimizer, offloaded, draft);
  readParallel(section);
  section.take('scheduler.params.total_num_steps');
  readBatch(section, context, draft);
  rejectMisfits(root, DEEPSPEED_TABLE, draft);
  return { stage, optimizer };
}

/** ZeRO stage with the old boolean form; 0 where the block or the key is absent, or a script fills it in. */
function readStage(section: Section, draft: Draft, { known }: ReadContext): number {
  const block = section.find('zero_optimization');
  const legacy = block?.node.kind === 'scalar' ? flagOf(block.node) : undefined;
  if (block && legacy !== undefined) {
    section.state('zero.stage', legacy ? 1 : 0, block);
    section.state('parallel.data', 'zero', block);
    return legacy ? 1 : 0;
  }
  if (block?.node.kind === 'list') {
    const message = say('`{0}` takes a block of settings, not a list.', block.key);
    draft.leave('value', block.node, block.key, message, ['zero.stage']);
  }
  const found = section.find('zero_optimization.stage');
  const stage = integerOf(found?.node);
  section.take('zero_optimization.stage');
  if (found && stage !== undefined && stage >= 0 && stage <= 3) {
    section.state('parallel.data', 'zero', found);
    return stage;
  }
  if (found && isAuto(found.node)) {
    section.state('parallel.data', 'zero', found);
    const filled = known['zero.stage'];
    return typeof filled === 'number' ? filled : AUTO_STAGE;
  }
  draft.assume('parallel.data', 'zero', say('ZeRO at stage 0: each GPU holds the whole state'), ZERO_DOCS);
  return 0;
}

/** A stage that whoever writes the file fills in (`"stage": $ZERO_STAGE`), or whoever loads it (`auto`). */
function isStageOpen(root: MapNode): boolean {
  const node = nodeAt(root, ['zero_optimization', 'stage']);
  return node?.kind === 'scalar' && (isLeftOpen(node) || isAuto(node));
}

const PLACES = ['none', 'cpu', 'nvme'] as const;
type Place = (typeof PLACES)[number];

function placeOf(node: ConfigNode | undefined): Place | undefined {
  const text = textOf(node)?.toLowerCase();
  return PLACES.find((place) => place === text);
}

/** Offload of states and weights; true where the optimizer steps on the CPU. */
function readOffload(section: Section, stage: number, context: ReadContext): boolean {
  const block = section.section('zero_optimization');
  const optimizer = readPlace(block, 'offload_optimizer', 'cpu_offload', 'offload.optimizer', stage >= 1);
  const parameters = readPlace(
    block,
    'offload_param',
    'cpu_offload_param',
    'offload.parameters',
    stage === 3,
  );
  block.take('offload_optimizer.ratio');
  if (optimizer !== 'none' || parameters !== 'none') {
    const used = optimizer !== 'none' ? 'offload_optimizer' : 'offload_param';
    block.withVersions(context.known).take(`${used}.pin_memory`);
  }
  if (stage === 3) {
    block.take('offload_optimizer.buffer_count', 'offload_param.buffer_count', 'offload_param.buffer_size');
    block.take('offload_param.max_in_cpu', 'stage3_gather_16bit_weights_on_model_save');
  }
  return optimizer !== 'none';
}

/** New block, or the old flag. What the stage cannot use has no effect and is not stated. */
function readPlace(
  block: Section,
  key: 'offload_optimizer' | 'offload_param',
  old: string,
  field: 'offload.optimizer' | 'offload.parameters',
  usable: boolean,
): Place {
  const device = block.find(`${key}.device`);
  const place = placeOf(device?.node);
  if (device && place !== undefined) {
    if (usable || place === 'none') block.state(field, place, device);
    return usable ? place : 'none';
  }
  const flag = block.find(old);
  if (flag && flagOf(flag.node) === true && usable) {
    block.state(field, 'cpu', flag);
    return 'cpu';
  }
  if (!isAuto(device?.node))
    block.assume(field, { value: 'none', note: say('{0} default', 'DeepSpeed'), source: OFFLOAD_DOCS }, key);
  return 'none';
}

function readParallel(section: Section): void {
  section.take('sequence_parallel_size', 'tensor_parallel.autotp_size');
  if (section.flag('expert_parallel.enabled') === true) section.take('expert_parallel.autoep_size');
  section.take('compile.deepcompile');
}
