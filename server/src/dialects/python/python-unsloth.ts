import { isNone, isTrue, knownNode, nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, integerOf, numberOf, textOf } from '../../config/scalar';
import { allowedVersions, assumedRelease, pinOf, VERSION_FIELDS } from '../../environment/versions';
import { findAccelerator } from '../../hardware/catalog';
import { checkpointSize } from '../../model/quantized-checkpoints';
import { FIELD_PATHS, type FieldValue } from '../../run/fields';
import { fileIn, UNSLOTH, UNSLOTH_ZOO } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { adapterTask } from '../hf/task-type';
import type { TrainerDefaults } from '../hf/training-arguments';
import { weightsDtypeOf } from '../hf/weights-dtype';
import type { Section } from '../section';
import { adaptersInPlace } from './adapters-in-place';
import { argumentOf, type Calls, leaveArgument, leaveUndecided, variableOf, withhold } from './call-block';
import { adaptedByPeft, type ModelChain } from './model-chain';
import { type LoadedModel, readSpread, stateModel } from './python-model';
import { isAlone } from './python-surroundings';
import { installsRocm } from './rocm-installs';
import { buildsImages, builtSound, writesTextRows } from './sample-kinds';
import { longestNote } from './tokenized-length';
import { readUnslothAttention, readWideHeads } from './unsloth-attention';
import { readUnslothCheckpointing } from './unsloth-checkpointing';
import { isReplaced, loadsWhole, mappedCheckpoint, vllmTakes } from './unsloth-checkpoints';
import { readFastInference } from './unsloth-engine';
import { readPackedExperts } from './unsloth-experts';
import { leaveOtherFields } from './unsloth-fields';
import { type Batches, type LongestSample, longestSample } from './unsloth-length';
import { readCompiledMasks, readGroupedMasks } from './unsloth-masks';
import { hasMamba } from './unsloth-padding';
import { readUnslothTargets } from './unsloth-targets';

const LOADER = fileIn(UNSLOTH, 'unsloth/models/loader.py');
const BLOCKS = fileIn(UNSLOTH, 'unsloth/models/_block_compile.py');
const LLAMA = fileIn(UNSLOTH, 'unsloth/models/llama.py');
const LOSSES = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/loss_utils.py');

/** The loader of Unsloth that a model comes from; undefined where it comes from another library's. */
export function unslothLoad({ load }: ModelChain): PyCall | undefined {
  return load && /(^|\.)Fast\w*Model\.from_pretrained$/.test(load.callee) ? load : undefined;
}

/** Since this release Unsloth writes trainers and their configs anew (`rl.py`, `_patch_trl_rl_trainers`; 2025.2.5 leaves their defaults). */
const WRITES_TRAINERS = '2025.2.6';

/** Whether defaults of trainers are Unsloth's own, and not those of TRL and transformers. */
const writesTrainers = (release: string | undefined): boolean =>
  isAtLeast(release, WRITES_TRAINERS) !== false;

/**
 * What Unsloth's trainers take where their config leaves it out (`rl.py`); they compute in the type of the model. Undefined of releases that
 * leave them as TRL has them.
 */
export function unslothDefaults(
  calls: Pick<Calls, 'bf16'>,
  load: PyCall,
  { model, versions }: ReadContext,
): TrainerDefaults | undefined {
  const release = versions?.unsloth?.version;
  if (!writesTrainers(release)) return undefined;
  return {
    get note() {
      return say('{0} default', 'Unsloth');
    },
    source: fileIn(UNSLOTH, 'unsloth/models/rl.py'),
    micro: 4,
    accumulation: 2,
    checkpointing: false,
    compute: computeOf(calls, load, model?.config, release),
  };
}

/**
 * Versions that nobody names are the newest that the release of Unsloth takes (`Requires-Dist` of its wheel). Where all is installed without
 * what it requires, nothing keeps to that: of what is installed so it is the newest.
 */
function assumeRequired({ draft, installs = [] }: Calls, release: string | undefined): void {
  const alone = isAlone('unsloth', installs);
  for (const name of ['transformers', 'trl'] as const) {
    if (alone && isAlone(name, installs)) {
      draft.assume(
        VERSION_FIELDS[name],
        assumedRelease(name),
        say(
          'the newest {0} is installed, by `--no-deps` whatever Unsloth requires: {1} is assumed',
          name,
          assumedRelease(name),
        ),
      );
      continue;
    }
    const pin = pinOf('unsloth', name, release);
    const least = pin?.specifier.split(',').filter((bound) => /^(?:<|==)/.test(bound)) ?? [];
    // Older releases state nothing.
    if (!pin || least.length === 0 || isAtLeast(release, pin.release) === false) continue;
    const allowed = draft.knows(VERSION_FIELDS[name]) ? undefined : allowedVersions(name, pin);
    if (!allowed) continue;
    const [of, bounds] = [release ?? pin.release, `${name} ${least.join(',')}`];
    const note = alone
      ? say('{0} {1} is made for {2}, which `--no-deps` does not see to', 'Unsloth', of, bounds)
      : say('{0} {1} requires {2}', 'Unsloth', of, bounds);
    draft.assume(VERSION_FIELDS[name], allowed.newest, note);
  }
}

/** What Unsloth's configs have, and the Trainer's own arguments (`rl.py`). */
const EVALUATED = { own: 4, trainers: 8, accumulation: 2 };

/**
 * The batch of evaluation: where it is the Trainer's default, stated or not, that of training takes its place if that is smaller and whole
 * groups of completions fill it (`rl.py`, `eval_changes`). `plain`: the arguments are transformers' own, and not Unsloth's config.
 */
export function settleEvaluation(
  { draft }: Calls,
  section: Pick<Section, 'find' | 'integer'>,
  plain: boolean,
  release: string | undefined,
): void {
  if (!writesTrainers(release)) return;
  const key = 'per_device_eval_batch_size';
  const stated = section.find(key);
  const size = stated ? integerOf(stated.node) : plain ? EVALUATED.trainers : EVALUATED.own;
  const micro = draft.valueOf('batch.micro');
  const source = fileIn(UNSLOTH, 'unsloth/models/rl.py');
  const note = say('{0} default', 'Unsloth');
  const group = section.integer('num_generations_eval') ?? section.integer('num_generations') ?? 1;
  if (size === EVALUATED.trainers && typeof micro === 'number' && micro < size && micro % group === 0) {
    draft.forget('evaluation.batch');
    draft.infer(
      'evaluation.batch',
      micro,
      say('Unsloth evaluates by batches of training'),
      stated?.node,
      key,
    );
  } else if (!stated && size !== undefined) {
    draft.forget('evaluation.batch');
    draft.assume('evaluation.batch', size, plain ? say('default of the Trainer') : note, source, key);
  }
  if (section.find('eval_accumulation_steps')) return;
  const steps = plain ? draft.valueOf('batch.accumulation') : EVALUATED.accumulation;
  if (typeof steps === 'number') {
    draft.forget('evaluation.accumulation');
    draft.assume('evaluation.accumulation', steps, note, source, 'eval_accumulation_steps');
  }
}

type ModelConfig = Readonly<Record<string, unknown>>;

/** Types of models whose layers Unsloth writes itself (`loader.py`, `FastLanguageModel.from_pretrained`). */
const WRITTEN = /^(llama|mistral|gemma|gemma2|qwen2|qwen3)$/;

/** Whether Unsloth's kernels take the place of the model's layers. All other models keep their own, and are compiled. */
export function hasKernels(load: PyCall, config: ModelConfig | undefined): boolean {
  const type = config?.model_type;
  if (!/FastLanguageModel\./.test(load.callee)) return false;
  // These it hands to `FastModel`.
  const handed = ['full_finetuning', 'load_in_8bit'].some(
    (key) => flagOf(knownNode(argumentOf(load, key))) === true,
  );
  if (handed) return false;
  return typeof type !== 'string' || WRITTEN.test(type);
}

