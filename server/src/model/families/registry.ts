import { say } from '../../wording/say';
import { ConfigError, ConfigReader } from '../config';
import type { ModelConfig } from '../model';
import { bailing } from './bailing';
import { bartLike } from './bart';
import { bertLike } from './bert';
import { convnextFamily } from './convnext';
import { csm } from './csm';
import { deberta } from './deberta';
import { deepseekV4Family } from './deepseek-v4';
import { detrFamily } from './detr';
import type { Architecture, ModelFamily } from './family';
import { fusedProjections } from './fused-projections';
import { gemma } from './gemma';
import { gemma3n } from './gemma3n';
import { gemma4 } from './gemma4';
import { gitFamily } from './git';
import { gpt } from './gpt';
import { imageEncoders } from './image-encoders';
import { kimiK3 } from './kimi-k3';
import { layoutlmv2Family } from './layoutlmv2';
import { llama } from './llama';
import { buildUnknown } from './llama-like';
import { llamaVision } from './llama-vision';
import { megatronGptFamily } from './megatron-gpt';
import { megatronT5Family } from './megatron-t5';
import { minimaxM3Family } from './minimax-m3';
import { modernbert } from './modernbert';
import { nemotronNas } from './nemotron-nas';
import { ownOlmo } from './olmo';
import { olmoCoreFamily } from './olmo-core';
import { parallel } from './parallel';
import { phiMultimodal } from './phi-multimodal';
import { segformerFamily } from './segformer';
import { shortConvolutions } from './short-convolution';
import { sigmoidExperts } from './sigmoid-experts';
import { soundLanguage } from './sound-language';
import { sparse } from './sparse';
import { speechT5Family } from './speecht5';
import { stateSpace } from './state-space';
import { swinFamily } from './swin';
import { t5 } from './t5';
import { videomaeFamily } from './videomae';
import { viltFamily } from './vilt';
import { visionLanguage } from './vision-language';
import { waveforms } from './wav2vec2';
import { zamba } from './zamba';

const FAMILIES: readonly ModelFamily[] = [
  llama,
  gemma,
  gemma3n,
  gemma4,
  fusedProjections,
  gpt,
  megatronGptFamily,
  megatronT5Family,
  parallel,
  sparse,
  sigmoidExperts,
  minimaxM3Family,
  deepseekV4Family,
  bertLike,
  deberta,
  modernbert,
  t5,
  bartLike,
  imageEncoders,
  gitFamily,
  viltFamily,
  segformerFamily,
  detrFamily,
  layoutlmv2Family,
  visionLanguage,
  soundLanguage,
  waveforms,
  speechT5Family,
  swinFamily,
  convnextFamily,
  videomaeFamily,
  csm,
  phiMultimodal,
  kimiK3,
  nemotronNas,
  ownOlmo,
  olmoCoreFamily,
  bailing,
  llamaVision,
  stateSpace,
  shortConvolutions,
  zamba,
];

const BY_TYPE = new Map<string, ModelFamily>(
  FAMILIES.flatMap((f) => f.modelTypes.map((type) => [type, f] as const)),
);

/** Model types that are built as written, without the Llama-like fallback. */
export function modelTypes(): string[] {
  return [...BY_TYPE.keys()];
}

/** Classes of a type that are built of other parts than those that are read here. */
const OTHER_SHAPES: Readonly<Record<string, RegExp>> = {
  clip: /ForImageClassification$|ModelWithProjection$/,
  siglip: /ForImageClassification$/,
  bart: /ForCausalLM$/,
  mbart: /ForCausalLM$/,
  plbart: /ForCausalLM$/,
  pegasus: /ForCausalLM$/,
  marian: /ForCausalLM$/,
  blenderbot: /ForCausalLM$/,
  'blenderbot-small': /ForCausalLM$/,
  whisper: /ForCausalLM$|ForAudioClassification$/,
  speecht5: /ForSpeechTo(?:Text|Speech)$/,
  t5: /EncoderModel$|ForTokenClassification$/,
  mt5: /EncoderModel$|ForTokenClassification$/,
  umt5: /EncoderModel$|ForTokenClassification$/,
  llama4: /ForCausalLM$/,
};

/** The class that the config names, where it is one of those. */
function otherShape({ model_type: type, architectures }: ModelConfig): string | undefined {
  const named: unknown = Array.isArray(architectures) ? architectures[0] : undefined;
  return typeof named === 'string' && Object.hasOwn(OTHER_SHAPES, type) && OTHER_SHAPES[type]?.test(named)
    ? named
    : undefined;
}

/** Stages and figures of a config, or a `ConfigError`. */
export function buildArchitecture(config: ModelConfig): Architecture {
  const family = BY_TYPE.get(config.model_type);
  if (config.add_cross_attention === true) {
    throw new ConfigError(
      say('cross attention ("add_cross_attention") is not supported in model_type "{0}"', config.model_type),
    );
  }
  const other = otherShape(config);
  if (other !== undefined) {
    throw new ConfigError(
      say('{0} is not supported: model_type "{1}" is read as another class', other, config.model_type),
    );
  }
  if (family) return family.build(new ConfigReader(config, config.model_type));
  return buildUnknown(config);
}
