import { say } from '../../wording/say';
import type { ConfigReader, JsonObject } from '../config';
import { ConfigError } from '../config';
import type { Flow, Stage } from '../model';
import type { Tracer } from '../tracer';
import { selfConditioning } from './diffusion-gemma';
import { ernieTower } from './ernie-tower';
import type { Architecture, ModelFamily } from './family';
import { fusedProjections } from './fused-projections';
import { gemma } from './gemma';
import { gemma4 } from './gemma4';
import { gemma4Sound } from './gemma4-sound';
import { gemma4Frames, gemma4Patches, gemma4Tower } from './gemma4-towers';
import { glmTower } from './glm-tower';
import { clipNote } from './heard-tower';
import { ideficsTower, internTower, lfmTower } from './joining-towers';
import { llama } from './llama';
import { minimaxM3Family } from './minimax-m3';
import { minimaxTower } from './minimax-tower';
import { moonTower } from './moon-tower';
import { museGlimmer, museTower } from './muse-glimmer';
import { shortConvolutions } from './short-convolution';
import { paddleTower, paliTower } from './siglip-towers';
import { sigmoidExperts } from './sigmoid-experts';
import { omniMoeSound, omniSound } from './sound-towers';
import { sparse } from './sparse';
import { stateSpace } from './state-space';
import { stepTower } from './step-tower';
import { nextTower, oneVisionTower } from './tiled-towers';
import {
  llama4Tower,
  llavaTower,
  pixtralTower,
  qwen3Tower,
  qwenTower,
  siglipTower,
  tapped,
  towerStages,
  type VisionTower,
} from './vision-tower';

/** Language model and tower of a type whose config nests both, or has the text model's fields at its top. */
interface Pairing {
  /** Model type of the text model where the config does not name it. */
  readonly text: string;
  readonly vision: string;
  /** The tower is the one that the config names, in place of one whose name differs between the hub and the class. */
  readonly named?: boolean;
  readonly tower: (vision: ConfigReader, outer: ConfigReader, width: number) => VisionTower;
  /** Stages of the text model that no text of a batch goes through. */
  readonly beside?: (text: ConfigReader, outer: ConfigReader) => Stage[];
  readonly unplayed?: Architecture['unplayed'];
  /** What the model does with images is not known, and its weights are: runs that show it any are not estimated. */
  readonly playsImages?: false;
  /** The type of the tower for sound, and its stages, where the config has one. */
  readonly audio?: {
    readonly type: string;
    readonly stages: (audio: ConfigReader, width: number) => Stage[];
    /** What they compute of sound is played. */
    readonly played?: true;
    /** What a sample is taken to hold of it, where that is not known. */
    readonly note?: () => string;
  };
}

