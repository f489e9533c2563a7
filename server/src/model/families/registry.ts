import { say } from '../../wording/say';
import { ConfigError, ConfigReader } from '../config';
import type { ModelConfig } from '../model';
import { bartLike } from './bart';
import { bertLike } from './bert';
import { deberta } from './deberta';
import type { Architecture, Family } from './family';
import { fusedProjections } from './fused-projections';
import { gemma } from './gemma';
import { gpt } from './gpt';
import { imageEncoders } from './image-encoders';
import { buildUnknown, llama } from './llama';
import { megatronFamily } from './megatron-gpt';
import { megatronT5Family } from './megatron-t5';
import { modernbert } from './modernbert';
import { parallel } from './parallel';
import { sparse } from './sparse';
import { stateSpace } from './state-space';
import { t5 } from './t5';
import { visionLanguage } from './vision-language';

const FAMILIES: readonly Family[] = [
  llama,
  gemma,
  fusedProjections,
  gpt,
  megatronFamily,
  megatronT5Family,
  parallel,
  sparse,
  bertLike,
  deberta,
  modernbert,
  t5,
  bartLike,
  imageEncoders,
  visionLanguage,
  stateSpace,
];

const BY_TYPE = new Map<string, Family>(
  FAMILIES.flatMap((f) => f.modelTypes.map((type) => [type, f] as const)),
);

/** Model types that are built as written, without the Llama-like fallback. */
export function modelTypes(): string[] {
  return [...BY_TYPE.keys()];
}

/** Fields that make an unknown type look like a Llama. */
const LLAMA_FIELDS = [
  'hidden_size',
  'num_hidden_layers',
  'num_attention_heads',
  'intermediate_size',
  'vocab_size',
];

/** Fields of architectures that a Llama-like reading would get wrong. */
const FOREIGN_FIELD =
  /expert|mamba|ssm|kv_lora_rank|vision_config|audio_config|encoder|state_size|linear_|type_vocab_size|pos_att_type|conv/;

/** Stages and figures of a config, or a `ConfigError`. */
export function buildArchitecture(config: ModelConfig): Architecture {
  const family = BY_TYPE.get(config.model_type);
  if (family) return family.build(new ConfigReader(config, config.model_type));
  const missing = LLAMA_FIELDS.filter((field) => typeof config[field] !== 'number');
  const foreign = Object.keys(config).find((field) => FOREIGN_FIELD.test(field) && config[field] !== null);
  if (missing.length > 0 || foreign) {
    const why = foreign
      ? say('its field "{0}" is not one of a Llama-like model', foreign)
      : say('it has no "{0}"', String(missing[0]));
    throw new ConfigError(say('model_type "{0}" is not known, and {1}', config.model_type, why));
  }
  return buildUnknown(new ConfigReader(config, config.model_type));
}
