import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import { callNames } from '../../config/python/python';
import type { PyArgument, PyCall, PyProgram, PyScalar, PyValue } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { taskOfClass } from '../../model/class-task';
import { findRepackaged } from '../../model/repackaged';
import type { FieldPath, FieldValue } from '../../run/fields';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import { SIZES } from '../config-overrides';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { attentionOf } from '../hf/attention';
import { readQuantization } from '../hf/model-arguments';
import { MODEL_ARGUMENTS_TABLE } from '../hf/model-arguments-keys';
import { readSkippedModules } from '../hf/skipped-modules';
import { readWeightsDtype, weightsDtypeOf } from '../hf/weights-dtype';
import { Section } from '../section';
import { askedOf } from './asked-of';
import { askingOf, askingOfClasses } from './asked-values';
import { refusesType } from './auto-classes';
import {
  argumentOf,
  argumentsOf,
  blockOfArguments,
  type Calls,
  leaveUndecided,
  openOf,
  sectionOf,
  standIn,
  withhold,
} from './call-block';
import { readCroppedImages } from './cropped-images';
import { downloadedAs } from './downloaded-folders';
import { readLabels } from './head-labels';
import { readImageTiles } from './image-tiles';
import { configOfMade, type MadeOf, makesModel, stateArchitecture } from './made-model';
import { chainOf, type ModelChain } from './model-chain';
import { readResizedImages } from './resized-images';
import { noteUnpacked } from './unpacked-type';

const LOADING =
  'https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained';

/** Heads that are estimated, by the end of the class's name; the others have other losses. */
const HEADS =
  /(ForCausalLM|ForMaskedLM|ForImageTextToText|ForVision2Seq|ForConditionalGeneration|ForSeq2SeqLM|ForMultimodalLM|LMHeadModel|CausalLMWithValueHead)$/;

/** Classes that make a model of its name's type, with the types whose head of that kind is read, and what it is trained for. */
const OF_TYPES: Readonly<Record<string, readonly [RegExp, FieldValue<'method.objective'>]>> = {
  AutoModelForImageClassification: [/^(?:vit|swin|convnext)$/, 'classification'],
  AutoModelForVideoClassification: [/^videomae$/, 'classification'],
  AutoModelForAudioClassification: [/^wav2vec2$/, 'classification'],
  AutoModelForVisualQuestionAnswering: [/^vilt$/, 'classification'],
  AutoModelForDocumentQuestionAnswering: [/^layoutlmv2$/, 'question-answering'],
  AutoModelForSemanticSegmentation: [/^segformer$/, 'segmentation'],
  AutoModelForObjectDetection: [/^detr$/, 'detection'],
  AutoModelForCTC: [/^wav2vec2$/, 'ctc'],
};

/** What a class trains its model for; of classes for all models, where the model is one whose head of that kind is read. */
function taskOf(kind: string, { model }: ReadContext): FieldValue<'method.objective'> | undefined {
  const of = Object.hasOwn(OF_TYPES, kind) ? OF_TYPES[kind] : undefined;
  if (!of) return taskOfClass(kind);
  const [types, task] = of;
  const type = model?.config?.model_type;
  return model === undefined || (typeof type === 'string' && types.test(type)) ? task : undefined;
}

/** Models that classify images of any size; ViT has a table of positions for one. */
const seesAnySize = ({ model }: ReadContext): boolean =>
  /^(?:swin|convnext)$/.test(String(model?.config?.model_type));

/** What a model that is not known may be, and have been made of. */
const OF_MODEL: readonly FieldPath[] = [
  'precision.weights',
  'quantization.kind',
  'quantization.prepared',
  'method.kind',
  'method.referenceModel',
  'lora.dtype',
];

/** Models of diffusion, which the code makes anew. */
const DIFFUSERS = /^diffusers\.(?:\w+\.)*[A-Z]\w*$/;

