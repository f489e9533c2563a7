import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, isBlank, plainOf, textOf } from '../../config/scalar';
import { findAccelerator } from '../../hardware/catalog';
import { fileIn, XTUNER } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { readPeftConfig } from '../hf/peft-config';
import { readSkippedModules } from '../hf/skipped-modules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { rejectMisfits } from '../key-check';
import { classOptimizer, type OptimizerOptions } from '../optimizer-names';
import { forbid } from '../refusal';
import { Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { typeOf } from './built-type';
import { leaveUnreadSettings } from './unread-settings';
import { readXtunerData } from './xtuner-data';
import { XTUNER_KEYS, XTUNER_TABLE } from './xtuner-keys';

const MODEL = fileIn(XTUNER, 'xtuner/model/sft.py');
const TRAIN = fileIn(XTUNER, 'xtuner/tools/train.py');

const OF_DEEPSPEED = /^(?:train_batch_size|train_micro_batch_size_per_gpu|gradient_accumulation_steps)$/;

/** XTuner's configs of the generation that mmengine runs: modules whose names a runner builds. */
export const xtuner: Dialect = {
  id: 'xtuner',
  name: 'XTuner',
  format: 'python',
  keys: XTUNER_KEYS,
  markers: /\bxtuner\b/,
  // What a config of DeepSpeed states of the batch gives way to it (`train.py`).
  joins: { replaces: () => (stated) => OF_DEEPSPEED.test(stated.origin.key ?? '') },
  detect: (root: ConfigNode) => (root.kind === 'map' && isBuiltByXtuner(root) ? 1 : 0),
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    draft.assume('framework', 'xtuner', say('the file is a {0} config', 'XTuner'));
    draft.keys.push({ below: [], rows: XTUNER_KEYS });
    const model = entryOf(root, 'model')?.value;
    draft.wholeAt = model?.kind === 'map' ? model.entries[0]?.keyRange : undefined;
    const section = new Section(root, draft, '', XTUNER_TABLE);
    if (refuses(root, draft)) return draft.reading();
    readModel(section.section('model').section('llm'), draft);
    readRun(section, draft, context);
    readXtunerData(section, draft);
    for (const key of ['model', 'optim_wrapper']) {
      const block = entryOf(root, key)?.value;
      if (block?.kind === 'map') rejectMisfits(block, XTUNER_TABLE, draft, key);
    }
    // A loader takes more than its rows have, which `readXtunerData` looks at by what is loaded.
    if (root.kind === 'map')
      rejectMisfits(ofTable(root, ['sequence_parallel_size', 'train_dataloader']), XTUNER_TABLE, draft);
    leaveUnreadSettings(document, root, draft);
    draft.rules(() => checkXtuner(section, draft));
    return draft.reading();
  },
};

const isXtuners = (node: ConfigNode | undefined) =>
  /^xtuner\./.test(textOf(nodeAt(node, ['type'])) ?? '') ||
  /^(?:SupervisedFinetune|LLaVAModel)$/.test(typeOf(node) ?? '');

function isBuiltByXtuner(root: MapNode): boolean {
  const paths = ['model', 'train_dataset', 'train_dataloader.dataset', 'train_cfg'];
  return paths.some((path) => isXtuners(nodeAt(root, path.split('.'))));
}

/** Whether what is built is no supervised training of a language model. */
function refuses(root: MapNode, draft: Draft): boolean {
  const trainer = entryOf(root, 'framework')?.value;
  const model = entryOf(root, 'model')?.value;
  const type = nodeAt(model, ['type']);
  if (trainer && /^huggingface$/i.test(textOf(trainer) ?? ''))
    draft.refuseTask(trainer, `framework = "huggingface"`);
  else if (typeOf(model) !== 'SupervisedFinetune') draft.refuseTask(type ?? root, typeOf(model) ?? 'model');
  else return false;
  return true;
}

/** What `from_pretrained` of a class for language models loads; another call may make any model. */
function readModel(llm: Section, draft: Draft): void {
  llm.take('pretrained_model_name_or_path', 'output_router_logits');
  const type = nodeAt(llm.root, ['type']);
  const loads = textOf(type) ?? '';
  if (/^(?:transformers\.)?\w+ForCausalLM\.from_pretrained$/.test(loads)) return;
  // Its own code of some models computes experts in another way (`model/transformers_models`).
  if (type && /^xtuner\.[\w.]+ForCausalLM\.from_pretrained$/.test(loads)) {
    draft.bring('model-of-the-script', type, 'model.llm.type');
    return;
  }
  draft.forget('model.id');
  const words = say('What makes the model is not known: that code is not read.');
  draft.leave('value', llm.root ?? { range: START }, 'llm', words, ['model.id', 'quantization.kind']);
}
/** Entries of a block that are among these, each with those alone that the table has rows for. */
function ofTable(block: MapNode, keys: readonly string[], parent = ''): MapNode {
  const entries = block.entries.flatMap((entry) => {
    const path = `${parent}${entry.key}`;
    if (!keys.includes(entry.key) || (!XTUNER_TABLE.find(path) && XTUNER_TABLE.names(path).length === 0))
      return [];
    const { value } = entry;
    const own = value.kind === 'map' ? ofTable(value, XTUNER_TABLE.names(path), `${path}.`) : value;
    return [{ ...entry, value: own }];
  });
  return { ...block, entries };
}