const PAIRINGS: Readonly<Record<string, Pairing>> = {
  llava: { text: 'llama', vision: 'clip_vision_model', named: true, tower: llavaTower },
  llava_next: { text: 'llama', vision: 'clip_vision_model', named: true, tower: nextTower },
  llava_next_video: { text: 'llama', vision: 'clip_vision_model', named: true, tower: nextTower },
  llava_onevision: { text: 'qwen2', vision: 'siglip_vision_model', tower: oneVisionTower },
  paligemma: { text: 'gemma', vision: 'siglip_vision_model', tower: paliTower },
  paddleocr_vl: {
    text: 'paddleocr_vl_text',
    vision: 'paddleocr_vl_vision',
    tower: (v, _, width) => paddleTower(v, width),
  },
  glm4v: glm4v('glm4v_text', 'glm4v_vision'),
  glm46v: glm4v('glm4v_text', 'glm4v_vision'),
  glm4v_moe: glm4v('glm4v_moe_text', 'glm4v_moe_vision'),
  gemma3: { text: 'gemma3_text', vision: 'siglip_vision_model', tower: siglipTower },
  gemma4: {
    text: 'gemma4_text',
    vision: 'gemma4_vision',
    tower: gemma4Tower,
    audio: { type: 'gemma4_audio', stages: gemma4Sound, played: true, note: clipNote },
  },
  gemma4_unified: {
    text: 'gemma4_unified_text',
    vision: 'gemma4_unified_vision',
    tower: gemma4Patches,
    audio: { type: 'gemma4_unified_audio', stages: gemma4Frames, played: true },
  },
  muse_glimmer: { text: 'muse_glimmer_text', vision: 'muse_glimmer_vision', tower: museTower },
  smolvlm: { text: 'llama', vision: 'smolvlm_vision', tower: ideficsTower },
  idefics3: { text: 'llama', vision: 'idefics3_vision', tower: ideficsTower },
  lfm2_vl: { text: 'lfm2', vision: 'siglip2_vision_model', tower: lfmTower },
  internvl: { text: 'qwen2', vision: 'internvl_vision', tower: internTower },
  kimi_k25: { text: 'deepseek_v3', vision: 'kimi_k25_vision', tower: moonTower },
  minimax_m3_vl: { text: 'minimax_m3_vl_text', vision: 'minimax_m3_vl_vision', tower: minimaxTower },
  mistral3: { text: 'mistral', vision: 'pixtral', tower: pixtralTower },
  llama4: {
    text: 'llama4_text',
    vision: 'llama4_vision_model',
    tower: (v, _, width) => llama4Tower(v, width),
  },
  qwen2_vl: { text: 'qwen2_vl_text', vision: 'qwen2_vl_vision', tower: (v, _, width) => qwenTower(v, width) },
  qwen2_5_vl: {
    text: 'qwen2_5_vl_text',
    vision: 'qwen2_5_vl_vision',
    tower: (v, _, width) => qwenTower(v, width),
  },
  qwen2_5_omni_thinker: {
    text: 'qwen2_5_omni_text',
    vision: 'qwen2_5_omni_vision_encoder',
    tower: (v, _, width) => qwenTower(v, width),
    audio: { type: 'qwen2_5_omni_audio_encoder', stages: omniSound },
  },
  qwen3_omni_moe_thinker: {
    ...qwen3('qwen3_omni_moe_text', 'qwen3_omni_moe_vision_encoder'),
    audio: { type: 'qwen3_omni_moe_audio_encoder', stages: omniMoeSound },
  },
  qwen3_vl: qwen3('qwen3_vl_text', 'qwen3_vl_vision'),
  qwen3_vl_moe: qwen3('qwen3_vl_moe_text', 'qwen3_vl_vision'),
  diffusion_gemma: {
    text: 'diffusion_gemma_text',
    vision: 'gemma4_vision',
    tower: gemma4Tower,
    beside: selfConditioning,
    unplayed: ['canvas-decoder'],
  },
  step3p7: { text: 'step3p5', vision: 'step3p5_vision', tower: stepTower },
  ernie4_5_vl_moe: {
    text: 'ernie4_5_vl_moe_text',
    vision: 'ernie4_5_vl_moe_vision',
    tower: (v, _, width) => ernieTower(v, width),
    playsImages: false,
  },
  qwen3_5: qwen3('qwen3_5_text', 'qwen3_5_vision'),
  qwen3_5_moe: qwen3('qwen3_5_moe_text', 'qwen3_5_vision'),
};

/** Tower of Qwen 3; the towers of its sparse models are those of its dense ones. */
function qwen3(text: string, vision: string): Pairing {
  return { text, vision, tower: (v, _, width) => qwen3Tower(v, width) };
}

/** Tower of GLM-4.1V; those of the sparse ones are alike. */
function glm4v(text: string, vision: string): Pairing {
  return { text, vision, tower: (v, _, width) => glmTower(v, width) };
}

/** Names of nested text configs whose layers are those of another type. */
const TEXT_TYPES: Readonly<Record<string, string>> = {
  qwen2_vl_text: 'qwen2',
  qwen2_5_omni_text: 'qwen2',
  qwen3_omni_moe_text: 'qwen3_moe',
  qwen2_5_vl_text: 'qwen2',
  qwen3_vl_text: 'qwen3',
  qwen3_vl_moe_text: 'qwen3_moe',
  glm4v_text: 'glm4',
  glm4v_moe_text: 'glm4_moe',
  paddleocr_vl_text: 'ernie4_5',
  diffusion_gemma_text: 'gemma4_text',
};

/** Values that the code of a nested text model fixes, which its config does not state. */
const FIXED: Readonly<Record<string, JsonObject>> = {
  glm4v_text: { attention_bias: true, head_dim: null },
  // Keys are values on layers that see everything, and all layers have experts (transformers 5.23, `DiffusionGemmaEncoderTextLayer`).
  diffusion_gemma_text: { attention_k_eq_v: true, enable_moe_block: true, final_logit_softcapping: 30 },
};

/** Models whose thinker reads and whose talker speaks: what is trained is the thinker, which ties its own head. */
const THINKERS: Readonly<Record<string, string>> = {
  qwen2_5_omni: 'qwen2_5_omni_thinker',
  qwen3_omni_moe: 'qwen3_omni_moe_thinker',
};

/** The language model that a nested text config describes. */
export function textArchitecture(config: ConfigReader): Architecture {
  const family = [
    llama,
    gemma,
    gemma4,
    sparse,
    sigmoidExperts,
    minimaxM3Family,
    stateSpace,
    shortConvolutions,
    fusedProjections,
    museGlimmer,
  ].find((f) => f.modelTypes.includes(config.modelType));
  if (!family)
    throw new ConfigError(
      say('the text model "{0}" is not supported behind a vision tower', config.modelType),
    );
  return family.build(config);
}