/** What loads such a model, or what holds one. */
const LOADS_DIFFUSION =
  /^diffusers\.(?:\w+\.)*(\w*(?:UNet|Transformer)\w*|\w+Pipeline\w*)\.from_(?:pretrained|config|single_file)$/;

/** Where no way leads to what trains and the code loads parts of a diffusion model, that trains, or something around it: an embedding, a control net. */
function refuseDiffusion({ program, draft }: Calls, { load, name }: ModelChain): boolean {
  const found = load || name ? undefined : program.calls.find(({ callee }) => LOADS_DIFFUSION.test(callee));
  const kind = found && LOADS_DIFFUSION.exec(found.callee)?.[1];
  if (!found || kind === undefined) return false;
  const words = say('Training around a diffusion model (`{0}`) is not estimated.', kind);
  draft.leave('refused', { range: found.calleeRange }, kind, words);
  withhold(draft, OF_MODEL);
  return true;
}

/** Classes of transformers, and modules of libraries beside it. */
const CLASSES = /^transformers\.(?:\w+\.)*[A-Z]\w*$/;
const MODULES =
  /^(?:timm|torchvision\.models|torch\.nn|torch\.hub|monai\.networks|segmentation_models_pytorch|torch_geometric\.nn)\.(?!\w*Loss$)/;
const LIGHTNING_MODULE = /^(?:pytorch_lightning|lightning(?:\.pytorch)?)\.(?:\w+\.)*LightningModule$/;

/** Whether a module of Lightning is made of layers of PyTorch alone: it holds some, and nothing that is loaded. */
function holdsLayers(program: PyProgram, { id }: PyCall): boolean {
  const held = [...(program.attributes.get(id)?.values() ?? [])];
  const isLayer = (value: PyValue) =>
    value.kind === 'object' && MODULES.test(program.calls[value.id]?.callee ?? '');
  return held.some(isLayer) && !held.some((value) => chainOf(program, value).load !== undefined);
}

/** Where the way of a model ends: at a class of transformers that no config of text is given, at a library's own model, or at a module of the file. */
function otherModel({ program }: Calls, { ids }: ModelChain): PyCall | undefined {
  const last = program.calls[[...ids].at(-1) ?? -1];
  if (!last || last.of !== undefined) return undefined;
  const isOwn = last.subclass !== undefined && /^\.|^torch\.nn\.(?:\w+\.)*Module$/.test(last.callee);
  const ownLayers = last.subclass !== undefined && LIGHTNING_MODULE.test(last.callee);
  if (ownLayers && holdsLayers(program, last)) return last;
  return isOwn || CLASSES.test(last.callee) || MODULES.test(last.callee) ? last : undefined;
}

function refusedModel({ callee, subclass }: PyCall): { readonly name: string; readonly words: string } {
  if (subclass !== undefined)
    return {
      name: subclass,
      words: say("`{0}`, a model of the code's own, trains here: that is not estimated.", subclass),
    };
  const name = callee.split('.').at(-1) ?? '';
  const library = MODULES.test(callee) ? callee.split('.')[0] : undefined;
  if (library === undefined) return { name, words: say('Runs of `{0}` are not estimated.', name) };
  return { name, words: say('{0} trains here: that is not estimated.', `\`${callee}\``) };
}

/** A class of the file that inherits from one of transformers' and loads the model where its way ends: what the class adds is not read. */
function ownClassAt({ classes }: PyProgram, lost: Range | undefined): string | undefined {
  if (!lost) return undefined;
  const own = classes.find(({ name, bases, methods }) => {
    const inherits = bases.some((base) => base.kind === 'name' && OWN_BASE.test(base.name));
    const lines = [...methods.values()][0]?.home.lines;
    if (!inherits || !lines) return false;
    const loads = [...lines.text.matchAll(new RegExp(`\\b${name}\\.from_pretrained\\b`, 'g'))];
    return loads.some(({ index }) => lines.range(index, index + 1).start.line === lost.start.line);
  });
  return own?.name;
}
const OWN_BASE = /^transformers\.(?:\w+\.)*\w+$/;

