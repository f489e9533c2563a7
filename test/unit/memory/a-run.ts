import type { Accelerator } from '../../../server/src/hardware/accelerator';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import { FIELDS, type RunValues, type TrainingRun } from '../../../server/src/run/fields';

/** The vocabulary's defaults, and of what has none the plainest. */
const PLAIN = {
  ...Object.fromEntries(
    Object.entries(FIELDS).flatMap(([path, spec]) => ('default' in spec ? [[path, spec.default]] : [])),
  ),
  'hardware.gpu': 'A100-SXM4-80GB',
  'hardware.gpus': 1,
  'batch.micro': 1,
  'batch.sequence': 1024,
};

/** A complete run: the vocabulary's defaults, one GPU, and what the test states. */
export function aRun(values: RunValues): TrainingRun {
  return { ...PLAIN, ...values } as TrainingRun;
}

/** A card of 80 GiB without surprises. */
export const CARD: Accelerator = {
  name: 'A100-SXM4-80GB',
  aliases: [],
  vendor: 'NVIDIA',
  architecture: 'Ampere',
  marketedGb: 80,
  totalBytes: 80 * 2 ** 30,
  usableBytes: 79 * 2 ** 30,
  usableIsDerived: false,
  denseFlops: { bf16: 312e12 },
  computeCapability: '8.0',
  multiprocessors: 108,
  fastestFlops: { bf16: 271.2e12 },
  networkGbits: { usual: 1600, slowest: 400 },
  supports: { bf16: true, fp8: false, flash2: true, flash3: false },
  sources: [],
};

/** A model from config fields; fails the test where the config is refused. */
export function aModel(config: Record<string, unknown>): Model {
  const model = modelFromConfig(config, String(config.model_type), 'inline');
  if ('error' in model) throw new Error(model.error);
  return model;
}

/** A Llama of 542 M parameters, whose steps were simulated in PyTorch. */
export const SMALL_LLAMA = {
  model_type: 'llama',
  hidden_size: 2048,
  num_hidden_layers: 8,
  num_attention_heads: 32,
  num_key_value_heads: 32,
  intermediate_size: 5632,
  vocab_size: 32000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
  max_position_embeddings: 4096,
};
