import { ConfigReader } from '../config';
import type { ModelConfig } from '../model';
import { bartLike } from './bart';
import { bertLike } from './bert';
import { deberta } from './deberta';
import type { Architecture, Family } from './family';
import { fusedProjections } from './fused-projections';
import { gemma } from './gemma';
import { gpt } from './gpt';
import { imageEncoders } from './image-encoders';
import { llama } from './llama';
import { buildUnknown } from './llama-like';
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

/** Stages and figures of a config, or a `ConfigError`. */
export function buildArchitecture(config: ModelConfig): Architecture {
  const family = BY_TYPE.get(config.model_type);
  if (family) return family.build(new ConfigReader(config, config.model_type));
  return buildUnknown(config);
}