/** What loads a model, by the name of its class. */
const LOADS_MODEL = /^(?:transformers|diffusers)\.(?:\w+\.)*(?:\w*Model\w*|\w+For[A-Z]\w*)\.from_pretrained$/;

/** No way leads from the training to what loads its model. */
function reportUnseen({ program, draft }: Calls, range: Range): void {
  const words = program.calls.some(({ callee }) => LOADS_MODEL.test(callee))
    ? say('Oomlint does not see which of the models that the text loads is trained.')
    : say(
        'Oomlint does not see which model is trained: the text leads to no `from_pretrained` of a known library.',
      );
  draft.report('python-model-unknown', 'information', words, range);
}

/** What is known of how the model was loaded. */
export interface LoadedModel {
  /** Bits of the frozen weights, where they are quantized while loading. */
  readonly quantized?: 4 | 8;
  /** The model is read; false where no estimate can be given of it, which is stated. */
  readonly known: boolean;
  /** It is one that is not estimated, whatever else the file states. */
  readonly refused?: true;
}

/** States the model that is trained, how its weights are held, and its attention kernel. */
export function readModel(
  calls: Calls,
  chain: ModelChain,
  context: ReadContext,
  place: PyCall,
  config: PyCall | undefined,
): LoadedModel {
  const { draft } = calls;
  if (chain.name) return readNamedModel(calls, chain.name, context, place, config);
  const { load } = chain;
  const diffuses = [...chain.ids]
    .flatMap((id) => calls.program.calls[id] ?? [])
    .find(({ callee }) => DIFFUSERS.test(callee));
  const other = load ? undefined : (diffuses ?? otherModel(calls, chain));
  if (other) {
    const { name, words } = refusedModel(other);
    draft.leave('refused', { range: other.calleeRange }, name, words);
    withhold(draft, OF_MODEL);
    return { known: false, refused: true };
  }
  const own = load ? undefined : ownClassAt(calls.program, chain.lost);
  if (own !== undefined) {
    const words = say("`{0}`, a model of the code's own, trains here: that is not estimated.", own);
    draft.leave('refused', { range: chain.lost ?? place.range }, own, words);
    withhold(draft, OF_MODEL);
    return { known: false, refused: true };
  }
  if (refuseDiffusion(calls, chain)) return { known: false, refused: true };
  if (!load) {
    reportUnseen(calls, chain.lost ?? place.range);
    draft.asking = askingOfClasses(calls.program);
    withhold(draft, OF_MODEL);
    return { known: false };
  }
  const made = makesModel(load) ? configOfMade(calls, load) : undefined;
  if (made) return readMadeModel(calls, load, made, context);
  const [, kind = '', method = ''] = /(\w+)\.(\w+)$/.exec(load.callee) ?? [];
  const task = taskOf(kind, context);
  draft.asking = askingOf(kind);
  // How a model is placed is known whether it is estimated or not.
  readPlacement(calls, load, context);
  if (method !== 'from_pretrained' || (!HEADS.test(kind) && task === undefined)) {
    draft.leave(
      'refused',
      { range: load.calleeRange },
      `${kind}.${method}`,
      say('Runs of `{0}` are not estimated.', `${kind}.${method}`),
    );
    withhold(draft, OF_MODEL);
    return { known: false, refused: true };
  }
  stateModel(calls, load);
  inferClass(calls, load, kind);
  if (refusesType(calls, load, kind, context)) {
    withhold(draft, OF_MODEL);
    return { known: false, refused: true };
  }
  const section = sectionOf(calls, load, MODEL_ARGUMENTS_TABLE);
  if (task) readLabels(calls, load, task);
  if (task === 'detection') readResizedImages(calls, load);
  if (context.model?.config) readImageTiles(calls, context.model.config);
  if (/ForImageClassification$/.test(kind) && seesAnySize(context)) readCroppedImages(calls);
  const plan = argumentOf(load, 'tp_plan');
  if (plan && !isNone(plan)) draft.leaveUncounted(plan, 'tp_plan', ['parallel.tensor']);
  if (task) draft.infer('method.objective', task, `\`${kind}\``, { range: load.calleeRange });
  const quantized = readQuantizationConfig(calls, argumentOf(load, 'quantization_config'), section);
  readDtype(calls, section, context, quantized);
  leaveOpen(draft, load, section);
  takeAttention(calls, load, section);
  if (flagOf(section.find('use_flash_attention_2')?.node) === true) {
    const found = section.find('use_flash_attention_2');
    if (found) section.state('attention.implementation', 'flash2', found);
  }
  return { known: true, ...(quantized ? { quantized } : {}) };
}

