import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { integerOf, isAuto, textOf } from '../../config/scalar';
import { fileIn, LITGPT } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { assumeLength } from '../length-cap';
import { classOptimizer, optimizerStatements, TORCH_OPTIMIZERS } from '../optimizer-names';
import { type DefaultValue, Section } from '../section';
import type { LitgptCommand } from './litgpt-command';
import { LITGPT_KEYS, LITGPT_TABLE } from './litgpt-keys';
import { checkLitgpt } from './litgpt-rules';
import { litgptWords } from './litgpt-words';

const SOURCE = fileIn(LITGPT, 'litgpt/');

/** litgpt's YAML, one file per sub-command. */
export const litgpt: Dialect = {
  id: 'litgpt',
  name: 'litgpt',
  definitions: ['litgpt/args.py', 'litgpt/pretrain.py', 'litgpt/finetune/full.py', 'litgpt/finetune/lora.py'],
  released: LITGPT_TABLE.released,
  optimizers: Object.keys(TORCH_OPTIMIZERS),
  keys: LITGPT_KEYS,
  words: litgptWords,
  markers: /\bmicro_batch_size\b/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map') return 0;
    const named = entryOf(root, 'checkpoint_dir') ?? entryOf(root, 'model_name');
    const train = entryOf(root, 'train')?.value;
    if (!named || train?.kind !== 'map' || !nodeAt(train, 'micro_batch_size')) return 0;
    const beside = ['data', 'precision', 'out_dir', 'eval', 'devices', 'lora_r'].filter((key) =>
      entryOf(root, key),
    );
    return beside.length >= 2 ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', LITGPT_TABLE);
    const command = commandOf(root, document.uri);
    readLitgpt(section, command, draft, context);
    rejectMisfits(root, LITGPT_TABLE, draft);
    draft.rules(() => checkLitgpt(root, section, command, draft));
    return draft.reading();
  },
};

function commandOf(root: MapNode, uri: string): LitgptCommand {
  if (entryOf(root, 'lora_r') || entryOf(root, 'lora_query')) return 'lora';
  const adapter = /adapter([-_]?v2)?[^/]*$/i.exec(uri);
  if (adapter) return adapter[1] ? 'adapter_v2' : 'adapter';
  return entryOf(root, 'model_name') && !/finetune/.test(uri) ? 'pretrain' : 'full';
}

/** States what a config of a sub-command states. */
export function readLitgpt(
  config: Section,
  command: LitgptCommand,
  draft: Draft,
  context: ReadContext,
): void {
  const file = command === 'pretrain' ? 'pretrain.py' : `finetune/${command}.py`;
  const section = config.withDefaultsOf(`${SOURCE}${file}`);
  const own = <V>(value: V): DefaultValue<V> => ({
    value,
    note: say('{0} default', 'litgpt'),
    source: `${SOURCE}${file}`,
  });
  draft.assume('framework', 'litgpt', say('the file is a {0} config', 'litgpt'));
  draft.assume('model.code', 'litgpt', say("litgpt's own modules run the model"), `${SOURCE}model.py`);
  const pretrain = command === 'pretrain';
  section.take('checkpoint_dir');
  const spelled = section.find('model_config');
  // What is spelled out is built, whatever the name (`pretrain.py`, `setup`).
  if (pretrain && spelled?.node.kind === 'map' && spelled.node.entries.length > 0)
    draft.leave(
      'value',
      spelled.node,
      'model_config',
      say('`{0}` spells a model out, which is not read.', 'model_config'),
      ['model.id'],
    );
  else section.take('model_name');
  const train = section.section('train');
  train.take('tie_embeddings');
  train.takeElse('micro_batch_size', own(pretrain ? 4 : 1));
  train.takeElse('global_batch_size', own(pretrain ? 512 : 16));
  readDevices(section, command, draft);
  readAccumulation(section, command, draft, context);
  if (!train.take('max_seq_length')) {
    const longest = context.model?.maxPositions;
    if (pretrain && longest !== undefined)
      draft.infer('batch.sequence', longest, say('the longest input of the model'));
    else
      assumeLength(
        draft,
        'train.max_seq_length',
        nodeAt(section.root, 'train.max_seq_length'),
        `${SOURCE}args.py`,
      );
  }
  train.take('max_steps', 'max_tokens');
  readPrecision(section, draft);
  readMethod(section, command, own, draft);
  readOptimizer(section, command, draft);
  readSharding(section, command, draft, context);
  // The loss works on chunks of 128 rows: of the logits, and in LoRA of the head (`utils.py`, `lora.py`).
  const head = command === 'full' || pretrain ? 'row-chunks' : 'head-chunks';
  draft.assume(
    'loss.implementation',
    head,
    say('litgpt computes the loss in chunks of 128 rows'),
    `${SOURCE}utils.py`,
  );
  // `logits = model(...)`: the variable, and through it the graph, lives until the next batch's logits are there (`fit`).
  draft.assume(
    'loss.keptLogits',
    'next-step',
    say('the loop keeps logits in a variable until the next batch has its own'),
    `${SOURCE}${file}`,
  );
  if (!pretrain)
    draft.assume('evaluation.enabled', true, say('litgpt validates during fine-tuning'), `${SOURCE}${file}`);
}

