import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { stateFrozenModels } from '../frozen-models';
import { assumeReadByAll } from '../hf/fsdp-argument';
import { launchQuestions } from '../hf/launch-question';
import { isMultimodal, TOWER_MODULES, trainedParts } from '../hf/multimodal-parts';
import { assumePadding } from '../hf/padding';
import { readTrainingArguments, TRAINER_DEFAULTS, type TrainerReading } from '../hf/training-arguments';
import { rejectMisfits } from '../key-check';
import { assumeLeaves } from '../leaf-classes';
import { type DefaultValue, Section } from '../section';
import { readFactoryExperts } from './balanced-experts';
import { FACTORY_LEAVES } from './leaf-modules';
import { LLAMA_FACTORY_KEYS, LLAMA_FACTORY_TABLE } from './llama-factory-keys';
import { checkLlamaFactory } from './llama-factory-rules';
import { llamaFactoryWords } from './llama-factory-words';

const SOURCE = fileIn(LLAMA_FACTORY, 'src/llamafactory/');

function factory<V>(value: V, file: string): DefaultValue<V> {
  return { value, note: say('{0} default', 'LLaMA-Factory'), source: `${SOURCE}${file}` };
}

/** LLaMA-Factory's YAML or JSON. Files without `stage` are for inference and merging. */
export const llamaFactory: Dialect = {
  id: 'llama-factory',
  name: 'LLaMA-Factory',
  definitions: [
    'src/*/hparams/model_args.py',
    'src/*/hparams/data_args.py',
    'src/*/hparams/finetuning_args.py',
    'src/*/hparams/generating_args.py',
    'src/*/hparams/training_args.py',
  ],
  released: LLAMA_FACTORY_TABLE.released,
  words: llamaFactoryWords,
  keys: LLAMA_FACTORY_KEYS,
  joins: { questions: launchQuestions },
  markers: { test: (text) => /\bstage\b/.test(text) && /\bmodel_name_or_path\b/.test(text) },
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || !entryOf(root, 'model_name_or_path') || !entryOf(root, 'stage')) return 0;
    // `do_predict` and `do_eval` alone train nothing (`hparams/parser.py`).
    const on = (key: string) => flagOf(entryOf(root, key)?.value) === true;
    if (!on('do_train') && (on('do_predict') || on('do_eval')) && !entryOf(root, 'learning_rate')) return 0;
    const companions = ['finetuning_type', 'cutoff_len', 'template', 'dataset', 'do_train', 'output_dir'];
    return companions.some((key) => entryOf(root, key)) ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', LLAMA_FACTORY_TABLE);
    readLlamaFactory(section, draft, context);
    rejectMisfits(root, LLAMA_FACTORY_TABLE, draft);
    draft.rules(() => checkLlamaFactory(root, section, context, draft));
    return draft.reading();
  },
};

/** States what the arguments say, from a file or from a command line. */
export function readLlamaFactory(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'llama-factory', say('the file is a {0} config', 'LLaMA-Factory'));
  section.take('model_name_or_path', 'train_from_scratch');
  readMethod(section, draft, context);
  readObjective(section, draft);
  readChosenOptimizer(section);
  readCheckpointing(section, context.versions?.llamafactory?.version);
  section.take('enable_liger_kernel');
  const reading = readTrainingArguments(section, draft, context, TRAINER_DEFAULTS);
  readWeights(section, draft, reading);
  readQuantization(section, draft);
  assumeReadByAll(section, draft);
  const fp8 = section.find('fp8');
  if (fp8 && flagOf(fp8.node) === true)
    section.state(
      'precision.fp8',
      section.text('fp8_backend')?.toLowerCase() === 'te' ? 'transformer-engine' : 'torchao',
      fp8,
    );
  section.take('flash_attn');
  readFactoryExperts(section, context);
  assumeLeaves(section, context, FACTORY_LEAVES);
  section.take('cutoff_len');
  if (isMultimodal(context) || section.has('image_max_pixels')) section.take('image_max_pixels');
  readPacking(section);
  assumePadding(section, draft, section.integerOrDefault('per_device_train_batch_size'));
  const gpus = context.known['hardware.gpus'];
  if (setsAllocator(context) && typeof gpus === 'number' && gpus > 1)
    draft.assume('allocator.expandableSegments', true, setsSegments(), LAUNCHER);
}