/** The class that makes the model, where it is one of transformers for texts: of some models that also see it makes the text model alone. */
function inferClass({ draft }: Calls, load: PyCall, kind: string): void {
  if (!/^transformers\./.test(load.callee) || load.subclass !== undefined || !/ForCausalLM$/.test(kind))
    return;
  draft.infer('model.class', kind, `\`${kind}\``, { range: load.calleeRange });
}

/** `attn_implementation`, or the name that the config itself has for it. */
function takeAttention({ draft }: Calls, load: PyCall, section: Section): void {
  section.take('attn_implementation');
  const own = argumentOf(load, '_attn_implementation');
  const kernel = own && attentionOf(textOf(nodeOf(own)));
  if (kernel && !section.has(['attn_implementation']))
    draft.state('attention.implementation', kernel, own, '_attn_implementation');
}

/** `**` of what is not known may pass a type or a quantization: where none is named beside it, neither is known. */
function leaveOpen(draft: Calls['draft'], load: PyCall, section: Section): void {
  if (!load.open) return;
  const fields: FieldPath[] = [
    ...(section.has(['dtype', 'torch_dtype']) ? [] : (['precision.weights'] as const)),
    ...(argumentOf(load, 'quantization_config') || section.has(['load_in_4bit', 'load_in_8bit'])
      ? []
      : (['quantization.kind'] as const)),
  ];
  if (fields.length === 0) return;
  const { shown, words } = openOf(load);
  draft.leave(
    'value',
    { range: load.open },
    load.openBy === 'broken' ? shown : `${shown}dtype`,
    words,
    fields,
  );
  withhold(draft, fields);
}

/** Placements that spread a model over all GPUs that a process sees (Accelerate, `utils/modeling.py`, `get_balanced_memory`). */
const SPREADS = /^(?:auto|balanced|balanced_low_0|sequential)$/;

/** Whether a `device_map` is such a placement. */
export const spreadsModel = (map: PyValue | undefined): boolean =>
  map?.kind === 'scalar' && SPREADS.test(String(map.value));

/** The first release of TRL whose trainers load a model that they are given by its name with `device_map="auto"`, where one GPU trains (`trl/trainer/utils.py`, `create_model_from_path`). */
const PLACES_NAMED = '0.26';

/** Whether a `device_map` puts all of a model on a GPU. */
function isWholeOnGpu(map: PyValue): boolean {
  if (map.kind === 'scalar')
    return (
      typeof map.value === 'number' || /^(?:auto|balanced|sequential|cuda(?::\d+)?)$/.test(String(map.value))
    );
  if (map.kind !== 'dict' || map.open) return false;
  const [only] = map.entries;
  return map.entries.length === 1 && only?.key === '' && isWholeOnGpu(only.value);
}

/** Weights that are read right onto the GPU: no copy of them waits in host memory. */
function placeOnGpu({ draft }: Calls, map: PyValue, reason = '`device_map`'): void {
  if (isWholeOnGpu(map)) draft.infer('loading.placement', 'gpu', reason, map);
}