/**
 * Types whose loss the patterns of `apply_fused_lm_head` did not find before this release (`unsloth_zoo/compiler.py`, tried on
 * transformers 4.56.2: 2025.3.17 to 2026.9.9 do not, 2026.10.3 does). The class makes all logits then, and Unsloth's kernel stands in the
 * place of the loss that it calls (`loss_utils.py`, `UnslothForCausalLMLoss`).
 */
const OWN_LOSS = /^(granitemoe\w*|falcon_h1)$/;
const FUSED = '2026.10.3';
/** Its layers are left to their parts (`_block_compile.py`, `_SKIP`). */
const SKIPPED = 'gpt_oss';
const IMAGES = /(^|\.)(UnslothVisionDataCollator|DataCollatorForVision\w*)$/;

/**
 * Why Unsloth compiles no layer of a model (`loader.py`, `UNSLOTH_COMPILE_DISABLE`): by its type, by its name (`DISABLE_COMPILE_MODEL_NAMES`),
 * T5's with transformers 4, Gemma 3 on AMD's cards for games (`is_rdna`), or because a variable of the environment has it so.
 */
function compilesNothing(
  { program }: Calls,
  load: PyCall,
  config: ModelConfig | undefined,
  known: ReadContext['known'],
): string | undefined {
  const variable = 'UNSLOTH_COMPILE_DISABLE';
  if (/^(?:1|partial)$/.test(variableOf(program, variable) ?? ''))
    return say('`{0}` is set: Unsloth compiles no layer', variable);
  const type = String(config?.model_type ?? '');
  const name = textOf(knownNode(argumentOf(load, 'model_name', 0)))?.toLowerCase() ?? '';
  const gpu = known['hardware.gpu'];
  const card = typeof gpu === 'string' ? findAccelerator(gpu) : undefined;
  const isOff =
    type === 'csm' ||
    /aya_vision|modernbert/.test(name) ||
    (/^(?:u?m?t5)$/.test(type) && isAtLeast(known['version.transformers'], '5') === false) ||
    (/^gemma3(?:_text)?$/.test(type) && card?.vendor === 'AMD' && /\b(?:RX|PRO W)/.test(card.name));
  return isOff ? say('Unsloth compiles no layer of this model') : undefined;
}

/** Since this release a layer is compiled as a whole (`_block_compile.py`; 2026.10.5 has it not). */
const COMPILES_LAYERS = '2026.10.6';

/**
 * Each layer of the decoder is compiled as one region, 4-bit products and LoRA branches with it, and a checkpoint runs around it
 * (`_block_compile.py`, 2026.10.9; its parts by themselves in releases before). Towers, what is not checkpointed as a whole, and what is
 * forced to fp32 (`_forced_float32`) are compiled in parts whose cuts are not known; texts alone reach no tower. What such parts keep
 * lies between operators one by one and whole layers, but for kernels of layers with a state, and towers for sound that are not played.
 */
function readCompiled(
  calls: Calls,
  load: PyCall,
  config: ModelConfig | undefined,
  trainer: PyCall,
  { known, versions }: ReadContext,
): void {
  const { draft, program } = calls;
  const release = versions?.unsloth?.version;
  const type = String(config?.model_type ?? '');
  const hasTowers = config?.vision_config !== undefined || config?.audio_config !== undefined;
  const texts = readsTexts(calls, load, trainer, hasTowers);
  const sound = config?.audio_config !== undefined && !texts ? builtSound(program, trainer) : undefined;
  if (sound) readSound(draft, sound);
  if (hasTowers && !texts && sound?.images !== false) readImageSize(calls, config);
  const off = compilesNothing(calls, load, config, known);
  if (off !== undefined) {
    draft.assume('kernels.uncompiled', true, off, LOADER);
    return;
  }
  // How its layers are compiled hangs on them.
  if (config === undefined) return;
  const inOne =
    isAtLeast(release, COMPILES_LAYERS) !== false &&
    (!hasTowers || texts) &&
    // What keeps a state is left as it is (`_block_compile.py`, `_is_ssm_layer`).
    !hasMamba(config) &&
    type !== SKIPPED &&
    !isForced(calls, load, config) &&
    draft.valueOf('activations.checkpointing') === 'full';
  if (inOne) {
    draft.assume('kernels.compile', true, say('Unsloth compiles the layers of this model'), BLOCKS);
    return;
  }
  draft.assume(
    'kernels.compileParts',
    true,
    say('Unsloth compiles parts of the layers of this model'),
    BLOCKS,
  );
  const unknownState = hasMamba(config) ? unknownStates(load, type) : undefined;
  if (unknownState !== undefined) {
    draft.leave('script', { range: load.calleeRange }, type, unknownState);
    return;
  }
  const bounded =
    config !== undefined &&
    (texts ||
      config.audio_config === undefined ||
      (sound !== undefined && HEARD.test(type)) ||
      buildsImages(program, trainer));
  if (!bounded)
    draft.leave(
      'script',
      { range: load.calleeRange },
      load.callee.split('.').at(-2) ?? '',
      say('Unsloth compiles models of this kind itself: what that saves is not counted.'),
    );
}

/** Whether samples are texts alone, which reach no tower. */
function readsTexts({ draft, program }: Calls, load: PyCall, trainer: PyCall, hasTowers: boolean): boolean {
  const named =
    !/FastVisionModel\./.test(load.callee) &&
    !program.calls.some(({ callee }) => IMAGES.test(callee)) &&
    [trainer, ...program.calls.filter(({ callee }) => /SFTConfig$/.test(callee))].some(
      (call) => (textOf(knownNode(argumentOf(call, 'dataset_text_field'))) ?? '') !== '',
    );
  const written =
    !named && /(GRPO|DPO|KTO|ORPO|CPO)Trainer$/.test(trainer.callee) && writesTextRows(program, trainer);
  if (hasTowers && (named || written))
    draft.infer(
      'batch.images',
      0,
      named
        ? say('`{0}` names texts', 'dataset_text_field')
        : say('the samples are written here, and hold texts alone'),
      undefined,
    );
  return named || written;
}

/**
 * What these do with sound is played: one linear layer (Gemma 4 12B), or a Conformer, whose parts are compiled by themselves (`compiler.py`), and
 * which no checkpoint is set around: its loops are not of the form that `patch_gradient_checkpointing` looks for.
 */
const HEARD = /^gemma(4_unified|4|3n)$/;

function readSound(draft: Calls['draft'], { images }: { readonly images: boolean }): void {
  draft.infer('batch.sound', true, say('the samples are built here, and hold sound'), undefined);
  if (!images) draft.infer('batch.images', 0, say('the samples are built here, without images'), undefined);
}

/**
 * Why it is not known how layers that keep a state compute. Unsloth leaves transformers' own out of what it compiles (`compiler.py`,
 * `compile_mamba_ssm`), as it leaves the layers themselves (`_block_compile.py`, `_is_ssm_layer`), and changes nothing of code that comes
 * with a model. That of Nemotron-H runs the same kernel of a mixer, in the same order (`NemotronHMamba2Mixer.cuda_kernels_forward`), and its
 * experts as transformers 4 does (`NemotronHMOE.moe`).
 */
function unknownStates(load: PyCall, type: string): string | undefined {
  return bringsCode(load) && type !== NEMOTRON
    ? say('The code that comes with the model may compute otherwise: it is not read.')
    : undefined;
}

const NEMOTRON = 'nemotron_h';
/**
 * Code of checkpoints that computes the loss itself, by types: `self.lm_head(hidden_states).float()`, shifted into a new tensor
 * (`NemotronHForCausalLM.forward`, `PaddleOCRVLForConditionalGeneration.forward`). Unsloth rewrites transformers' own modules alone
 * (`compiler.py`, `unsloth_compile_transformers`: what `transformers.models` has not is left).
 */
const OWN_LOSS_CODE: Readonly<Record<string, string>> = {
  [NEMOTRON]:
    'https://huggingface.co/nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16/blob/2d59de1cbd51c0adf384eb906b766d1aee0e0517/modeling_nemotron_h.py',
  paddleocr_vl: fileIn(UNSLOTH_ZOO, 'unsloth_zoo/compiler.py'),
};

