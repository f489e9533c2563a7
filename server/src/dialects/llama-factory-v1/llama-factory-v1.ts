import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { inferUnnamed } from '../hf/weights-dtype';
import { checkKeys, rejectMisfits } from '../key-check';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { LLAMA_FACTORY_V1_KEYS, LLAMA_FACTORY_V1_TABLE } from './llama-factory-v1-keys';

const SOURCE = fileIn(LLAMA_FACTORY, 'src/llamafactory/v1/');
const policy = scriptPolicy('LLaMA-Factory', true);

function own<V>(value: V, file = 'config/training_args.py'): DefaultValue<V> {
  return { value, note: say('{0} default', 'LLaMA-Factory'), source: `${SOURCE}${file}` };
}

/** LLaMA-Factory's second trainer: one YAML, with a block for each plugin. */
export const llamaFactoryV1: Dialect = {
  id: 'llama-factory-v1',
  name: 'LLaMA-Factory v1',
  keys: LLAMA_FACTORY_V1_KEYS,
  markers: /^train_dataset\s*:/m,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || !entryOf(root, 'train_dataset')) return 0;
    if (entryOf(root, 'model')?.value.kind !== 'scalar') return 0;
    const beside = ['micro_batch_size', 'cutoff_len', 'dist_config', 'peft_config', 'model_class'];
    return beside.filter((key) => entryOf(root, key)).length >= 2 ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', LLAMA_FACTORY_V1_TABLE);
    draft.assume('framework', 'llama-factory', say('the file is a {0} config', 'LLaMA-Factory'));
    section.take('model');
    const kind = readMethod(section);
    readObjective(document.uri, kind, draft);
    readQuantization(section);
    readSharding(section, draft, kind, context);
    readBatch(section, context, draft);
    readOptimizer(section);
    readActivations(section);
    rejectMisfits(root, LLAMA_FACTORY_V1_TABLE, draft);
    draft.rules(() => check(root, section, context, draft));
    return draft.reading();
  },
};

type Kind = 'full' | 'lora' | 'freeze';

function readMethod(section: Section): Kind {
  const peft = section.section('peft_config');
  const name = peft.find('name');
  const word = textOf(name?.node)?.toLowerCase();
  if (!name || (word !== 'lora' && word !== 'freeze')) {
    section.assume('method.kind', own('full' as const, 'core/model_engine.py'), 'peft_config');
    return 'full';
  }
  peft.state('method.kind', word, name);
  if (word === 'freeze') peft.take('freeze_trainable_layers');
  else peft.take('r', 'lora_alpha', 'lora_dropout', 'target_modules', 'modules_to_save', 'use_dora');
  return word;
}

/** The sub-command states what is trained for (`launcher.py`); files are named for it. */
function readObjective(uri: string, kind: Kind, draft: Draft): void {
  const name = uri.split('/').at(-1) ?? '';
  const word = /(?:^|[_.-])(dpo|rm)(?=[_.-])/i.exec(name)?.[1]?.toLowerCase();
  if (word === 'dpo') {
    draft.infer('method.objective', 'dpo', say('by the name of the file'));
    draft.infer(
      'method.referenceModel',
      kind !== 'lora',
      kind === 'lora'
        ? say('adapters off, the base model is the reference')
        : say('a frozen copy is the reference'),
    );
  } else if (word === 'rm') draft.infer('method.objective', 'reward', say('by the name of the file'));
}

function readQuantization(section: Section): void {
  const block = section.find('quant_config');
  if (block?.node.kind !== 'map') return;
  const quant = section.section('quant_config');
  const bits = quant.find('quantization_bit');
  const named = textOf(quant.find('name')?.node)?.toLowerCase();
  // Without a number `bnb` takes four bits, `auto` none (`plugins/model_plugins/quantization.py`).
  const width = integerOf(bits?.node) ?? (named === 'bnb' ? 4 : undefined);
  if (width === undefined) return;
  const fp4 = quant.text('quantization_type') === 'fp4';
  quant.state('quantization.kind', width === 8 ? 'int8' : fp4 ? 'fp4' : 'nf4', bits ?? block);
  if (width === 4) quant.take('double_quantization', 'compute_dtype');
  const note = say('`prepare_model_for_kbit_training` is not called');
  section.assume('quantization.prepared', { ...own(false, 'plugins/model_plugins/peft.py'), note });
}