/** Whether a trainer of TRL loads what it is given by name right onto its GPU; undefined `model_init_kwargs` leave it to that. */
function placesNamed(trainer: PyCall, { versions, known }: ReadContext, draft: Calls['draft']): boolean {
  const version = versions?.trl?.version;
  const gpus = draft.valueOf('hardware.gpus') ?? known['hardware.gpus'];
  return (
    /^trl\./.test(trainer.callee) &&
    gpus === 1 &&
    (version === undefined || isAtLeast(version, PLACES_NAMED) !== false)
  );
}

function readPlacement(calls: Calls, load: PyCall, context: ReadContext): void {
  const map = argumentOf(load, 'device_map');
  if (map) placeOnGpu(calls, map);
  readSpread(calls, load, context);
}

/**
 * Where a process has several GPUs, such a model lies in parts on them, one after the other, and the Trainer replicates nothing (`trainer.py`,
 * `is_model_parallel`): what each holds is not estimated. Unsloth gives each process its own GPU where there are more
 * (`unsloth/models/loader_utils.py`, `prepare_device_map`): how many there are the launch decides.
 */
export function readSpread({ draft }: Calls, load: PyCall, { known }: ReadContext): void {
  const map = argumentOf(load, 'device_map');
  const count = draft.valueOf('hardware.gpus') ?? known['hardware.gpus'];
  if (!map || !spreadsModel(map) || count === 1) return;
  if (typeof count === 'number' && /(?:^|\.)Fast\w*Model\./.test(load.callee)) {
    const own = say(
      'Unsloth spreads the model over {0} GPUs where one process trains, and gives each process a GPU where several do: what each holds is not estimated.',
      String(count),
    );
    draft.leave('value', { range: map.range }, 'device_map', own, ['parallel.data', 'parallel.pipeline']);
    return;
  }
  draft.infer(
    'parallel.data',
    'none',
    say('`device_map` spreads the layers over the GPUs that the process sees'),
    map,
    'device_map',
  );
  if (typeof count !== 'number') return;
  draft.infer('parallel.pipeline', count, '`device_map`', map, 'device_map');
  const words = say(
    '`device_map` spreads the model over {0} GPUs: what each holds is not estimated.',
    String(count),
  );
  draft.leave('value', { range: map.range }, 'device_map', words, ['parallel.pipeline']);
}

/**
 * A model with new weights. Their type is that of the config where `from_config` makes it of a published one, else fp32
 * (`modeling_utils.py`, `_from_config`).
 */
function readMadeModel(calls: Calls, load: PyCall, made: MadeOf, context: ReadContext): LoadedModel {
  const byConfig = /\.from_config$/.test(load.callee);
  inferClass(calls, load, /(\w+?)(?:\.from_config)?$/.exec(load.callee)?.[1] ?? '');
  calls.draft.infer('loading.newWeights', true, `\`${load.callee}\``, { range: load.calleeRange });
  // Code of the checkpoint makes the model only where this call, too, trusts it.
  if (made.isNamed) stateModel(calls, made.call, undefined, load);
  else stateArchitecture(calls, made.call);
  const isType = ({ key }: { readonly key: string }) => /^(?:torch_)?dtype$/.test(key);
  // A type that the config is given is that of `from_config`.
  const ofConfig = byConfig && !load.named.some(isType) ? made.call.named.filter(isType) : [];
  const typed: PyCall = { ...load, named: [...load.named, ...ofConfig] };
  const stated = typed.named.some(isType);
  const automatic =
    byConfig && made.isNamed && !stated ? [standIn('torch_dtype', 'auto', load.calleeRange)] : [];
  const section = sectionOf(calls, typed, MODEL_ARGUMENTS_TABLE, automatic);
  if (byConfig && (stated || made.isNamed))
    readWeightsDtype(section, ['dtype', 'torch_dtype'], context, calls.draft);
  else calls.draft.assume('precision.weights', 'fp32', say('{0} default', 'PyTorch'), LOADING);
  section.take('attn_implementation');
  return { known: true };
}

