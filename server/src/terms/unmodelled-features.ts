/**
 * Features of a run that are known and not part of the estimate. `adds`: with it a run needs more than is estimated, `saves`:
 * less, `either`: which of the two hangs on more than the files say.
 */
const UNMODELLED_FEATURES = {
  'multi-token-prediction': 'adds',
  'deferred-embedding-gradient': 'adds',
  'distillation-teacher': 'adds',
  'model-beside': 'adds',
  'value-heads': 'adds',
  'rollout-buffers': 'adds',
  'fake-quantization': 'adds',
  'reference-model': 'adds',
  'vision-tower': 'adds',
  'sound-tower': 'adds',
  'speech-generator': 'adds',
  'states-without-kernels': 'adds',
  'own-adapters': 'adds',
  'canvas-decoder': 'either',
  'attention-residuals': 'either',
  'written-out-attention': 'adds',
  'frozen-modules': 'saves',
  'part-checkpoints': 'saves',
  'raised-states': 'adds',
  'kept-gathers': 'adds',
  'muon-step': 'adds',
  'partial-quantization': 'adds',
  'absent-config': 'saves',
  'open-branch': 'either',
  'open-words': 'either',
  'open-value': 'either',
  'open-code': 'either',
  'activation-offload': 'saves',
  'fp8-training': 'saves',
  'adapter-kind': 'saves',
  'tiled-mlp': 'saves',
  'split-scores': 'saves',
  'block-compile': 'saves',
  'adapted-sound-tower': 'saves',
  'block-training': 'saves',
  'experts-on-host': 'saves',
  'layer-offload': 'saves',
  'token-dropping': 'saves',
  'mixture-of-depths': 'saves',
  'expert-recomputation': 'saves',
  compression: 'either',
  'sparse-attention': 'either',
  'quantized-communication': 'either',
  'partial-offload': 'either',
  'megatron-backend': 'either',
  'hyper-parallel': 'either',
  'cuda-graphs': 'either',
  'task-head': 'either',
  'class-checkpointing': 'either',
  'cut-image-tokens': 'either',
  'boft-rotation': 'either',
  'adapter-variant': 'either',
  'megatron-fsdp-experts': 'either',
  'model-of-the-script': 'either',
  'other-value-model': 'either',
  'own-trainer': 'either',
  recipe: 'either',
  'own-parallelism': 'either',
  'reward-model': 'adds',
} as const satisfies Readonly<Record<string, 'adds' | 'saves' | 'either'>>;
export type UnmodelledFeature = keyof typeof UNMODELLED_FEATURES;

/** What the features of a run do together to what is estimated; undefined where there are none. */
export function effectOf(features: readonly string[]): 'adds' | 'saves' | 'either' | undefined {
  const effects = new Set(
    features.map((name) => (UNMODELLED_FEATURES as Readonly<Record<string, string>>)[name] ?? 'either'),
  );
  if (effects.size === 0) return undefined;
  if (effects.size > 1) return 'either';
  return effects.has('adds') ? 'adds' : effects.has('saves') ? 'saves' : 'either';
}

/** Whether all that keeps a run from a verdict is not known of it, and nothing is that is known and not modelled. */
export const isOpenOnly = (features: readonly string[] = []): boolean =>
  features.length > 0 && features.every((name) => name.startsWith('open-'));