const bringsCode = (load: PyCall) => flagOf(knownNode(argumentOf(load, 'trust_remote_code'))) === true;

/** Where a model's config names no size of images (`UnslothVisionDataCollator.__init__`). Pixels of a side. */
const SIDE = 512;

/**
 * Unsloth's collator scales images down to so many pixels of width, those of the model's config, of its own or of its call, or to one size
 * (`vision_utils.py`, `_resize_images_inplace`); taken are square ones.
 */
function readImageSize({ draft, program }: Calls, config: ModelConfig | undefined): void {
  const collator = program.calls.find(({ callee }) => /(^|\.)UnslothVisionDataCollator$/.test(callee));
  if (!collator) return;
  const resize = argumentOf(collator, 'resize', RESIZE_PLACE);
  const word = textOf(knownNode(resize));
  if (resize && word !== 'min') {
    if (word !== 'max') readResize(draft, resize, argumentOf(collator, 'resize_dimension'));
    return;
  }
  const tower = config?.vision_config as ModelConfig | undefined;
  const side = typeof tower?.image_size === 'number' ? tower.image_size : SIDE;
  const own = draft.valueOf('batch.imagePixels');
  if (typeof own === 'number' && own <= side ** 2) return;
  draft.forget('batch.imagePixels');
  draft.assume('batch.imagePixels', side ** 2, scaledWords(side), COLLATOR);
}

const COLLATOR = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/vision_utils.py');
/** Place of `resize` among the arguments of the collator. */
const RESIZE_PLACE = 4;

const scaledWords = (side: number) =>
  say('Unsloth scales images down to {0} pixels of width; square ones are taken', String(side));

/** A size that the call of the collator states: a number bounds images, a pair is what each of them gets. */
function readResize(draft: Calls['draft'], resize: PyValue, along: PyValue | undefined): void {
  const node = knownNode(resize);
  const side = numberOf(node);
  const pair = node?.kind === 'list' ? node.items.map((item) => numberOf(item)) : [];
  const [width, height] = pair.length === 2 ? pair : [];
  const own = draft.valueOf('batch.imagePixels');
  if (side !== undefined && typeof own === 'number' && own <= side ** 2) return;
  draft.forget('batch.imagePixels');
  if (width !== undefined && height !== undefined)
    draft.infer(
      'batch.imagePixels',
      width * height,
      say('Unsloth scales each image to {0} × {1} pixels', String(width), String(height)),
      node,
      'resize',
    );
  else if (side !== undefined)
    draft.infer(
      'batch.imagePixels',
      side ** 2,
      along
        ? say('Unsloth scales images down to {0} pixels of one side; square ones are taken', String(side))
        : scaledWords(side),
      node,
      'resize',
    );
  else
    draft.leave('value', resize, 'resize', say('To which size images are scaled here is not read.'), [
      'batch.imagePixels',
    ]);
}

/** Text diffusion, by types and names of checkpoints (`diffusion.py`, `DIFFUSION_MODEL_TYPES`). */
const DIFFUSES = /diffusion[-_]?gemma/i;

/** What a model of diffusion is loaded with, adapted with and trained by is code of its own (`FastDiffusionModel`), of which nothing is known here. */
function leaveDiffusion({ draft }: Calls, load: PyCall): void {
  const name = load.callee.split('.').at(-2) ?? '';
  draft.leave(
    'refused',
    { range: load.calleeRange },
    name,
    say('Unsloth trains models of text diffusion by code of its own: that is not estimated.'),
    OF_DIFFUSION,
  );
  withhold(draft, OF_DIFFUSION);
}

const OF_DIFFUSION = FIELD_PATHS.filter((field) =>
  /^(method|lora|quantization|precision|attention|activations|loss|kernels|batch|loading|optimizer|evaluation)\./.test(
    field,
  ),
);

/** States what `FastLanguageModel.from_pretrained` and `get_peft_model` are passed, and what Unsloth does where they say nothing. */
export function readUnsloth(
  calls: Calls,
  load: PyCall,
  chain: ModelChain,
  trainer: PyCall,
  context: ReadContext,
): LoadedModel {
  const { draft } = calls;
  const config: ModelConfig | undefined = context.model?.config;
  assumeRequired(calls, context.versions?.unsloth?.version);
  stateModel(calls, load, 'model_name');
  if (DIFFUSES.test(String(config?.model_type ?? textOf(knownNode(argumentOf(load, 'model_name', 0)))))) {
    leaveDiffusion(calls, load);
    return { known: true };
  }
  readAutoModel(calls, load);
  const name = textOf(knownNode(argumentOf(load, 'model_name', 0))) ?? '';
  draft.assume('kernels.unsloth', true, say('the model is loaded by Unsloth'), LOADER);
  // Its own is "sequential", by which weights go right onto the GPU.
  if (argumentOf(load, 'device_map') === undefined)
    draft.assume('loading.placement', 'gpu', say('{0} default', 'Unsloth'), LOADER, 'device_map');
  readSpread(calls, load, context);
  readFastInference(calls, load, context, trainer);
  readEmbeddingPlace(calls, load, trainer, context.versions?.unsloth?.version);
  const full = trainsAll(load);
  const quantized = full ? undefined : readStorage(calls, load);
  if (quantized === 4) readCheckpoint(calls, load, name, context.versions?.unsloth?.version);
  if (quantized === 4) readPackedExperts(calls, load, config, context);
  leaveUncounted(calls, load);
  if (quantized && !hasKernels(load, config)) readPlainParts(draft, name, config, context);
  if (GPT_OSS.test(name)) {
    const transformers = context.known['version.transformers'];
    const own = !/bf16/i.test(name) || isAtLeast(transformers, '5') !== false;
    readGptOss(calls, load, name, quantized === 4 ? 'linear' : own ? 'own' : 'stacked');
  }
  if (!draft.knows('attention.implementation'))
    readUnslothAttention(calls, load, context, hasKernels(load, config));
  readCompiledMasks(calls, load, hasKernels(load, config), context);
  readGroupedMasks(calls, isForced(calls, load, config), context);
  if (!isForced(calls, load, config)) readWideHeads(calls, context);
  readType(calls, load, config);
  if (!full && !adaptedByPeft(chain)) readUnslothAdapters(calls, load, chain, trainer, context);
  else draft.assume('method.kind', 'full', say('`full_finetuning` is on'), LOADER);
  // Its own `get_peft_model` turns checkpointing on.
  if (!adaptedByPeft(chain)) {
    const release = context.versions?.unsloth?.version;
    readUnslothCheckpointing(calls, { load, chain, trainer, release, kernels: hasKernels(load, config) });
  }
  readAllocator(calls, context);
  if (!hasKernels(load, config)) readCompiled(calls, load, config, trainer, context);
  return { known: true, ...(quantized ? { quantized } : {}) };
}

/**
 * Unsloth sets expandable segments as it is imported, since 2024.4 (`unsloth/__init__.py`; `unsloth_zoo/__init__.py` since 2025.11). Not for
 * PyTorch before 2.2, not where a script sets the allocator itself or vLLM is to sleep, and not for AMD's cards since 2026.3; releases from there to 2026.7.5 set a variable
 * that PyTorch reads from 2.10 on.
 */
function readAllocator({ draft, program, installs }: Calls, { known, versions }: ReadContext): void {
  const release = versions?.unsloth?.version;
  const torch = known['version.torch'];
  const gpu = known['hardware.gpu'];
  const settled = program.environment.some(
    ({ key, value }) =>
      /^PYTORCH_(CUDA_)?ALLOC_CONF$/.test(key) ||
      (key === 'UNSLOTH_VLLM_STANDBY' && value.kind === 'scalar' && String(value.value) !== '0'),
  );
  const old = isAtLeast(release, '2024.4') === false || isAtLeast(torch, '2.2') === false;
  const misnamed = isAtLeast(release, '2026.3.1') === true && isAtLeast(release, '2026.7.6') === false;
  const unread = misnamed && isAtLeast(torch, '2.9') === true && isAtLeast(torch, '2.10') === false;
  if (settled || old || unread) return;
  // What the cells install tells where nobody names the card (`IS_TORCH_ROCM_BUILD`).
  const ofAmd = typeof gpu === 'string' ? findAccelerator(gpu)?.vendor === 'AMD' : installsRocm({ installs });
  if (ofAmd) return;
  draft.assume(
    'allocator.expandableSegments',
    true,
    say('Unsloth sets expandable segments'),
    fileIn(UNSLOTH_ZOO, 'unsloth_zoo/__init__.py'),
  );
}