/** A model that the trainer loads itself, with `model_init_kwargs` of its config and the quantization that it is given. */
function readNamedModel(
  calls: Calls,
  name: PyScalar,
  context: ReadContext,
  trainer: PyCall,
  config: PyCall | undefined,
): LoadedModel {
  const { draft } = calls;
  draft.state('model.id', String(name.value), name, 'model');
  // Trainers took it themselves before TRL 0.13.
  const words =
    (config && argumentOf(config, 'model_init_kwargs')) ?? argumentOf(trainer, 'model_init_kwargs');
  if (words && words.kind !== 'dict' && !isNone(words))
    draft.leave(
      'value',
      words,
      'model_init_kwargs',
      say('How the model is loaded is known only when the script runs.'),
      ['precision.weights', 'quantization.kind'],
    );
  const entries = words?.kind === 'dict' ? words.entries : [];
  readOtherSizes(draft, entries);
  const block = blockOfArguments(
    calls,
    entries,
    words?.range ?? trainer.argumentsRange,
    MODEL_ARGUMENTS_TABLE,
  );
  const section = new Section(block, draft, 'model_init_kwargs', MODEL_ARGUMENTS_TABLE);
  const given = argumentOf(trainer, 'quantization_config');
  const inside = entries.find(({ key }) => key === 'quantization_config')?.value;
  const quantized = readQuantizationConfig(calls, given ?? inside, section);
  const map = entries.find(({ key }) => key === 'device_map')?.value;
  if (map) placeOnGpu(calls, map);
  else if (placesNamed(trainer, context, draft))
    draft.infer(
      'loading.placement',
      'gpu',
      say('{0} puts a model that it loads itself on the GPU, where one trains', 'TRL'),
    );
  // What is left out here the trainer decides by its version.
  if (section.has(['dtype', 'torch_dtype'])) readDtype(calls, section, context, quantized);
  section.take('attn_implementation');
  return { known: true, ...(quantized ? { quantized } : {}) };
}

/** Sizes that are not those of the named model: known ones make its config anew, others another model that is not counted. */
function readOtherSizes(draft: Draft, given: readonly PyArgument[]): void {
  const sizes = given.filter(({ key, value }) => SIZES.test(key) && !isNone(value));
  const [first] = sizes;
  if (!first) return;
  const other = sizes.find(({ value }) => value.kind !== 'scalar' || typeof value.value !== 'number');
  if (!other) {
    const changes = sizes.flatMap(({ key, value }) =>
      value.kind === 'scalar' && typeof value.value === 'number' ? [[key, value.value] as const] : [],
    );
    draft.state('model.changes', Object.fromEntries(changes), { range: first.value.range }, first.key);
    return;
  }
  draft.leave(
    'value',
    { range: other.value.range },
    other.key,
    say('`{0}` makes another model than the one that is named, which is not counted.', other.key),
    ['model.config'],
  );
  draft.bring('model-of-the-script', nodeOf(other.value), other.key);
}

/** The name that `from_pretrained` is given. */
export function stateModel(
  { draft, program }: Calls,
  load: PyCall,
  key = 'pretrained_model_name_or_path',
  trusts: PyCall = load,
): void {
  const given = argumentOf(load, key, 0);
  const name = downloadedAs(program, load, given) ?? given;
  // What a name of another module stands for is not followed.
  const node = name && name.kind !== 'name' ? nodeOf(name) : undefined;
  const text = textOf(node);
  const call = callNames(program).get(load.id) ?? '';
  readOtherSizes(
    draft,
    /Config\.from_pretrained$/.test(load.callee) ? argumentsOf(program, load) : load.named,
  );
  const own = argumentOf(trusts, 'trust_remote_code');
  if (own && flagOf(knownNode(own)) === true)
    draft.state('model.ownCode', true, own, `${call}.trust_remote_code`);
  if (leaveUndecided(draft, key, name, ['model.id'])) return;
  if (node && text !== undefined && (node.kind !== 'scalar' || node.open === undefined))
    draft.state('model.id', text, node, `${call}.${key}`);
  else
    draft.report(
      'python-model-unknown',
      'information',
      say('Which model this loads is known only when the script runs.'),
      name?.range ?? load.range,
    );
}