function readDevices(section: Section, command: LitgptCommand, draft: Draft): void {
  const devices = section.find('devices');
  const count = integerOf(devices?.node);
  const nodes = section.integerOrDefault('num_nodes');
  section.take('num_nodes');
  if (devices && count !== undefined)
    section.state(
      'hardware.gpus',
      count * nodes,
      devices,
      nodes > 1 ? say('on each of {0} machines', nodes) : undefined,
    );
  else if (devices && !isAuto(devices.node)) section.leave(devices, ['hardware.gpus']);
  // Pre-training takes every GPU that there is.
  else if (!devices && command !== 'pretrain')
    draft.infer('hardware.gpus', nodes, say('litgpt default: one device per machine'));
}

/** Global batch over devices and micro batch, rounded down, at least one (`args.py`, `gradient_accumulation_iters`). */
function readAccumulation(
  section: Section,
  command: LitgptCommand,
  draft: Draft,
  context: ReadContext,
): void {
  const pretrain = command === 'pretrain';
  const micro = section.integer('train.micro_batch_size') ?? (pretrain ? 4 : 1);
  const global = section.integer('train.global_batch_size') ?? (pretrain ? 512 : 16);
  const gpus = section.integer('devices') ?? context.known['hardware.gpus'];
  if (typeof gpus !== 'number' || gpus < 1) return;
  const nodes = section.integerOrDefault('num_nodes');
  const steps = Math.max(
    1,
    Math.floor(Math.floor(global / (gpus * (section.has('devices') ? nodes : 1))) / micro),
  );
  draft.infer(
    'batch.accumulation',
    steps,
    say('{0} samples over {1} devices in micro batches of {2}', String(global), String(gpus), String(micro)),
  );
}

function readPrecision(section: Section, draft: Draft): void {
  const found = section.find('precision');
  const word = textOf(found?.node)?.toLowerCase() ?? 'bf16-mixed';
  const type = word.startsWith('bf16') ? 'bf16' : word.startsWith('16') ? 'fp16' : 'fp32';
  const pure = word.endsWith('-true') || type === 'fp32';
  const weights = pure ? type : 'fp32';
  const scheme = pure ? 'native' : 'autocast';
  if (found) {
    section.state('precision.weights', weights, found);
    section.state('precision.compute', type, found);
    section.state('precision.scheme', scheme, found);
    section.state('lora.dtype', weights, found);
    return;
  }
  const note = say('litgpt default: bf16-mixed where the GPU can');
  draft.assume('precision.weights', weights, note, `${SOURCE}utils.py`, 'precision');
  draft.assume('precision.compute', type, note, `${SOURCE}utils.py`, 'precision');
  draft.assume('precision.scheme', scheme, note, `${SOURCE}utils.py`, 'precision');
}