const GPT_OSS = /gpt[-_]?oss/i;

/**
 * In 4 bits each expert of gpt-oss is made of linear layers of its own (`GptOssExpertsBnb4bit`). A checkpoint in 16 bits keeps the experts
 * of transformers before 5, which run one after the other and are compiled nowhere (`patch_gpt_oss_moe_for_lora` does nothing there;
 * `compiler.py`, `DISABLE_COMPILE_MODULES`); since 5, and in MXFP4, they have kernels of their own. Flexible attention takes the sinks
 * (`patch_GptOssAttention`).
 */
function readGptOss(
  { draft }: Calls,
  load: PyCall,
  name: string,
  experts: 'linear' | 'stacked' | 'own',
): void {
  if (experts === 'own') {
    draft.leave(
      'value',
      { range: load.calleeRange },
      name,
      say('Unsloth runs `{0}` by kernels of its own: that is not estimated.', name),
      ['activations.checkpointing'],
    );
    return;
  }
  const source = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/gpt_oss.py');
  draft.assume('attention.implementation', 'flex', say('{0} default', 'Unsloth'), source);
  if (experts === 'linear')
    draft.assume(
      'model.linearExperts',
      true,
      say('Unsloth makes each expert of linear layers, which are quantized'),
      source,
    );
}

/** Towers are left in 16 bits since this release; projectors were before (`unsloth_zoo/peft_utils.py`, `SKIP_QUANTIZATION_MODULES`). */
const PLAIN_TOWERS = '2026.2.1';
/** `mamba` is among them since this release (2025.6.1 has it not). */
const PLAIN_MAMBA = '2025.7.1';

/**
 * Parts that are not quantized: of a copy that is already, as it was made, else those that Unsloth leaves out. What lies within a layer
 * transformers finds before 5 alone, which looks for such names anywhere in a path (4.56.2, `integrations/bitsandbytes.py`,
 * `_replace_with_bnb_linear`; 5.23, `quantizers_utils.py`, `should_convert_module`: at either end).
 */
function readPlainParts(
  draft: Calls['draft'],
  name: string,
  config: ModelConfig | undefined,
  { known, versions }: ReadContext,
): void {
  const release = versions?.unsloth?.version;
  const source = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/peft_utils.py');
  if (config && !config.vision_config && !config.audio_config) {
    const within = isAtLeast(known['version.transformers'], '5') === false;
    if (within && hasMamba(config) && !loadsWhole(name) && isAtLeast(release, PLAIN_MAMBA) !== false)
      draft.assume(
        'quantization.skippedParts',
        ['mamba'],
        say('Unsloth quantizes nothing of these names'),
        source,
      );
    return;
  }
  const towers = ['audio_tower', 'vision_tower', 'visual', 'vision_embedder'];
  const whole = loadsWhole(name);
  draft.assume(
    'quantization.skippedParts',
    ['multi_modal_projector', ...(whole || isAtLeast(release, PLAIN_TOWERS) === false ? [] : towers)],
    whole
      ? say('the copy that is loaded was quantized before it was published, its towers too')
      : say('Unsloth leaves parts of these names in 16 bits'),
    source,
  );
}

/** `auto_model=AutoModelForSequenceClassification`: the class that makes the model, and so what it is trained for. */
function readAutoModel({ draft }: Calls, load: PyCall): void {
  const given = argumentOf(load, 'auto_model');
  if (given?.kind !== 'name') return;
  const name = given.name.split('.').at(-1) ?? '';
  if (/ForSequenceClassification$/.test(name))
    draft.infer('method.objective', 'classification', `\`${name}\``, { range: given.range });
  else if (
    !/For(?:CausalLM|ImageTextToText|Vision2Seq|ConditionalGeneration|MaskedLM|SpeechSeq2Seq)$|^CsmFor/.test(
      name,
    )
  )
    draft.leave('refused', { range: given.range }, name, say('Runs of `{0}` are not estimated.', name));
}

/** 4 bits with double quantization unless set otherwise; nothing is upcast before training but what is trained. */
function readStorage(calls: Calls, load: PyCall): 4 | 8 | undefined {
  const { draft } = calls;
  const at = (name: string, place?: number) => ({ name, value: argumentOf(load, name, place) });
  const four = at('load_in_4bit', 3);
  const others = [at('load_in_8bit'), at('load_in_16bit'), at('load_in_fp8')];
  const undecided = [four, ...others].filter(({ name, value }) =>
    leaveUndecided(draft, name, value, ['quantization.kind']),
  );
  if (undecided.length > 0) return undefined;
  // `load_in_fp8` may be "block", too: the scales that the checkpoint has (`loader_utils.py`).
  const isOn = (value: PyValue | undefined) => {
    const node = knownNode(value);
    return flagOf(node) === true || textOf(node) === 'block';
  };
  const other = others.find(({ value }) => isOn(value));
  if (other?.value && other.name !== 'load_in_16bit') {
    const int8 = other.name === 'load_in_8bit';
    draft.state('quantization.kind', int8 ? 'int8' : 'fp8', other.value, other.name);
    return int8 ? 8 : undefined;
  }
  if (other) return undefined;
  if (four.value && knownNode(four.value) === undefined) {
    draft.leave(
      'value',
      four.value,
      four.name,
      say('How `{0}` stores the weights is not known: that code is not read.', four.name),
      ['quantization.kind'],
    );
    return undefined;
  }
  if (four.value && flagOf(knownNode(four.value)) !== true) {
    draft.assume('quantization.kind', 'none', say('`{0}` is off', four.name), LOADER, four.name);
    return undefined;
  }
  if (four.value) draft.state('quantization.kind', 'nf4', four.value, four.name);
  else draft.assume('quantization.kind', 'nf4', say('{0} default', 'Unsloth'), LOADER, 'load_in_4bit');
  draft.assume('quantization.double', true, say('{0} default', 'Unsloth'), LLAMA);
  draft.assume('quantization.prepared', false, say('Unsloth upcasts only what is trained'), LLAMA);
  return 4;
}

const VLLM_TAKES = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/vllm_utils.py');

/**
 * In 4 bits Unsloth loads a checkpoint of its own for many names (`loader_utils.py`, `get_model_name`): quantized already, with some of its
 * layers in 16 bits.
 */
function readCheckpoint({ draft }: Calls, load: PyCall, name: string, release: string | undefined): void {
  if (flagOf(knownNode(argumentOf(load, 'use_exact_model_name'))) === true) return;
  const source = fileIn(UNSLOTH, 'unsloth/models/loader_utils.py');
  if (isReplaced(name)) {
    draft.assume(
      'quantization.partial',
      false,
      say('Unsloth loads a checkpoint of this model that is quantized as a whole'),
      source,
    );
    return;
  }
  const checkpoint = mappedCheckpoint(name, release);
  if (checkpoint === undefined) return;
  const generates = flagOf(knownNode(argumentOf(load, 'fast_inference'))) === true;
  const taken = generates ? vllmTakes(checkpoint) : true;
  if (taken === false) {
    const whole = say('vLLM cannot take `{0}`: Unsloth loads the model quantized as a whole', checkpoint);
    draft.assume('quantization.partial', false, whole, VLLM_TAKES);
    return;
  }
  if (taken === undefined) {
    const open = say(
      'Unsloth loads `{0}`, which keeps some of its layers in 16 bits, or all of them in 4 bits where vLLM cannot take that',
      checkpoint,
    );
    draft.assume('quantization.partial', true, open, VLLM_TAKES);
    return;
  }
  const note = say('Unsloth loads `{0}`, which keeps some of its layers in 16 bits', checkpoint);
  draft.assume('quantization.partial', true, note, source);
  const size = checkpointSize(checkpoint);
  if (size)
    draft.assume(
      'quantization.checkpointBytes',
      size.bytes,
      say('the files of `{0}`', checkpoint),
      size.source,
    );
}