/** `quantization_config=BitsAndBytesConfig(...)`, or the switches themselves. */
function readQuantizationConfig(
  calls: Calls,
  config: PyValue | undefined,
  section: Section,
): 4 | 8 | undefined {
  if (config === undefined || isNone(config)) return readBits(calls, section);
  const asked = askedOf(calls, config, 'get_quantization_config');
  if (asked) return readAsked(sectionOf(calls, asked, MODEL_ARGUMENTS_TABLE), calls.draft);
  const options: readonly PyValue[] = config.kind === 'either' ? config.options : [config];
  const object = options.find((option) => option.kind === 'object');
  const made = object?.kind === 'object' ? calls.program.calls[object.id] : undefined;
  const name = made?.callee.split('.').at(-1) ?? '';
  if (made && name === 'TorchAoConfig' && config.kind !== 'either' && readTorchAo(calls, made))
    return undefined;
  if (made && config.kind !== 'either' && isOfCheckpoint(calls.draft, name)) return undefined;
  if (made && config.kind === 'either' && Object.hasOwn(OF_TRANSFORMERS, name)) {
    const words = say(
      'Whether and how `{0}` stores the weights depends on a condition which the text does not settle.',
      name,
    );
    calls.draft.leave('value', { range: config.range }, `quantization_config=${name}`, words, [
      'quantization.kind',
    ]);
    return undefined;
  }
  if (!made || name !== 'BitsAndBytesConfig' || config.kind === 'either') {
    calls.draft.leave(
      'value',
      { range: config.range },
      `quantization_config=${name}`,
      say(
        'How `{0}` stores the weights is not known: that code is not read.',
        name === '' ? 'quantization_config' : name,
      ),
      ['quantization.kind'],
    );
    return undefined;
  }
  const stated = sectionOf(calls, made, MODEL_ARGUMENTS_TABLE);
  const bits = readBits(calls, stated, made);
  if (bits) readSkippedModules(stated, calls.draft);
  return bits;
}

/** Configs of quantization that are read where no condition decides about them. */
const OF_TRANSFORMERS: Readonly<Record<string, true>> = {
  BitsAndBytesConfig: true,
  GPTQConfig: true,
  AwqConfig: true,
  TorchAoConfig: true,
};

/** Configs of quantization by the kind of weights that they are of. */
const KINDS_OF_CONFIGS: Readonly<Record<string, string>> = {
  GPTQConfig: 'gptq',
  AwqConfig: 'awq',
  AqlmConfig: 'aqlm',
};

/**
 * Whether a checkpoint, as its name goes, is quantized as a config asks: what the load is given then changes how it is computed with, and
 * nothing is quantized anew (`quantizers/auto.py`, `merge_quantization_configs`).
 */
function isOfCheckpoint(draft: Draft, config: string): boolean {
  const name = draft.valueOf('model.id');
  const stored = typeof name === 'string' ? findRepackaged(name)?.values['quantization.kind'] : undefined;
  return (
    stored !== undefined && Object.hasOwn(KINDS_OF_CONFIGS, config) && KINDS_OF_CONFIGS[config] === stored
  );
}

/** Weights alone in so many bits (`torchao/quantization/quant_api.py`); older releases of transformers took their names. */
const WEIGHT_ONLY: readonly (readonly [RegExp, 'ao-int8' | 'ao-int4'])[] = [
  [/^(?:Int8WeightOnlyConfig|int8_weight_only)$/, 'ao-int8'],
  [/^(?:Int4WeightOnlyConfig|int4_weight_only)$/, 'ao-int4'],
];