/** The token embedding, with features of images and sound written over the places of their tokens (`masked_scatter`). */
function mergingStage(embedding: Stage): Stage {
  return {
    ...embedding,
    trace: (t, flow) => {
      embedding.trace(t, flow);
      for (const kind of ['images', 'sound']) merge(t, flow, kind);
    },
  };
}

function merge(t: Tracer, flow: Flow, kind: string): void {
  const hidden = flow.get('hidden');
  const outer = flow.get(kind);
  if (!hidden || !outer) return;
  const features = t.enter(outer, kind);
  const merged = t.fused({
    name: 'masked_scatter',
    inputs: [hidden, features],
    outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
    savesBytes: hidden.elements,
  });
  flow.set('hidden', merged);
  flow.delete(kind);
}

/** The language model's stages, with a tower's tapped features added behind the first `taps` layers. */
function stackedLayers(stages: readonly Stage[], taps: number): Stage[] {
  let next = 0;
  return stages.flatMap((stage) => {
    if (stage.role !== 'layer' || next >= taps) return [stage];
    const parts: Stage[] = [];
    const count = Math.min(stage.count, taps - next);
    for (let i = 0; i < count; i++) parts.push(withFeatures(stage, tapped(next++)));
    if (count < stage.count) parts.push({ ...stage, count: stage.count - count });
    return parts;
  });
}

/** `_deepstack_process`: a copy of the hidden states, to whose image places the features are added. */
function withFeatures(layer: Stage, name: string): Stage {
  return {
    ...layer,
    count: 1,
    trace: (t, flow) => {
      const outer = flow.get(name);
      layer.trace(t, flow);
      const hidden = flow.get('hidden');
      if (!outer || !hidden) return;
      const features = t.enter(outer, name);
      const copied = t.fused({
        name: 'deepstack',
        inputs: [hidden, features],
        outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
        // Places of the images, as indices of the read and of the write.
        savesBytes: 4 * 8 * (features.elements / (features.shape.at(-1) ?? 1)),
      });
      flow.set('hidden', copied);
      flow.delete(name);
    },
  };
}

function build(whole: ConfigReader): Architecture {
  const thinker = THINKERS[whole.modelType];
  const config = thinker ? whole.nested(thinker, 'thinker_config').as(thinker) : whole;
  const pairing = PAIRINGS[config.modelType];
  if (!pairing) throw new ConfigError(say('"{0}" is not a vision-language model', config.modelType));
  const read = config.textModel(pairing.text);
  const tied = config.modelType.endsWith('_thinker')
    ? { tie_word_embeddings: config.flag(false, 'tie_word_embeddings') }
    : {};
  const stated = read.fixed({ ...FIXED[read.modelType], ...tied });
  const text = stated.as(TEXT_TYPES[read.modelType] ?? read.modelType, read.modelType);
  const language = { ...textArchitecture(text), ...(pairing.unplayed ? { unplayed: pairing.unplayed } : {}) };
  const beside = pairing.beside?.(stated, config) ?? [];
  const width = language.figures.hiddenSize;
  const heard = pairing.audio && config.has('audio_config') ? pairing.audio : undefined;
  const audio = heard?.stages(config.nested(heard.type, 'audio_config').as(heard.type), width) ?? [];
  const loaded = () =>
    say('samples hold sound where the run says so; the part of the model for it is loaded');
  const unheard = audio.length > 0 ? [(heard?.note ?? loaded)()] : [];
  const playsSound = audio.length > 0 && !heard?.played ? { playsSound: false as const } : {};
  const [embedding, ...rest] = language.stages;
  const merging = embedding ? [mergingStage(embedding)] : [];
  if (!config.has('vision_config')) {
    return {
      ...language,
      ...playsSound,
      stages: [...audio, ...beside, ...merging, ...rest],
      notes: [...(language.notes ?? []), ...unheard, say('the config has no vision_config: text model only')],
    };
  }
  const nested = config.nested(pairing.vision, 'vision_config');
  const vision = pairing.named ? nested : nested.as(pairing.vision);
  const tower = pairing.tower(vision, config, width);
  return {
    ...language,
    ...playsSound,
    ...(pairing.playsImages === false ? { playsImages: false as const } : {}),
    ...(tower.tiles ? { seesTiles: true as const } : {}),
    stages: [
      ...audio,
      ...beside,
      ...towerStages(tower),
      ...merging,
      ...stackedLayers(rest, tower.taps?.length ?? 0),
    ],
    notes: [...(language.notes ?? []), ...unheard],
    imageNotes: [tower.note, { text: say('the sequence length counts image tokens') }],
  };
}

export const visionLanguage: ModelFamily = {
  modelTypes: [...Object.keys(PAIRINGS), ...Object.keys(THINKERS)],
  build,
};
