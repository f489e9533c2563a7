import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { stateFrozenModels } from '../frozen-models';
import { isMultimodal, trainedParts } from '../hf/multimodal-parts';
import { assumePadding } from '../hf/padding';
import { readTrainingArguments, TRAINER_DEFAULTS, type TrainerReading } from '../hf/training-arguments';
import { Section, type Silence } from '../section';
import { LLAMA_FACTORY_KEYS } from './llama-factory-keys';
import { checkLlamaFactory } from './llama-factory-rules';

const SOURCE = 'https://github.com/hiyouga/LLaMA-Factory/blob/main/src/llamafactory/';

function factory<V>(value: V, file: string): Silence<V> {
  return { value, note: say('{0} default', 'LLaMA-Factory'), source: `${SOURCE}${file}` };
}

/** LLaMA-Factory's YAML or JSON. Files without `stage` are for inference and merging. */
export const llamaFactory: Dialect = {
  id: 'llama-factory',
  name: 'LLaMA-Factory',
  keys: LLAMA_FACTORY_KEYS,
  markers: /\bstage\b[\s\S]*\bmodel_name_or_path\b|\bmodel_name_or_path\b[\s\S]*\bstage\b/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || !entryOf(root, 'model_name_or_path') || !entryOf(root, 'stage')) return 0;
    const companions = ['finetuning_type', 'cutoff_len', 'template', 'dataset', 'do_train', 'output_dir'];
    return companions.some((key) => entryOf(root, key)) ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft);
    readLlamaFactory(section, draft, context);
    checkLlamaFactory(root, section, context, draft);
    return draft.reading();
  },
};

/** States what the arguments say, from a file or from a command line. */
export function readLlamaFactory(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'llama-factory', say('the file is a {0} config', 'LLaMA-Factory'));
  section.stateText('model.id', 'model_name_or_path');
  readMethod(section, draft, context);
  readObjective(section, draft);
  readChosenOptimizer(section);
  readCheckpointing(section);
  section.stateFlag('kernels.liger', 'enable_liger_kernel', factory(false, 'hparams/model_args.py'));
  const reading = readTrainingArguments(section, draft, context, TRAINER_DEFAULTS);
  readWeights(section, draft, reading);
  readQuantization(section);
  section.stateMeaning(
    'attention.implementation',
    'flash_attn',
    ({ node }) => ATTENTION[textOf(node)?.toLowerCase() ?? ''],
  );
  section.stateInteger('batch.sequence', 'cutoff_len', factory(2048, 'hparams/data_args.py'));
  readPacking(section);
  assumePadding(section, draft, section.integer('per_device_train_batch_size') ?? 8);
}

const ATTENTION: Readonly<Record<string, FieldValue<'attention.implementation'>>> = {
  disabled: 'eager',
  sdpa: 'sdpa',
  fa2: 'flash2',
  fa3: 'flash3',
};