/** `TorchAoConfig(Int8WeightOnlyConfig())`, where it asks for weights in a type that is known, and in groups of a size that is. */
function readTorchAo({ program, draft }: Calls, made: PyCall): boolean {
  const type = argumentOf(made, 'quant_type', 0);
  const inner = type?.kind === 'object' ? program.calls[type.id] : undefined;
  const name = inner?.callee.split('.').at(-1) ?? textOf(knownNode(type)) ?? '';
  const kind = WEIGHT_ONLY.find(([pattern]) => pattern.test(name))?.[1];
  const given = [...(inner?.named ?? []), ...(inner ? [] : made.named)].filter(
    ({ key }) => key !== 'quant_type',
  );
  const others = given.filter(({ key }) => key !== 'group_size');
  const [group] = given.filter(({ key }) => key === 'group_size');
  const size = group && integerOf(knownNode(group.value));
  const isKnown = inner === undefined || inner.positional.length === 0;
  if (!type || !kind || !isKnown || others.length > 0 || (group && size === undefined)) return false;
  draft.state('quantization.kind', kind, type, 'quant_type');
  if (group && size !== undefined && kind === 'ao-int4')
    draft.state('quantization.groupSize', size, group.value, 'group_size');
  return true;
}

/** What TRL's `ModelConfig` asks for: its `dtype` is what 4-bit weights are multiplied in, too (`trainer/utils.py`, `get_quantization_config`). */
function readAsked(section: Section, draft: Draft): 4 | 8 | undefined {
  readQuantization(section);
  if (section.flag('load_in_4bit') === true) {
    noteUnpacked(draft, section, undefined, ['dtype', 'torch_dtype']);
    return 4;
  }
  return section.flag('load_in_8bit') === true ? 8 : undefined;
}

/** `load_in_4bit` and `load_in_8bit`; the config's own type of 4 bits is fp4 unless set otherwise (`quantization_config.py`). */
function readBits({ draft }: Calls, section: Section, config?: PyCall): 4 | 8 | undefined {
  const [four, eight] = [section.find('load_in_4bit'), section.find('load_in_8bit')];
  if (four && flagOf(four.node) === true) {
    const type = section.find('bnb_4bit_quant_type');
    const nf4 = textOf(type?.node)?.toLowerCase() === 'nf4';
    section.state('quantization.kind', nf4 ? 'nf4' : 'fp4', type ?? four);
    const double = section.find(['bnb_4bit_use_double_quant', 'use_bnb_nested_quant']);
    if (double && flagOf(double.node) !== undefined)
      section.state('quantization.double', flagOf(double.node) === true, double);
    else
      section.assume('quantization.double', {
        value: false,
        note: say('{0} default', config ? 'BitsAndBytesConfig' : 'transformers'),
        source: LOADING,
      });
    section.take('bnb_4bit_quant_storage');
    noteUnpacked(draft, section, config);
    return 4;
  }
  if (!eight || flagOf(eight.node) !== true) return undefined;
  section.state('quantization.kind', 'int8', eight);
  return 8;
}

/** Beside quantized weights transformers 4 loads in fp16 what is set to nothing else (`quantizer_bnb_4bit.py`). */
function readDtype(calls: Calls, section: Section, context: ReadContext, quantized: 4 | 8 | undefined): void {
  const spelling = ['dtype', 'torch_dtype'];
  const stated = section.find(spelling);
  const fifth = isAtLeast(context.known['version.transformers'], '5.0') === true;
  if (quantized && !fifth && weightsDtypeOf(textOf(stated?.node)) === undefined && !stated) {
    calls.draft.assume(
      'precision.weights',
      'fp16',
      say('bitsandbytes in transformers 4: fp16 unless told otherwise'),
      LOADING,
      'dtype',
    );
    return;
  }
  readWeightsDtype(section, spelling, context, calls.draft);
}
