import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { attentionOf } from '../hf/model-arguments';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { dtypeOf } from '../hf/weights-dtype';
import { checkKeys } from '../key-check';
import { KeyTable } from '../key-table';
import { forbid } from '../refusal';
import { Section, type Silence } from '../section';
import { LLAMA_FACTORY_V1_KEYS } from './llama-factory-v1-keys';

const SOURCE = 'https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/v1/';
const table = new KeyTable(LLAMA_FACTORY_V1_KEYS);
const policy = scriptPolicy('LLaMA-Factory', true);

function own<V>(value: V, file = 'config/training_args.py'): Silence<V> {
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
    const draft = new Draft(document);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft);
    draft.assume('framework', 'llama-factory', say('the file is a {0} config', 'LLaMA-Factory'));
    section.stateText('model.id', 'model');
    const kind = readMethod(section);
    readObjective(document.uri, kind, draft);
    readQuantization(section);
    readSharding(section, draft, kind, context);
    readBatch(section, context, draft);
    readOptimizer(section);
    readActivations(section);
    check(root, section, context, draft);
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
  const file = 'plugins/model_plugins/peft.py';
  if (word === 'freeze') {
    peft.stateInteger('method.trainableLayers', 'freeze_trainable_layers', own(2, file));
    return word;
  }
  peft.stateInteger('lora.rank', 'r', own(8, file));
  peft.stateNumber('lora.alpha', 'lora_alpha', own(16, file));
  peft.stateNumber('lora.dropout', 'lora_dropout', own(0.05, file));
  peft.stateMeaning(
    'lora.targets',
    'target_modules',
    ({ node }) => textsOf(node)?.map((target) => (target === 'all' ? 'all-linear' : target)),
    own(['all-linear'], file),
  );
  peft.stateTexts('lora.modulesToSave', 'modules_to_save');
  peft.stateFlag('lora.dora', 'use_dora', own(false, file));
  return word;
}

/** The sub-command says what is trained for (`launcher.py`); files are named for it. */
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
  if (width !== 4) return;
  const file = 'plugins/model_plugins/quantization.py';
  quant.stateFlag('quantization.double', 'double_quantization', own(true, file));
  quant.stateMeaning(
    'quantization.storage',
    'compute_dtype',
    ({ node }) => dtypeOf(textOf(node)),
    own('fp16' as const, file),
  );
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
  dist.stateMeaning('fsdp.strategy', 'reshard_after_forward', ({ node }) => {
    const frees = flagOf(node);
    return frees === undefined ? undefined : frees ? 'full' : 'grad-op';
  });
  const offload = dist.find('offload_params');
  if (offload && flagOf(offload.node) === true) {
    dist.state('offload.parameters', 'cpu', offload);
    dist.state('offload.optimizer', 'cpu', offload);
  }
  dist.stateFlag('offload.pinMemory', 'pin_memory');
  dist.stateInteger('parallel.expert', 'ep_size');
  if (textOf(section.find('cp_mode')?.node)?.toLowerCase() === 'ring')
    section.stateInteger('parallel.context', 'cp_size');
  else section.stateInteger('parallel.ulysses', 'cp_size');
  // Trained whole, the model is made fp32 (`core/model_engine.py`); else it keeps its published type.
  const held = kind === 'full' ? 'fp32' : (context.model?.publishedDtype ?? 'bf16');
  const note =
    kind === 'full'
      ? say('a model that is trained whole is made fp32')
      : say('weights keep their published type');
  if (word === 'deepspeed') return;
  draft.assume('precision.weights', held, note, `${SOURCE}core/model_engine.py`);
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
  section.stateMeaning(
    'precision.compute',
    'bf16',
    ({ node }) => (flagOf(node) === undefined ? undefined : flagOf(node) ? 'bf16' : 'fp32'),
    own('bf16' as const),
  );
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
  section.stateInteger('batch.micro', 'micro_batch_size', own(1));
  section.stateInteger('batch.sequence', 'cutoff_len', own(2048));
  section.stateInteger('schedule.steps', 'max_steps');
  section.stateMeaning(
    'batch.packed',
    'batching_strategy',
    ({ node }) => /padding_free/.test(textOf(node) ?? ''),
    own(false),
  );
  if (!section.stateInteger('batch.global', 'global_batch_size')) {
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
  const data = Math.max(1, Math.floor(gpus / (section.integer('cp_size') ?? 1)));
  return data * (section.integer('micro_batch_size') ?? 1);
}

function readOptimizer(section: Section): void {
  const name = section.section('optim_config').find('name');
  if (name && textOf(name.node)?.toLowerCase() === 'muon') {
    section.state('optimizer.name', 'muon', { key: 'optim_config.name', node: name.node });
    return;
  }
  if (name) return;
  section.assume('optimizer.name', own('adamw' as const, 'core/base_trainer.py'), 'optim_config');
  section.assume('optimizer.implementation', own('foreach' as const, 'core/base_trainer.py'), 'optim_config');
}

function readActivations(section: Section): void {
  section.stateMeaning(
    'activations.checkpointing',
    'enable_activation_checkpointing',
    ({ node }) => (flagOf(node) === undefined ? undefined : flagOf(node) ? 'full' : 'none'),
    own('full' as const),
  );
  section.assume('activations.reentrant', {
    ...own(false, 'core/base_trainer.py'),
    note: say('without reentry'),
  });
  section.stateMeaning(
    'attention.implementation',
    'flash_attn',
    ({ node }) => attentionOf(textOf(node)),
    own('sdpa' as const, 'config/model_args.py'),
  );
  const kernel = section.section('kernel_config').find('name');
  if (kernel && /liger/.test(textOf(kernel.node) ?? ''))
    section.state('kernels.liger', true, { key: 'kernel_config.name', node: kernel.node });
}

function check(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, table, policy, draft);
  const share = groupOf(section, context);
  const whole = section.find('global_batch_size');
  const size = integerOf(whole?.node);
  forbid(share !== undefined && size !== undefined && size % share !== 0, whole?.node, draft, {
    code: 'batch-not-divisible',
    message: say(
      'A global batch of {0} is no multiple of {1}, the micro batches of all GPUs.',
      String(size),
      String(share),
    ),
    source: `${SOURCE}core/utils/batching.py`,
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