const trainsAll = (load: PyCall) => flagOf(knownNode(argumentOf(load, 'full_finetuning'))) === true;

/** Architectures whose activations exceed fp16's range (`model_lists.py`, `FORCE_FLOAT32`), as their checkpoints are called. */
const FORCED =
  /gemma-?[34]|gemma3n|medgemma|embedding-?gemma|function-?gemma|translategemma|t5gemma-2|gpt[-_]?oss|qwen-?3[._]5|qwen-?3(?:-coder)?-\d+b-a\d+b|(?:qwen-?3|glm-?4)[-_]moe|glm-?4\.[5-9]/i;
/** The same by the types of a model and of its parts, with what stands between two of them (`loader.py`, `model_types_all`). */
const FORCED_TYPES =
  /embedding_gemma2|gemma3,|gemma3_?text|gemma3n|gemma4|glm4_moe|gpt_oss|qwen3_5|qwen3_moe/;

/** Types of a model and of its parts, each with a comma behind it. */
function typesOf(config: ModelConfig | undefined): string {
  const parts = Object.values(config ?? {}).filter((part) => typeof part === 'object' && part !== null);
  return [config, ...(parts as ModelConfig[])].map((part) => `${part?.model_type ?? ''},`).join('');
}

/** Whether a model is trained without autocast, its residuals in fp32, because the GPU has no bf16. */
function isForced({ bf16 }: Pick<Calls, 'bf16'>, load: PyCall, config: ModelConfig | undefined): boolean {
  const name = textOf(knownNode(argumentOf(load, 'model_name', 0))) ?? '';
  return bf16 === false && (FORCED.test(name) || FORCED_TYPES.test(typesOf(config)));
}

/** The type that a loader is asked for: fp16 in place of bf16 where the GPU has none (`loader.py`, `vision.py`: "Will change to float16"). */
const askedType = ({ bf16 }: Pick<Calls, 'bf16'>, load: PyCall) => {
  const value = argumentOf(load, 'dtype', 2);
  const asked = weightsDtypeOf(textOf(value && nodeOf(value, { bf16 })));
  return asked === 'bf16' && bf16 === false ? 'fp16' : asked;
};

/**
 * All weights in bf16, or a model that fp16 cannot hold, are trained without autocast, whatever the arguments say (`rl.py`). Weights that
 * are loaded in fp32, or made fp32 of fp16, are the masters of mixed precision (`training_utils.py`, `prepare_model_for_training`).
 */
function isNative({ bf16 }: Pick<Calls, 'bf16'>, load: PyCall, config: ModelConfig | undefined): boolean {
  const mixed = flagOf(knownNode(argumentOf(load, 'float32_mixed_precision'))) === true;
  const wide = /^fp(?:32|16)$/.test(askedType({ bf16 }, load) ?? '');
  return isForced({ bf16 }, load, config) || (trainsAll(load) && bf16 !== false && !mixed && !wide);
}

/** Since this release a model that is asked for in fp32 stays in it where the GPU has no bf16 (`_unsloth_user_float32`). */
const KEEPS_FLOAT32 = '2026.8.10';

/** What a trainer computes in whose arguments turn no mixed precision on (`rl.py`, `mixed_precision_dtype`). */
function computeOf(
  { bf16 }: Pick<Calls, 'bf16'>,
  load: PyCall,
  config: ModelConfig | undefined,
  release: string | undefined,
): 'fp32' | 'bf16' | 'fp16' {
  if (isNative({ bf16 }, load, config)) return 'fp32';
  const asked = askedType({ bf16 }, load);
  if (bf16 === false)
    return asked === 'fp32' && isAtLeast(release, KEEPS_FLOAT32) !== false ? 'fp32' : 'fp16';
  // Where all weights are trained, fp16 becomes fp32 before.
  return asked === 'fp16' && !trainsAll(load) ? 'fp16' : 'bf16';
}

/** Takes back what the arguments say of mixed precision where Unsloth sets them otherwise: on where they leave it off, too. */
export function settlePrecision(calls: Calls, load: PyCall, { model, versions }: ReadContext): void {
  const { draft } = calls;
  const release = versions?.unsloth?.version;
  const source = fileIn(UNSLOTH, 'unsloth/models/rl.py');
  if (isNative(calls, load, model?.config)) {
    draft.forget('precision.compute', 'precision.scheme');
    draft.assume('precision.scheme', 'native', say('Unsloth trains this without autocast'), source);
    return;
  }
  if (!writesTrainers(release)) return;
  const compute = computeOf(calls, load, model?.config, release);
  if (compute === 'fp32' || draft.valueOf('precision.scheme') !== 'native') return;
  draft.forget('precision.compute', 'precision.scheme');
  const note = say('Unsloth turns autocast on where the arguments leave it off');
  draft.assume('precision.compute', compute, note, source);
  draft.assume('precision.scheme', 'autocast', note, source);
}

/**
 * Loaded in fp32, with projections and heads in fp16 (`loader.py`, `register_custom_dtype`): the first always, the others in fp16 alone.
 * Modules by the ends of their names.
 */
const MIXED = /^csm$/;
const MIXED_MODULES = ['_proj', 'fc1', 'fc2', 'codebook', 'head'];
const MIXED_OF_HALF = /^(?:falcon_h1|nemotron_h)$/;
const MIXED_MODULES_OF_HALF = [...'qkvo']
  .map((one) => `${one}_proj`)
  .concat('gate_proj', 'up_proj', 'down_proj', 'head');

/** `None` is bf16 where the GPU has it, else fp16, of which a training of all weights makes fp32. */
function readType(calls: Calls, load: PyCall, config: ModelConfig | undefined): void {
  const { draft, bf16 } = calls;
  const value = argumentOf(load, 'dtype', 2);
  const stated = askedType({ bf16 }, load);
  const native = flagOf(knownNode(argumentOf(load, 'float32_mixed_precision')));
  const half = (stated ?? (bf16 === false ? 'fp16' : 'bf16')) === 'fp16';
  const type = String(config?.model_type ?? '');
  if (MIXED.test(type) || (half && MIXED_OF_HALF.test(type))) {
    draft.assume('precision.weights', 'fp32', say('Unsloth loads this model in fp32'), LOADER, 'dtype');
    // What is trained of them would be fp16 as well.
    if (trainsAll(load)) {
      const words = say('Which weights `{0}` trains in fp16 is not counted.', 'full_finetuning');
      draft.leave('value', { range: load.calleeRange }, 'dtype', words);
      return;
    }
    // A head that shares the weight of the embedding brings it along.
    const tied = config?.tie_word_embeddings === true ? ['embed_tokens'] : [];
    const modules = MIXED.test(type) ? MIXED_MODULES : [...MIXED_MODULES_OF_HALF, ...tied];
    const note = say('Unsloth makes fp16 of projections and heads once they are loaded');
    draft.assume('precision.halfModules', modules, note, LOADER, 'dtype');
    return;
  }
  // Norms, activation functions and attention widen, linear layers take fp16 (`temporary_patches/gemma.py`, `gemma4_float32.py`).
  if (isForced(calls, load, config) && !trainsAll(load))
    draft.assume(
      'precision.wideActivations',
      true,
      say('Where the GPU has no bf16, Unsloth keeps parts of this model in fp32'),
      fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/gemma.py'),
    );
  if (trainsAll(load) && (half || native === true))
    draft.assume('precision.weights', 'fp32', say('Unsloth trains all weights in fp32 here'), LLAMA, 'dtype');
  else if (value && stated && weightsDtypeOf(textOf(nodeOf(value, { bf16 }))) !== stated)
    draft.infer(
      'precision.weights',
      stated,
      say('Unsloth takes fp16 where the GPU has no bf16'),
      value,
      'dtype',
    );
  else if (value && stated) draft.state('precision.weights', stated, value, 'dtype');
  else
    draft.assume(
      'precision.weights',
      bf16 === false ? 'fp16' : 'bf16',
      say('{0} default', 'Unsloth'),
      LLAMA,
      'dtype',
    );
}