function readMethod(section: Section, draft: Draft, context: ReadContext): void {
  const type = section.find('finetuning_type');
  const name = textOf(type?.node)?.toLowerCase() ?? 'lora';
  const kind = name === 'full' || name === 'freeze' ? name : 'lora';
  const silence = factory('lora' as const, 'hparams/finetuning_args.py');
  const trained = kind === 'full' ? frozenParts(section, context) : undefined;
  if (type && trained) {
    const note = say('LLaMA-Factory freezes parts of multimodal models (freeze_vision_tower and its like)');
    section.state('method.kind', 'freeze', type, note);
    section.state('method.trainable', trained, type, note);
  } else if (type) section.state('method.kind', kind, type);
  else section.assume('method.kind', silence, 'finetuning_type');
  const pro = section.find('use_llama_pro');
  if (pro && flagOf(pro.node) === true && kind !== 'full') {
    section.state('method.spreadLayers', true, pro);
    if (kind === 'lora')
      section.stateInteger(
        'method.trainableLayers',
        'freeze_trainable_layers',
        factory(2, 'hparams/finetuning_args.py'),
      );
  }
  if (kind === 'freeze') {
    section.stateInteger(
      'method.trainableLayers',
      'freeze_trainable_layers',
      factory(2, 'hparams/finetuning_args.py'),
    );
    return;
  }
  if (kind === 'full') return;
  const oft = name === 'oft';
  if (oft && type) {
    section.state('lora.kind', 'oft', type);
    section.stateInteger('lora.blockSize', 'oft_block_size', factory(32, 'hparams/finetuning_args.py'));
  }
  section.stateInteger('lora.rank', 'lora_rank', factory(8, 'hparams/finetuning_args.py'));
  const alpha = 2 * (section.integer('lora_rank') ?? 8);
  section.stateNumber('lora.alpha', 'lora_alpha', {
    ...factory(alpha, 'hparams/finetuning_args.py'),
    note: say('LLaMA-Factory: twice the rank'),
  });
  section.stateNumber('lora.dropout', 'lora_dropout', factory(0, 'hparams/finetuning_args.py'));
  section.stateMeaning(
    'lora.targets',
    oft ? 'oft_target' : 'lora_target',
    ({ node }) => textsOf(node)?.map((target) => (target === 'all' ? 'all-linear' : target)),
    factory(['all-linear'], 'hparams/finetuning_args.py'),
  );
  section.stateTexts('lora.modulesToSave', 'additional_target');
  section.stateFlag('lora.dora', 'use_dora', factory(false, 'hparams/finetuning_args.py'));
  if (section.flag('pure_bf16') === true) {
    const pure = section.find('pure_bf16');
    if (pure) section.state('lora.dtype', 'bf16', pure);
  } else
    draft.assume(
      'lora.dtype',
      'fp32',
      say('trained weights are upcast to fp32'),
      `${SOURCE}model/adapter.py`,
    );
}

/** Vision tower and projector are frozen unless told otherwise; the language model is not (`model_utils/visual.py`). */
function frozenParts(section: Section, context: ReadContext): string[] | undefined {
  if (!isMultimodal(context)) return undefined;
  return trainedParts({
    language: section.flag('freeze_language_model') ?? false,
    vision: section.flag('freeze_vision_tower') ?? true,
    projector: section.flag('freeze_multi_modal_projector') ?? true,
  });
}

const PAIRWISE: Readonly<Record<string, FieldValue<'method.objective'>>> = {
  sigmoid: 'dpo',
  hinge: 'dpo',
  kto_pair: 'dpo',
  ipo: 'ipo',
  orpo: 'orpo',
  simpo: 'simpo',
};

function readObjective(section: Section, draft: Draft): void {
  const stage = section.find('stage');
  if (!stage) return;
  const name = textOf(stage.node)?.toLowerCase();
  const loss = section.find('pref_loss');
  const preference = PAIRWISE[textOf(loss?.node)?.toLowerCase() ?? 'sigmoid'] ?? 'dpo';
  const objective = { pt: 'lm', sft: 'lm', rm: 'reward', ppo: 'ppo', dpo: preference, kto: 'kto' } as const;
  const value = objective[(name ?? 'sft') as keyof typeof objective];
  if (value === undefined) return;
  section.state('method.objective', value, name === 'dpo' && loss ? loss : stage);
  const compares = value === 'dpo' || value === 'ipo' || value === 'kto' || value === 'ppo';
  // With adapters the base model itself is the reference, adapters off (`train/trainer_utils.py`, `create_ref_model`).
  const full = textOf(section.find('finetuning_type')?.node) === 'full';
  const named = section.find('ref_model');
  if (compares && named) section.state('method.referenceModel', true, named);
  else
    draft.assume(
      'method.referenceModel',
      compares && full,
      compares && full
        ? say('a frozen copy of the model is the reference')
        : say('no separate reference model is needed'),
      `${SOURCE}train/trainer_utils.py`,
    );
  if (value === 'ppo') {
    // The policy has a value head of one number. Rewards come from adapters of the same model, or from another (`train/ppo`).
    const kind = section.find('reward_model_type');
    if (kind && textOf(kind.node) === 'full') {
      stateFrozenModels(section, ['reward_model']);
      if (!section.has('reward_model')) section.state('method.frozenModels', 1, kind);
    }
    section.state('rollout.engine', 'transformers', stage);
  }
}