const ZERO = { line: 0, character: 0 };
const START = { start: ZERO, end: ZERO };

function readRun(root: Section, draft: Draft, context: ReadContext): void {
  const section = root.withDefaultsOf(TRAIN);
  const model = section.section('model').withDefaultsOf(MODEL);
  section.take('sequence_parallel_size');
  model.take('use_activation_checkpointing');
  if (draft.valueOf('activations.checkpointing') === 'full')
    draft.assume('activations.reentrant', true, say('{0} default', 'transformers 4'), MODEL);
  const kind = readQuantization(model.section('llm'), draft);
  const adapts = readAdapters(model, draft);
  // Both need FlashAttention 2 (`check_cfg`), with which the weights are loaded in a type that it takes.
  const split = Number(draft.valueOf('parallel.ulysses') ?? 1) > 1;
  if (split)
    draft.assume('zero.sequenceReduce', 'none', say('{0} splits sequences by itself', 'XTuner'), TRAIN);
  const flash = isOn(section, 'use_varlen_attn') || split;
  if (flash)
    draft.infer(
      'attention.implementation',
      'flash2',
      say('attention by samples and over GPUs needs FlashAttention 2'),
    );
  model.section('llm').take('attn_implementation');
  const gpu = context.known['hardware.gpu'];
  const card = typeof gpu === 'string' ? findAccelerator(gpu) : undefined;
  const low = card?.supports.bf16 === false ? 'fp16' : 'bf16';
  const place = section.find('sequence_parallel_size');
  if (context.known['parallel.data'] === 'zero') readUnderDeepspeed(draft, context, low, kind);
  else if (split && place)
    draft.leave(
      'value',
      place.node,
      place.key,
      say('XTuner splits a sample under DeepSpeed alone: its config, which a command names, is not known.'),
      ['parallel.data', 'precision.scheme', 'precision.weights', 'precision.compute'],
    );
  else {
    readAutocast(section.section('optim_wrapper'), draft);
    readWeights(model.section('llm'), draft, { kind, adapts, flash, low });
    const gpus = context.known['hardware.gpus'];
    const several = typeof gpus === 'number' && gpus > 1;
    const note = several ? say('mmengine replicates the model on its GPUs') : say('one device');
    draft.assume('parallel.data', several ? 'ddp' : 'none', note, TRAIN);
  }
  readOptimizer(section.section('optim_wrapper'), draft);
}

const isOn = (section: Section, key: string) => flagOf(section.find(key)?.node) === true;

/** Arguments of `BitsAndBytesConfig`, in its place or beside it; 4 bits are fp4 unless it states another type. */
function readQuantization(llm: Section, draft: Draft): 4 | 8 | undefined {
  const config = llm.find('quantization_config');
  const block = config ? llm.section('quantization_config') : llm;
  const isBits = config?.node.kind === 'map' && typeOf(config.node) === 'BitsAndBytesConfig';
  if (config && !isBits) {
    llm.leave(config, ['quantization.kind']);
    return undefined;
  }
  const four = block.find('load_in_4bit');
  const eight = block.find('load_in_8bit');
  for (const found of [four, eight])
    if (found && flagOf(found.node) === undefined) block.leave(found, ['quantization.kind']);
  const bits = four && flagOf(four.node) ? 4 : eight && flagOf(eight.node) ? 8 : undefined;
  if (bits === 8 && eight) block.state('quantization.kind', 'int8', eight);
  if (bits === 4 && four && config) {
    const type = block.find('bnb_4bit_quant_type');
    block.state('quantization.kind', textOf(type?.node) === 'nf4' ? 'nf4' : 'fp4', type ?? four);
    block.take('bnb_4bit_use_double_quant', 'bnb_4bit_quant_storage');
  } else if (bits === 4 && four) block.state('quantization.kind', 'fp4', four);
  if (bits) readSkippedModules(block, draft);
  return bits;
}

/** PEFT's config; without targets every linear layer but the head gets an adapter (`find_all_linear_names`). */
function readAdapters(model: Section, draft: Draft): boolean {
  const found = model.find('lora');
  if (!found) {
    draft.assume('method.kind', 'full', say('all weights are trained'), MODEL);
    return false;
  }
  if (found.node.kind !== 'map' || typeOf(found.node) !== 'LoraConfig') {
    model.leave(found, ['method.kind', 'lora.rank']);
    return true;
  }
  draft.state('method.kind', 'lora', found.node, found.key);
  const { entries } = found.node;
  const block = { ...found.node, entries: entries.filter(({ key }) => key !== 'type') };
  readPeftConfig(new Section(block, draft, 'model.lora', XTUNER_TABLE), draft);
  if (!draft.knows('lora.targets') && !draft.knows('lora.targetPattern'))
    draft.assume('lora.targets', ['all-linear'], say('XTuner adapts every linear layer but the head'), MODEL);
  draft.assume('quantization.prepared', true, say('`prepare_model_for_kbit_training` is called'), MODEL);
  return true;
}