/** Arguments of loaders and of `get_peft_model` that change what is held and that nothing here reads. */
const UNREAD =
  /^(qat_scheme|float8_training|layers_to_transform|layers_pattern|target_parameters|init_lora_weights|loftq_config|unsloth_tiled_mlp)$/;

/**
 * Peaks that notebooks saved are 10 to 54 % above what is counted of quantizers (`docs/python.md`): that is the least, and proves no run
 * to fit.
 */
const MORE_THAN_COUNTED = () => say('measured runs of this scheme took more than is counted');

function leaveUncounted({ draft, program }: Calls, { named }: PyCall): void {
  for (const { key, value, used } of named) {
    const isOff =
      value.kind === 'scalar' &&
      (value.value === null || typeof value.value === 'boolean' || value.value === '');
    const isNone = key === 'unsloth_tiled_mlp' ? value.kind === 'scalar' && value.value === false : isOff;
    if (!UNREAD.test(key) || isNone || (value.kind === 'dict' && value.entries.length === 0)) continue;
    if (key === 'qat_scheme' && readRounding(draft, value)) {
      draft.bringByDefault('fake-quantization', MORE_THAN_COUNTED(), LOADER);
      continue;
    }
    // A variable of the environment goes before it.
    const chosen = program.environment.some(({ key: variable }) => variable === 'UNSLOTH_TILED_MLP');
    if (key === 'unsloth_tiled_mlp' && isTrue(value) && !chosen) {
      draft.state('kernels.tiledMlp', true, value, key);
      continue;
    }
    const note = say('What `{0}` changes is not counted.', key);
    draft.leave('value', { range: used }, key, note);
    if (key === 'unsloth_tiled_mlp') draft.bringByDefault('tiled-mlp', note, LOADER);
    if (key === 'qat_scheme') draft.bringByDefault('fake-quantization', note, LOADER);
  }
}

/** Schemes whose quantizers are those of torchao for integers (`_utils.py`, `_prepare_model_for_qat`). */
const ROUNDINGS: Readonly<Record<string, FieldValue<'quantization.fake'>>> = {
  int4: 'int4',
  int8: 'int8',
  'int8-int4': 'int8-int4',
  'phone-deployment': 'int8-int4',
};

/** Takes a scheme of quantization-aware training; false where it is another than is known, or the weights are packed. */
function readRounding(draft: Calls['draft'], value: PyValue): boolean {
  const rounding = ROUNDINGS[textOf(knownNode(value)) ?? ''];
  // A head that is the embedding gets weights of its own (`_untie_input_output_embeddings`).
  if (rounding === 'int8-int4')
    draft.infer(
      'model.tied',
      false,
      say('this scheme gives the head weights of its own'),
      knownNode(value),
      'qat_scheme',
    );
  const packed = draft.valueOf('quantization.kind') ?? 'none';
  if (rounding === undefined || packed !== 'none') return false;
  draft.state('quantization.fake', rounding, value, 'qat_scheme');
  return true;
}

/** Since this release the trainer, which moves the model to the GPU, leaves there what was offloaded (`vision.py`). */
const EMBEDDING_STAYS = '2026.10.4';

/**
 * Where the embedding is while the model is trained (`vision.py`, `_resolve_offload_embedding`): on the host where that is asked for, by
 * default ("auto") where a step has too little room (`_utils.py`, `offload_embedding_if_tight`). Releases before move it, and the trainer
 * moves it back.
 */
function readEmbeddingPlace(calls: Calls, load: PyCall, trainer: PyCall, release: string | undefined): void {
  const { draft, program } = calls;
  const key = 'offload_embedding';
  const value = argumentOf(load, key);
  const on = value?.kind === 'scalar' ? value.value : undefined;
  if (on === false || flagOf(knownNode(argumentOf(load, 'fast_inference'))) === true) return;
  const stays = isAtLeast(release, EMBEDDING_STAYS) !== false;
  const source = fileIn(UNSLOTH, 'unsloth/models/vision.py');
  if (value === undefined || on === 'auto') {
    const note = say('Unsloth moves it to the host where a step has too little room');
    if (stays) draft.assume('loading.embedding', 'spare-to-host-if-tight', note, source, key);
  } else if (on !== true) leaveArgument(draft, key, value, ['loading.embedding']);
  else if (stays) draft.state('loading.embedding', 'host', value, key);
  else if (
    argumentOf(trainer, 'callbacks') ||
    program.calls.some(({ callee, of }) => of?.id === trainer.id && callee === 'add_callback')
  )
    draft.leave(
      'value',
      value,
      key,
      say(
        'This release moves the embedding back to the GPU, unless a callback keeps it away: that is not read.',
      ),
      ['loading.embedding'],
    );
  else {
    const note = say('the trainer of this release moves the embedding back to the GPU');
    draft.infer('loading.embedding', 'gpu', note, knownNode(value), key);
  }
}

/** The task that `get_peft_model` gives to PEFT: a head for labels is asked of the load (`llama.py`, `num_labels`; elsewhere CAUSAL_LM by default). */
function taskOf(load: PyCall): 'classification' | 'other' {
  const labels = argumentOf(load, 'num_labels');
  return labels && !isNone(labels) ? 'classification' : 'other';
}

/** The task of adapters: Unsloth's own layers have one, of which `get_peft_model` takes no other (`models/llama.py`); others are asked (`models/vision.py`). */
function readTask(draft: Draft, load: PyCall, put: PyCall, kernels: boolean): void {
  const field = 'lora.task';
  const asked = kernels ? undefined : argumentOf(put, 'task_type');
  const node = asked && knownNode(asked);
  const task = asked && isNone(asked) ? 'other' : node && adapterTask(node);
  if (asked && task !== undefined) draft.state(field, task, asked, 'task_type');
  else if (asked) leaveArgument(draft, 'task_type', asked, [field]);
  else draft.assume(field, taskOf(load), say('{0} default', 'Unsloth'), LLAMA);
}

function readUnslothAdapters(
  calls: Calls,
  load: PyCall,
  chain: ModelChain,
  trainer: PyCall,
  context: ReadContext,
): void {
  const { draft } = calls;
  const { model, versions } = context;
  const put = chain.steps.findLast(({ callee }) => /(^|\.)get_peft_model$/.test(callee));
  const inPlace = put ? undefined : adaptersInPlace(calls.program, chain, trainer);
  if (inPlace) {
    const words = say('Which adapters this makes is known only when the script runs.');
    draft.leave('value', { range: inPlace.calleeRange }, inPlace.callee, words, ['method.kind', 'lora.rank']);
    return;
  }
  if (!put) {
    draft.assume('method.kind', 'full', say('nothing is frozen and no adapters are made'));
    return;
  }
  draft.state('method.kind', 'lora', { range: put.calleeRange }, 'get_peft_model');
  const rank = argumentOf(put, 'r', 1);
  const number = integerOf(knownNode(rank));
  const isOpen = leaveUndecided(draft, 'r', rank, ['lora.rank']);
  if (isOpen) withhold(draft, ['lora.rank']);
  else if (rank && number !== undefined) draft.state('lora.rank', number, rank, 'r');
  else if (rank) leaveArgument(draft, 'r', rank, ['lora.rank']);
  else draft.assume('lora.rank', 16, say('{0} default', 'Unsloth'), LLAMA, 'r');
  draft.assume('lora.dtype', 'fp32', say('Unsloth upcasts only what is trained'), LLAMA);
  readTask(draft, load, put, hasKernels(load, model?.config));
  const alpha = argumentOf(put, 'lora_alpha', 3);
  if (alpha?.kind === 'scalar' && typeof alpha.value === 'number')
    draft.state('lora.alpha', alpha.value, alpha, 'lora_alpha');
  else if (alpha) {
    leaveArgument(draft, 'lora_alpha', alpha, ['lora.alpha']);
    withhold(draft, ['lora.alpha']);
  } else draft.assume('lora.alpha', 16, say('{0} default', 'Unsloth'), LLAMA, 'lora_alpha');
  const dropout = argumentOf(put, 'lora_dropout');
  if (dropout?.kind === 'scalar' && typeof dropout.value === 'number')
    draft.state('lora.dropout', dropout.value, dropout, 'lora_dropout');
  else if (!dropout) draft.assume('lora.dropout', 0, say('{0} default', 'Unsloth'), LLAMA, 'lora_dropout');
  leaveUncounted(calls, put);
  leaveOtherFields(draft, put);
  readUnslothTargets(draft, put, {
    kernels: hasKernels(load, model?.config),
    config: model?.config,
    encodes: model?.decoder !== undefined,
    release: versions?.unsloth?.version,
    transformers: versions?.transformers?.version,
    peft: versions?.peft?.version,
  });
  if (hasKernels(load, model?.config)) readFusedAdapters(calls, put, context);
}