/** GaLore, APOLLO, Adam-mini, Muon and BAdam are asked for by switches of their own. */
function readChosenOptimizer(section: Section): void {
  const on = (key: string) => {
    const found = section.find(key);
    return found && flagOf(found.node) === true ? found : undefined;
  };
  const [galore, apollo, mini, muon] = ['use_galore', 'use_apollo', 'use_adam_mini', 'use_muon'].map(on);
  if (galore) {
    const eight = textOf(section.find('optim')?.node)?.includes('8bit') === true;
    section.state('optimizer.name', eight ? 'galore-adamw-8bit' : 'galore-adamw', galore);
    section.stateInteger('optimizer.rank', 'galore_rank', factory(16, 'hparams/finetuning_args.py'));
    section.stateFlag(
      'optimizer.inBackward',
      'galore_layerwise',
      factory(false, 'hparams/finetuning_args.py'),
    );
  } else if (apollo) {
    section.state('optimizer.name', 'apollo-adamw', apollo);
    section.stateInteger('optimizer.rank', 'apollo_rank', factory(16, 'hparams/finetuning_args.py'));
    section.stateFlag(
      'optimizer.inBackward',
      'apollo_layerwise',
      factory(false, 'hparams/finetuning_args.py'),
    );
  } else if (mini) section.state('optimizer.name', 'adam-mini', mini);
  else if (muon) section.state('optimizer.name', 'muon', muon);
}

/** On unless it is switched off (`model/model_utils/checkpointing.py`). */
function readCheckpointing(section: Section): void {
  section.stateMeaning(
    'activations.checkpointing',
    'disable_gradient_checkpointing',
    ({ node }) => {
      const off = flagOf(node);
      return off === undefined ? undefined : off ? 'none' : 'full';
    },
    factory('full' as const, 'hparams/model_args.py'),
  );
  section.stateFlag('activations.reentrant', 'use_reentrant_gc', factory(true, 'hparams/model_args.py'));
  section.stateFlag('activations.offload', 'use_unsloth_gc', factory(false, 'hparams/model_args.py'));
  section.stateFlag('kernels.unsloth', 'use_unsloth', factory(false, 'hparams/model_args.py'));
}

/**
 * The model is loaded in the type that it computes in; then what is trained is upcast to fp32, unless `pure_bf16`, BAdam
 * or ZeRO-3 without quantization (`model/adapter.py`, `init_adapter`).
 */
function readWeights(section: Section, draft: Draft, reading: TrainerReading): void {
  const pure = section.find('pure_bf16');
  if (pure && flagOf(pure.node) === true) {
    section.state('precision.weights', 'bf16', pure);
    section.state('precision.scheme', 'native', pure);
    section.state('precision.compute', 'bf16', pure);
    return;
  }
  if (reading.sharding === 'zero') return;
  const adapters = (textOf(section.find('finetuning_type')?.node) ?? 'lora') === 'lora';
  const loaded = reading.compute === 'fp32' ? 'bf16' : reading.compute;
  const note = adapters
    ? say('the base model stays in the type that it is loaded in')
    : say('trained weights are upcast to fp32');
  draft.assume('precision.weights', adapters ? loaded : 'fp32', note, `${SOURCE}model/adapter.py`);
}

function readQuantization(section: Section): void {
  const bits = section.find('quantization_bit');
  const width = integerOf(bits?.node);
  if (!bits || width === undefined) return;
  const method = textOf(section.find('quantization_method')?.node)?.toLowerCase() ?? 'bnb';
  if (method === 'hqq' || method === 'eetq') {
    section.state('quantization.kind', method, bits);
    section.state('quantization.bits', width, bits);
    return;
  }
  const fp4 = textOf(section.find('quantization_type')?.node)?.toLowerCase() === 'fp4';
  section.state('quantization.kind', width === 8 ? 'int8' : fp4 ? 'fp4' : 'nf4', bits);
  if (width === 4)
    section.stateFlag('quantization.double', 'double_quantization', factory(true, 'hparams/model_args.py'));
}

function readPacking(section: Section): void {
  const neat = section.find('neat_packing');
  if (neat && flagOf(neat.node) === true) section.state('batch.packed', true, neat);
  const pretraining = section.text('stage') === 'pt';
  section.stateFlag('batch.packed', 'packing', {
    ...factory(pretraining, 'hparams/parser.py'),
    note: pretraining ? say('LLaMA-Factory packs for `stage: pt`') : say('{0} default', 'LLaMA-Factory'),
  });
}