function readMethod(
  section: Section,
  command: LitgptCommand,
  own: <V>(value: V) => DefaultValue<V>,
  draft: Draft,
): void {
  if (command === 'full' || command === 'pretrain') {
    draft.assume('method.kind', 'full', say('all weights are trained'), SOURCE);
    return;
  }
  readQuantization(section, own);
  if (command !== 'lora') {
    readPrompts(command, draft);
    return;
  }
  draft.assume('method.kind', 'lora', say('a config with LoRA keys'), `${SOURCE}finetune/lora.py`);
  section.take('lora_r', 'lora_alpha', 'lora_dropout');
  const parts: readonly (readonly [key: string, targets: readonly string[]])[] = [
    ['lora_query', ['q_proj']],
    ['lora_key', ['k_proj']],
    ['lora_value', ['v_proj']],
    ['lora_projection', ['o_proj']],
    ['lora_mlp', ['gate_proj', 'up_proj', 'down_proj']],
    ['lora_head', ['lm_head']],
  ];
  const targets = parts.flatMap(([key, names]) => (section.flagOrDefault(key) ? names : []));
  const stated = parts.map(([key]) => section.find(key)).find((found) => found !== undefined);
  if (stated) section.state('lora.targets', targets, stated);
  else section.assume('lora.targets', own(targets), 'lora_query');
}

/** LLaMA-Adapter: prompts of ten tokens in every layer from the third on, which no key changes (`adapter.py`, `Config`). */
function readPrompts(command: 'adapter' | 'adapter_v2', draft: Draft): void {
  const source = `${SOURCE}${command}.py`;
  const note = say('litgpt `finetune_{0}`', command);
  draft.assume('method.kind', 'lora', note, source);
  draft.assume('lora.kind', command === 'adapter' ? 'llama-adapter' : 'llama-adapter-v2', note, source);
  draft.assume('lora.virtualTokens', 10, say('{0} default', 'litgpt'), `${SOURCE}adapter.py`);
}

function readQuantization(section: Section, own: <V>(value: V) => DefaultValue<V>): void {
  if (!section.take('quantize')) return;
  section.stateMeaning('quantization.double', 'quantize', ({ node }) => textOf(node)?.endsWith('-dq'));
  section.assume('quantization.prepared', {
    ...own(false),
    note: say('norms and embeddings stay in the type of the run'),
  });
  section.assume('quantization.head', { ...own(true), note: say('Lightning quantizes the head too') });
}

/**
 * By its class. Over quantized weights it is bitsandbytes' paged AdamW whatever the class (`instantiate_bnb_optimizer`);
 * pre-training asks for the fused step.
 */
function readOptimizer(section: Section, command: LitgptCommand, draft: Draft): void {
  const quantize = section.find('quantize');
  const adapts = command !== 'full' && command !== 'pretrain';
  if (adapts && quantize && textOf(quantize.node)?.startsWith('bnb.')) {
    section.state(
      'optimizer.name',
      'paged-adamw',
      quantize,
      say('litgpt steps quantized models with PagedAdamW'),
    );
    return;
  }
  const found = section.find(['optimizer.class_path', 'optimizer']);
  const name = textOf(found?.node) ?? 'AdamW';
  const options = command === 'pretrain' ? { fused: true } : {};
  const values = classOptimizer(name.includes('.') ? name : `torch.optim.${name}`, options);
  for (const { field, value } of optimizerStatements(values ?? {})) {
    if (found && found.node.kind === 'scalar') section.state(field, value as never, found);
    else
      draft.assume(
        field,
        value as never,
        say('{0} default', 'litgpt'),
        `${SOURCE}finetune/lora.py`,
        'optimizer',
      );
  }
}

/** One device: nothing is shared. Several: FSDP, with checkpointing of every block in full fine-tuning. */
function readSharding(section: Section, command: LitgptCommand, draft: Draft, context: ReadContext): void {
  const gpus = section.integer('devices') ?? context.known['hardware.gpus'];
  const several = typeof gpus === 'number' && gpus * section.integerOrDefault('num_nodes') > 1;
  const source = `${SOURCE}${command === 'pretrain' ? 'pretrain.py' : `finetune/${command}.py`}`;
  if (!several) {
    draft.assume('parallel.data', 'none', say('one device'), source);
    draft.assume('activations.checkpointing', 'none', say('litgpt checkpoints under FSDP only'), source);
    return;
  }
  draft.assume(
    'parallel.data',
    command === 'lora' ? 'fsdp2' : 'fsdp1',
    say('litgpt shards over its devices'),
    source,
  );
  draft.assume(
    'fsdp.strategy',
    command === 'pretrain' ? 'hybrid' : 'full',
    say('{0} default', 'litgpt'),
    source,
  );
  draft.assume(
    'activations.checkpointing',
    command === 'full' ? 'full' : 'none',
    say('{0} default', 'litgpt'),
    source,
  );
  draft.assume('activations.reentrant', false, say('Lightning checkpoints without reentry'), source);
}