/** First release whose kernels of LoRA have dropout in them (`kernels/fast_lora.py`, `FUSED_LORA_DROPOUT`; 2026.10.6 has it not). */
const FUSES_DROPOUT = '2026.10.7';

/** Layers of a part, all of which need adapters to run as one. */
const LAYERS = {
  mlp: ['gate_proj', 'up_proj', 'down_proj'],
  qkv: ['q_proj', 'k_proj', 'v_proj'],
  output: ['o_proj'],
} as const;

/** Types whose queries, keys and values have a bias, whatever their config states (`modeling_qwen2.py`, `Qwen2Attention`). */
const BIASED = /^qwen2$/;

/**
 * Parts whose layers have no bias: those with one are left to PEFT, in every release from 2024.8 on (`llama.py`, `patch_peft_model`:
 * `q_proj.bias is None`). What no adapter is for is left as it is, too.
 */
function partsWithoutBias(config: ModelConfig | undefined, targets: unknown): (keyof typeof LAYERS)[] {
  const attention = config?.attention_bias === true;
  const biased = BIASED.test(String(config?.model_type ?? ''));
  const free = { mlp: config?.mlp_bias !== true, qkv: !attention && !biased, output: !attention || biased };
  const names = Array.isArray(targets) ? new Set<unknown>(targets) : undefined;
  const isAdapted = (layers: readonly string[]) =>
    names === undefined || names.has('all-linear') || layers.every((layer) => names.has(layer));
  return (['mlp', 'qkv', 'output'] as const).filter((part) => free[part] && isAdapted(LAYERS[part]));
}

/**
 * Linear layers run as one function with their LoRA branches, where no bias is trained, nothing is in fp32 and FSDP wraps no layer
 * (`llama.py`, `patch_peft_model`); before that release only without dropout.
 */
function readFusedAdapters({ draft }: Calls, put: PyCall, { known, model, versions }: ReadContext): void {
  const config: ModelConfig | undefined = model?.config;
  // Which layers Unsloth writes itself hangs on their type.
  if (config === undefined) return;
  const bias = argumentOf(put, 'bias');
  const plain = !bias || (bias.kind === 'scalar' && bias.value === 'none');
  const dropout = draft.valueOf('lora.dropout');
  const fuses = dropout === 0 || isAtLeast(versions?.unsloth?.version, FUSES_DROPOUT) !== false;
  const whole =
    draft.valueOf('precision.weights') === 'fp32' &&
    (draft.valueOf('quantization.kind') ?? 'none') === 'none';
  const wraps = /^fsdp/.test(String(known['parallel.data']));
  if (!plain || typeof dropout !== 'number' || !fuses || whole || wraps) return;
  const parts = partsWithoutBias(config, draft.valueOf('lora.targets'));
  const note = say('Unsloth runs them as one function with their adapters');
  if (parts.length > 0) draft.assume('kernels.lora', parts, note, LLAMA);
}

/**
 * The longest sample is as long as it is cut to; people set that freely, and notebooks far above what their data holds, so that it is
 * reported as a guess. The loss goes over parts of the logits.
 */
export function readUnslothTrainer(
  calls: Calls,
  load: PyCall,
  section: Pick<Section, 'find' | 'flag' | 'integer'>,
  batches: Batches,
  { model, versions }: ReadContext,
): void {
  const { draft } = calls;
  const release = versions?.unsloth?.version;
  const kernels = hasKernels(load, model?.config);
  const loaded = { load, release, kernels, ownRows: !cutsRows(calls.program) };
  const longest = longestSample(calls, loaded, section, batches);
  const { tokens: length } = longest;
  const supervised = batches === 'supervised';
  readLongest(calls, section, batches, longest);
  if (!supervised) return;
  const ownLoss = bringsCode(load) ? OWN_LOSS_CODE[String(model?.config?.model_type)] : undefined;
  if (ownLoss !== undefined) {
    const because = say(
      'the code that comes with the model computes the loss itself, over all logits in fp32',
    );
    draft.assume('loss.implementation', 'full-upcast', because, ownLoss);
    return;
  }
  if (variableOf(calls.program, RETURNS_LOGITS) === '1') {
    const because = say(
      '`{0}` is set: Unsloth computes the loss over the logits of the whole batch',
      RETURNS_LOGITS,
    );
    draft.assume('loss.implementation', 'in-place', because, LLAMA);
    return;
  }
  const type = String(model?.config?.model_type);
  if (!kernels && OWN_LOSS.test(type) && isAtLeast(release, FUSED) === false) {
    const because = say('this release of Unsloth makes all logits of `{0}`, which its kernel takes', type);
    draft.assume('loss.implementation', 'in-place', because, LOSSES);
    return;
  }
  const loss = lossOf(
    calls,
    release,
    (section.integer('per_device_train_batch_size') ?? 4) * (length ?? 2048),
  );
  draft.assume('loss.implementation', loss, lossNote(loss, release), LLAMA);
}

/** `batches`: what nothing but a trainer's own default limits is left to the reading of that trainer. */
function readLongest(
  { draft, program }: Calls,
  section: Pick<Section, 'find' | 'flag' | 'integer'>,
  batches: Batches,
  longest: LongestSample,
): void {
  const { tokens, node, key, ofModel } = longest;
  // A tokenizer may cut samples to a length of their own.
  if (tokens === undefined || draft.knows('batch.sequence')) return;
  if (batches === 'supervised') {
    const note = cutsRows(program)
      ? noteOfLongest(longest, tokens, program)
      : say('a collator of the file makes the rows: `{0}` is taken for the longest that they get', key);
    if (section.flag('packing') !== true) draft.limit('batch.sequence', tokens, note, node, key);
    else if (ofModel && node) draft.state('batch.sequence', tokens, node, key);
    return;
  }
  const shorter = say('`{0}`: the model is given no longer rows', key);
  if (batches !== 'generated') {
    if (ofModel) draft.infer('batch.sequence', tokens, shorter, node, key);
    return;
  }
  // A trainer that takes a limit of prompts cuts them to it, and completions end at theirs: `readTrl` states both together.
  const prompt = section.integer('max_prompt_length');
  const completion = section.integer('max_completion_length');
  const both = prompt !== undefined && completion !== undefined ? prompt + completion : undefined;
  if (both !== undefined && both <= tokens) return;
  if (ofModel && node) draft.state('batch.sequence', tokens, node, key);
  else if (ofModel && both !== undefined) draft.infer('batch.sequence', tokens, shorter, node, key);
}

/** What is quoted of the file stands in it: a length that it leaves out is the loader's. */
function noteOfLongest(
  { node, key, ofModel }: LongestSample,
  tokens: number,
  program: Calls['program'],
): string {
  if (!ofModel || node !== undefined || program.fillsSamples()) return longestNote(key, program);
  return say(
    '`{0}` is left out: samples are cut to {1} tokens, and where they are shorter, less is needed',
    key,
    tokens,
  );
}