const LAUNCHER = fileIn(LLAMA_FACTORY, 'src/llamafactory/launcher.py');

export const setsSegments = (): string => say('{0} sets expandable segments', 'LLaMA-Factory');

/** Since 0.9.3 `llamafactory-cli` sets the allocator where it starts several processes (`launcher.py`, `OPTIM_TORCH`). */
export const setsAllocator = ({ versions }: ReadContext): boolean =>
  isAtLeast(versions?.llamafactory?.version, '0.9.3') !== false;

function readMethod(section: Section, draft: Draft, context: ReadContext): void {
  const type = section.find('finetuning_type');
  const name = textOf(type?.node)?.toLowerCase() ?? 'lora';
  if (type && !/^(?:lora|oft|freeze|full)$/.test(name)) {
    section.leave(type, ['method.kind', 'lora.kind']);
    return;
  }
  const kind = name === 'full' || name === 'freeze' ? name : 'lora';
  const byDefault = factory('lora' as const, 'hparams/finetuning_args.py');
  const trained = kind === 'full' ? frozenParts(section, context) : undefined;
  if (type && trained) {
    const note = say('LLaMA-Factory freezes parts of multimodal models (freeze_vision_tower and its like)');
    section.state('method.kind', 'freeze', type, note);
    section.state('method.trainable', trained, type, note);
  } else if (type) section.state('method.kind', kind, type);
  else section.assume('method.kind', byDefault, 'finetuning_type');
  const pro = section.find('use_llama_pro');
  if (pro && flagOf(pro.node) === true && kind !== 'full') {
    section.state('method.spreadLayers', true, pro);
    if (kind === 'lora') section.take('freeze_trainable_layers');
  }
  if (kind === 'freeze') {
    section.take('freeze_trainable_layers');
    const other = section.find(['freeze_extra_modules', 'freeze_trainable_modules']);
    if (other && !isBlank(other.node) && textOf(other.node) !== 'all')
      draft.leave(
        'value',
        other.node,
        other.key,
        say('It is not known which weights `{0}` trains.', other.key),
        ['method.kind', 'method.trainableLayers'],
      );
    return;
  }
  if (kind === 'full') return;
  const oft = name === 'oft';
  if (oft && type) {
    section.state('lora.kind', 'oft', type);
    section.take('oft_block_size');
  }
  section.take('lora_rank');
  const alpha = 2 * section.integerOrDefault('lora_rank');
  section.takeElse('lora_alpha', {
    ...factory(alpha, 'hparams/finetuning_args.py'),
    note: say('LLaMA-Factory: twice the rank'),
  });
  section.take('lora_dropout', oft ? 'oft_target' : 'lora_target', 'additional_target', 'use_dora');
  const frozen = (name: string) => section.flagOrDefault(name);
  if (isMultimodal(context) && frozen('freeze_vision_tower') && frozen('freeze_multi_modal_projector'))
    draft.assume(
      'lora.exclude',
      TOWER_MODULES,
      say('LLaMA-Factory freezes parts of multimodal models (freeze_vision_tower and its like)'),
      `${SOURCE}model/model_utils/visual.py`,
      'lora_target',
    );
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

/** Vision tower and projector are frozen unless set otherwise; the language model is not (`model_utils/visual.py`). */
function frozenParts(section: Section, context: ReadContext): string[] | undefined {
  if (!isMultimodal(context)) return undefined;
  return trainedParts({
    language: section.flagOrDefault('freeze_language_model'),
    vision: section.flagOrDefault('freeze_vision_tower'),
    projector: section.flagOrDefault('freeze_multi_modal_projector'),
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
  // ORPO was a stage of its own until 0.8 (`hparams/finetuning_args.py`).
  const objective = {
    pt: 'lm',
    sft: 'lm',
    rm: 'reward',
    ppo: 'ppo',
    dpo: preference,
    kto: 'kto',
    orpo: 'orpo',
  } as const;
  const value = objective[(name ?? 'sft') as keyof typeof objective];
  if (value === undefined) return;
  section.state('method.objective', value, name === 'dpo' && loss ? loss : stage);
  // The value head stands beside the vocabulary's, whose logits are made in fp32 as well (TRL 0.9, `models/modeling_value_head.py`).
  if (name === 'rm')
    draft.bringByDefault('value-heads', say('logits of a reward model'), `${SOURCE}train/rm/trainer.py`);
  if (name === 'dpo' || name === 'kto' || name === 'orpo')
    draft.assume(
      'loss.implementation',
      'full-log-softmax',
      say('preferences take the log-softmax of all logits in fp32'),
      `${SOURCE}train/trainer_utils.py`,
    );
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
    section.take('galore_rank', 'galore_layerwise');
  } else if (apollo) {
    section.state('optimizer.name', 'apollo-adamw', apollo);
    section.take('apollo_rank', 'apollo_layerwise');
  } else if (mini) section.state('optimizer.name', 'adam-mini', mini);
  else if (muon) section.state('optimizer.name', 'muon', muon);
}

/** On unless it is switched off (`model/model_utils/checkpointing.py`). */
function readCheckpointing(section: Section, version: string | undefined): void {
  section.take('disable_gradient_checkpointing', 'use_reentrant_gc', 'use_unsloth_gc', 'use_unsloth');
  // The model that recomputes returns no keys and values; since 0.9.3 none that is trained does (`model/model_utils/kv_cache.py`).
  if (section.flag('disable_gradient_checkpointing') !== true || isAtLeast(version, '0.9.3') === true)
    section.assume('evaluation.keepsCache', factory(false, 'model/model_utils/checkpointing.py'));
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
  const adapters = section.textOrDefault('finetuning_type') === 'lora';
  const loaded = reading.compute === 'fp32' ? 'bf16' : reading.compute;
  const note = adapters
    ? say('the base model stays in the type that it is loaded in')
    : say('trained weights are upcast to fp32');
  draft.assume('precision.weights', adapters ? loaded : 'fp32', note, `${SOURCE}model/adapter.py`);
}

/** What PEFT's preparation leaves in fp32 where embedding and head are cast back: the norms (`prepare_model_for_training`). */
function readPreparation(section: Section): void {
  const norms = section.find('upcast_layernorm');
  section.take('upcast_layernorm');
  if (norms && flagOf(norms.node) === true) section.state('quantization.recast', true, norms);
}

function readQuantization(section: Section, draft: Draft): void {
  readPreparation(section);
  const bits = section.find('quantization_bit');
  const width = integerOf(bits?.node);
  if (!bits || width === undefined) return;
  const method = textOf(section.find('quantization_method')?.node)?.toLowerCase() ?? 'bnb';
  if (method === 'hqq' || method === 'eetq') {
    section.state('quantization.kind', method, bits);
    section.state('quantization.bits', width, bits);
    return;
  }
  // bitsandbytes has 4 and 8 bits (`model/model_utils/quantization.py`, `configure_quantization`); other methods are not known.
  const named = section.find('quantization_method');
  const odd = named && !/^(?:bnb|bitsandbytes)$/.test(method) ? named : undefined;
  if (odd || (width !== 4 && width !== 8))
    section.leave(odd ?? bits, ['quantization.kind', 'quantization.bits']);
  if (draft.hasLeft((odd ?? bits).node.range)) return;
  const fp4 = textOf(section.find('quantization_type')?.node)?.toLowerCase() === 'fp4';
  section.state('quantization.kind', width === 8 ? 'int8' : fp4 ? 'fp4' : 'nf4', bits);
  if (width !== 4) return;
  section.take('double_quantization');
  const compute = draft.valueOf('precision.compute');
  if (compute === 'bf16' || compute === 'fp16')
    section.assume('quantization.storage', {
      value: compute,
      note: say('LLaMA-Factory stores 4-bit weights in the type that it computes in'),
      source: `${SOURCE}model/model_utils/quantization.py`,
    });
}

function readPacking(section: Section): void {
  const neat = section.find('neat_packing');
  if (neat && flagOf(neat.node) === true) section.state('batch.packed', true, neat);
  const pretraining = section.text('stage') === 'pt';
  section.takeElse('packing', {
    ...factory(pretraining, 'hparams/parser.py'),
    note: pretraining ? say('LLaMA-Factory packs for `stage: pt`') : say('{0} default', 'LLaMA-Factory'),
  });
}