/**
 * DeepSpeed takes the place of autocast, in bf16 where the GPU can (`auto_dtype_of_deepspeed_config`). Packed weights that stage 3 is to
 * split are stored in that type (`_prepare_for_qlora_zero3`).
 */
function readUnderDeepspeed(
  draft: Draft,
  { known }: ReadContext,
  low: 'bf16' | 'fp16',
  bits: 4 | 8 | undefined,
): void {
  const note = say('XTuner turns bf16 on for DeepSpeed where the GPU can, else fp16');
  draft.infer('precision.scheme', 'deepspeed', note);
  draft.infer('precision.weights', low, note);
  draft.infer('precision.compute', low, note);
  if (bits === 4 && known['zero.stage'] === 3)
    draft.infer('quantization.storage', low, say('XTuner stores packed weights so that ZeRO-3 splits them'));
}

/** Autocast of mmengine, in fp16 where no type is named. */
function readAutocast(wrapper: Section, draft: Draft): void {
  const type = wrapper.find('type');
  if (type && typeOf(wrapper.root) !== 'AmpOptimWrapper') {
    wrapper.leave(type, ['precision.scheme', 'precision.compute']);
    return;
  }
  const found = wrapper.find('dtype');
  const dtype = weightsDtypeOf(textOf(found?.node));
  if (type) wrapper.state('precision.scheme', 'autocast', type);
  if (found && dtype) wrapper.state('precision.compute', dtype, found);
  else if (found) wrapper.leave(found, ['precision.compute']);
  else if (type) draft.infer('precision.compute', 'fp16', say('autocast computes in fp16'), type.node);
}

interface Loaded {
  readonly kind: 4 | 8 | undefined;
  readonly adapts: boolean;
  readonly flash: boolean;
  readonly low: 'bf16' | 'fp16';
}

/**
 * Type of the weights. PEFT's preparation casts those that are not quantized to fp32. Else flash-attn decides, where it is installed
 * (`_prepare_for_flash_attn`).
 */
function readWeights(llm: Section, draft: Draft, { kind, adapts, flash, low }: Loaded): void {
  const found = llm.find('torch_dtype');
  const stated = weightsDtypeOf(textOf(found?.node));
  const key = 'prepare_model_for_kbit_training';
  if (adapts && !kind)
    draft.infer(
      'precision.weights',
      'fp32',
      say('`{0}` casts the weights to fp32, which are not quantized', key),
    );
  else if (flash) draft.infer('precision.weights', low, say('the type that FlashAttention 2 takes'));
  else if (found && !stated) llm.leave(found, ['precision.weights']);
  else if (found && stated && (kind || stated !== 'fp32')) llm.state('precision.weights', stated, found);
  else if (kind)
    draft.assume(
      'precision.weights',
      'fp16',
      say('bitsandbytes in transformers 4: fp16 unless told otherwise'),
      MODEL,
    );
  else {
    const note = say('fp32, or 16 bits where flash-attn is installed');
    draft.inferEither('precision.weights', [low, 'fp32'], note, found?.node, found?.key);
  }
}

/** A class of PyTorch or bitsandbytes, or the name under which mmengine knows it. */
function readOptimizer(wrapper: Section, draft: Draft): void {
  const block = wrapper.find('optimizer');
  const type = wrapper.find('optimizer.type');
  if (!block || !type) return;
  // `deepspeed.initialize` is handed it, whatever its own settings name.
  draft.givesOptimizer = true;
  const name = textOf(type.node);
  const options = block.node.kind === 'map' ? (plainOf(block.node) as OptimizerOptions) : {};
  const values = name === undefined ? undefined : classOptimizer(name, options);
  stateOptimizer(wrapper, values ?? classOptimizer(`bitsandbytes.optim.${name}`, options), type);
  const own = entryOf(wrapper.root, 'constructor');
  if (own && !isBlank(own.value)) draft.leaveUncounted(own.value, 'constructor', ['method.kind']);
}

/** What `check_cfg` stops at. */
function checkXtuner(section: Section, draft: Draft): void {
  const micro = section.find('train_dataloader.batch_size');
  const size = section.integer('train_dataloader.batch_size') ?? 1;
  forbid(isOn(section, 'use_varlen_attn') && size > 1, micro?.node, draft, {
    code: 'varlen-batch',
    message: say('With `use_varlen_attn` the micro batch is one row: set `batch_size` to 1.'),
    source: TRAIN,
  });
}