/** Whether Unsloth or TRL makes the rows, which cut them: where a trainer is given a function of the file, that may do neither. */
function cutsRows({ calls }: Calls['program']): boolean {
  const given = calls.some((call) => argumentOf(call, 'data_collator') !== undefined);
  return !given || calls.some(({ callee }) => /Collator\w*$/.test(callee));
}

/** Set to `1`, logits are made, and the loss of Unsloth's kernel takes them (`llama.py`; `unsloth_zoo/fused_losses/ast_rewriter.py`). */
const RETURNS_LOGITS = 'UNSLOTH_RETURN_LOGITS';

type UnslothLoss = Extract<
  FieldValue<'loss.implementation'>,
  'in-place' | 'cut' | 'budgeted-chunks' | 'free-chunks' | 'half-free-chunks' | 'fused-chunks'
>;

/**
 * Logits of so many tokens and less are made whole, since cut cross-entropy came (`bsz*q_len <= 1024`, `llama.py` of 2025.1.5 to
 * 2025.8.4).
 */
const FEW_TOKENS = 1024;

/**
 * How a release computes the loss (`CausalLM_fast_forward` in `llama.py`): over logits of the whole batch, whose gradient takes
 * their place, before 2024.11.8; by cut cross-entropy before 2025.8.5; by chunks since: of a budget of 1 GiB at 4 bytes a logit, which
 * is that of 4 GiB at 16 later, of half of what is free from 2025.9.1 on, rounded up since 2026.7.1, of 4 GiB at most since 2026.9.4, and of
 * a count of tokens in one buffer since 2026.10.9 (`unsloth_zoo/fused_losses/cross_entropy_loss.py`, `_use_chunked_ce`, whose releases go with
 * those of `unsloth`). `tokens`: of a batch at most.
 */
function lossOf({ program }: Calls, release: string | undefined, tokens: number): UnslothLoss {
  if (isAtLeast(release, '2024.11.8') === false) return 'in-place';
  if (isAtLeast(release, TILED) !== false && !budgetsLoss(program)) return 'fused-chunks';
  if (isAtLeast(release, '2026.9.4') !== false) return 'budgeted-chunks';
  if (isAtLeast(release, '2026.7.1')) return 'half-free-chunks';
  if (isAtLeast(release, '2025.9.1')) return 'free-chunks';
  if (isAtLeast(release, '2025.8.5')) return 'budgeted-chunks';
  return tokens <= FEW_TOKENS && isAtLeast(release, '2025.1.5') === true ? 'in-place' : 'cut';
}

/** Whether a variable sends the loss to the chunks of a budget (`_use_chunked_ce`). */
function budgetsLoss(program: Calls['program']): boolean {
  const off = ['UNSLOTH_CHUNKED_CE', 'UNSLOTH_FUSED_LINEAR'].some(
    (name) => variableOf(program, name) === '0',
  );
  const sized = ['UNSLOTH_CE_LOSS_TARGET_GB', 'UNSLOTH_CE_LOSS_N_CHUNKS'].some(
    (name) => (variableOf(program, name) ?? '') !== '',
  );
  return off || sized || variableOf(program, 'UNSLOTH_FUSED_CE_COMPILE_DISABLE') === '1';
}

function lossNote(loss: UnslothLoss, release: string | undefined): string {
  if (loss === 'in-place')
    return say('Unsloth {0} computes the loss over the logits of the whole batch', release ?? '');
  if (loss === 'cut') return say('Unsloth {0} computes the loss by cut cross-entropy', release ?? '');
  if (loss === 'fused-chunks') return say('Unsloth computes the loss over a chunk of tokens at a time');
  return say('Unsloth computes the loss over as much of the logits as there is room for');
}

const isSamePlace = (a: Range, b: Range) =>
  a.uri === b.uri &&
  a.start.line === b.start.line &&
  a.start.character === b.start.character &&
  a.end.line === b.end.line &&
  a.end.character === b.end.character;

/**
 * Completions of GRPO that are given what the prompts leave of a length, whatever that is: `max_completion_length = 2048 - prompt`. States
 * the length, and returns the arguments without both, whose own values only a run knows.
 */
export function settleTogether({ draft }: Pick<Calls, 'draft'>, config: PyCall): PyCall {
  const prompt = argumentOf(config, 'max_prompt_length');
  const completion = argumentOf(config, 'max_completion_length');
  if (completion?.kind !== 'unknown' || !completion.left) return config;
  const { of, without } = completion.left;
  const whole = integerOf(knownNode(of));
  if (whole === undefined) return config;
  if (!prompt) {
    // What a prompt takes of the length, its completion lacks: a sample is no longer than both together.
    draft.infer(
      'rollout.completion',
      whole,
      say('what a prompt leaves of {0} tokens: at most all of them', String(whole)),
      knownNode(of),
      'max_completion_length',
    );
    return { ...config, named: config.named.filter(({ key }) => key !== 'max_completion_length') };
  }
  if (prompt.kind !== 'unknown' || !isSamePlace(without, prompt.range)) return config;
  const note = say('prompt and completion together have {0} tokens', String(whole));
  draft.infer('batch.sequence', whole, note, knownNode(of), 'max_completion_length');
  draft.infer('rollout.completion', whole, note, knownNode(of), 'max_completion_length');
  const named = config.named.filter(({ key }) => !/^max_(prompt|completion)_length$/.test(key));
  return { ...config, named };
}

/** Since this release losses go by chunks or tiles in one buffer (`fused_losses/fused_linear.py`; 2026.10.8 has it not). */
const TILED = '2026.10.9';

/**
 * GRPO's micro batch goes through the model in as many parts as what is free has room for, a row each at the least
 * (`autotune_batch_and_chunks`, `grpo_accumulated_loss`); the tokens of a part are scored tile by tile. Releases before kept logits of
 * chunks, whose count follows from what is free, too.
 */
export function readScoredParts(
  { draft }: Pick<Calls, 'draft'>,
  load: PyCall,
  release: string | undefined,
): void {
  if (isAtLeast(release, TILED) !== false) {
    const source = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/rl_replacements.py');
    draft.forget('loss.implementation');
    draft.assume(
      'loss.implementation',
      'log-probabilities-chunked',
      say('Unsloth scores tokens tile by tile'),
      source,
    );
    draft.assume(
      'batch.inParts',
      true,
      say('Unsloth computes the micro batch of GRPO in as many parts as what is free asks for'),
      source,
    );
    return;
  }
  const note = say(
    'Unsloth splits the batches of GRPO by what is free on the card: what that saves is not counted.',
  );
  draft.leave('script', { range: load.calleeRange }, 'GRPO', note);
  draft.bringByDefault('split-scores', note, LOADER);
}

/** Since this release micro batches are raised to whole groups (`rl.py`, `check_num_generations`; 2025.5.7 has it not). */
const RAISES_GROUPS = '2025.5.8';

/**
 * A micro batch whose step does not hold whole groups of completions becomes one group (`rl.py`, `check_num_generations`). `gpus`: that
 * are known to train.
 */
export function settleGroups(
  { draft }: Calls,
  section: Pick<Section, 'find' | 'integer'>,
  gpus: unknown,
  release: string | undefined,
): void {
  if (isAtLeast(release, RAISES_GROUPS) === false) return;
  if (section.find('steps_per_generation') || section.find('generation_batch_size')) return;
  const stated = section.find('num_generations');
  const group = stated ? integerOf(stated.node) : 8;
  const micro = draft.valueOf('batch.micro');
  const accumulation = draft.valueOf('batch.accumulation') ?? 1;
  if (group === undefined || typeof micro !== 'number' || typeof accumulation !== 'number') return;
  const ranks = typeof gpus === 'number' ? gpus : 1;
  if ((accumulation * ranks * micro) % group === 0) return;
  draft.forget('batch.micro');
  draft.infer(
    'batch.micro',
    group,
    say('Unsloth raises the micro batch to `{0}` where a step holds no whole groups', 'num_generations'),
    stated?.node,
    stated?.key,
  );
}