/** FSDP 2 keeps fp32 shards and gathers bf16; alone and under DDP the model runs in the type that it is held in. */
function readSharding(section: Section, draft: Draft, kind: Kind, context: ReadContext): void {
  const dist = section.section('dist_config');
  const name = dist.find('name');
  const word = textOf(name?.node)?.toLowerCase() ?? '';
  const fsdp = word.startsWith('fsdp');
  if (name && fsdp) dist.state('parallel.data', 'fsdp2', name);
  else if (name && word === 'deepspeed') {
    dist.state('parallel.data', 'zero', name);
    dist.link('config_file', 'deepspeed');
  } else section.assume('parallel.data', own('ddp' as const, 'core/base_trainer.py'), 'dist_config');
  dist.take('reshard_after_forward');
  const offload = dist.find('offload_params');
  if (offload && flagOf(offload.node) === true) {
    dist.state('offload.parameters', 'cpu', offload);
    dist.state('offload.optimizer', 'cpu', offload);
  }
  dist.take('pin_memory', 'ep_size');
  const size = section.find('cp_size');
  const ranks = integerOf(size?.node);
  const ring = section.text('cp_mode')?.toLowerCase() === 'ring';
  if (size && ranks !== undefined) section.state(ring ? 'parallel.context' : 'parallel.ulysses', ranks, size);
  // Trained whole, the model is made fp32 (`core/model_engine.py`); else it keeps its published type.
  const held = kind === 'full' ? 'fp32' : (context.model?.publishedDtype ?? 'bf16');
  const note =
    kind === 'full'
      ? say('a model that is trained whole is made fp32')
      : say('weights keep their published type');
  if (word === 'deepspeed') return;
  if (kind === 'full' || context.model?.publishedDtype)
    draft.assume('precision.weights', held, note, `${SOURCE}core/model_engine.py`);
  else inferUnnamed(draft);
  const low = section.flag('bf16') !== false;
  if (!fsdp) {
    draft.assume(
      'precision.compute',
      held,
      say('nothing lowers the precision without FSDP'),
      `${SOURCE}core/base_trainer.py`,
    );
    draft.assume(
      'precision.scheme',
      'native',
      say('nothing lowers the precision without FSDP'),
      `${SOURCE}core/base_trainer.py`,
    );
    return;
  }
  section.take('bf16');
  const file = `${SOURCE}plugins/trainer_plugins/distributed/fsdp2.py`;
  draft.assume(
    'precision.scheme',
    low ? 'fsdp' : 'native',
    say('weights are gathered in the type of products'),
    file,
  );
  draft.assume('precision.masterWeights', held === 'fp8' ? 'bf16' : held, note, file);
  draft.assume('precision.reduce', 'fp32', say('gradients are reduced in fp32'), file);
}

function readBatch(section: Section, context: ReadContext, draft: Draft): void {
  section.take('micro_batch_size', 'cutoff_len', 'max_steps', 'batching_strategy');
  if (!section.take('global_batch_size')) {
    section.assume('batch.accumulation', own(1, 'core/utils/batching.py'), 'global_batch_size');
    return;
  }
  const share = groupOf(section, context);
  const whole = section.integer('global_batch_size');
  if (share !== undefined && whole !== undefined)
    draft.infer(
      'batch.accumulation',
      Math.max(1, Math.floor(whole / share)),
      say('{0} samples over micro batches of {1} on all GPUs', String(whole), String(share)),
    );
}

/** Samples of one micro batch over all data-parallel GPUs, where their number is known. */
function groupOf(section: Section, context: ReadContext): number | undefined {
  const gpus = context.known['hardware.gpus'];
  if (typeof gpus !== 'number') return undefined;
  const data = Math.max(1, Math.floor(gpus / section.integerOrDefault('cp_size')));
  return data * section.integerOrDefault('micro_batch_size');
}

function readOptimizer(section: Section): void {
  const name = section.section('optim_config').find('name');
  if (name && textOf(name.node)?.toLowerCase() === 'muon') {
    section.state('optimizer.name', 'muon', { key: 'optim_config.name', node: name.node });
    return;
  }
  if (name) {
    section.section('optim_config').leave(name, ['optimizer.name']);
    return;
  }
  section.assume('optimizer.name', own('adamw' as const, 'core/base_trainer.py'), 'optim_config');
  section.assume('optimizer.implementation', own('foreach' as const, 'core/base_trainer.py'), 'optim_config');
}

function readActivations(section: Section): void {
  section.take('enable_activation_checkpointing');
  section.assume('activations.reentrant', {
    ...own(false, 'core/base_trainer.py'),
    note: say('without reentry'),
  });
  section.take('flash_attn');
  const kernel = section.section('kernel_config').find('name');
  if (kernel && /liger/.test(textOf(kernel.node) ?? ''))
    section.state('kernels.liger', true, { key: 'kernel_config.name', node: kernel.node });
}

function check(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, LLAMA_FACTORY_V1_TABLE, policy, draft);
  const share = groupOf(section, context);
  const whole = section.find('global_batch_size');
  const size = integerOf(whole?.node);
  forbid(share !== undefined && size !== undefined && size % share !== 0, whole?.node, draft, {
    code: 'batch-not-divisible',
    message: say(
      'A global batch of {0} is not a multiple of {1}, the micro batches of all GPUs.',
      String(size),
      String(share),
    ),
    source: `${SOURCE}core/utils/batching.py`,
    releases: { from: '0.9.5' },
  });
  const strategy = section.find('batching_strategy');
  forbid(
    textOf(strategy?.node) === 'dynamic_batching' && (section.integer('max_steps') ?? 0) < 1,
    strategy?.node,
    draft,
    {
      code: 'missing-steps',
      message: say('`dynamic_batching` counts steps, not samples: set `max_steps`.'),
      source: `${SOURCE}config/training_args.py`,
    },
  );
}
