import { isNone, isTrue } from '../../config/python/node-of-value';
import type { PyArgument, PyCall, PyValue } from '../../config/python/value';
import { castsWeights } from '../../config/python/weight-casts';
import type { FieldPath } from '../../run/fields';
import type { Fact } from '../../run/origin';
import { fileIn, PYTORCH, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { RefusalDetail } from '../draft';
import { argumentsOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';

const SCALER = fileIn(PYTORCH, 'torch/amp/grad_scaler.py');
const KERNEL = fileIn(PYTORCH, 'aten/src/ATen/native/cuda/AmpKernels.cu');

/** Trainers of TRL that cast adapters of quantized weights to bf16, by their methods, and the first release in which they do. */
const CASTS_ADAPTERS: Readonly<Record<string, string>> = {
  sft: '0.26',
  grpo: '0.26',
  reward: '0.26',
  rloo: '0.27',
  dpo: '0.29',
};
const TRL_CASTS = fileIn(TRL, 'trl/trainer/sft_trainer.py');

/** Arguments that give the scaling of losses to another library, or the training to another device. */
const SCALES_OTHERWISE =
  /^(?:deepspeed|fsdp|fsdp_config|half_precision_backend|fp16_backend|fp16_opt_level|accelerator_config|use_cpu|no_cuda|parallelism_config|use_ipex)$/;
/** Methods that run a function over all of a model, which may cast it. */
const APPLIES = /^_?apply$/;

/** A run of the Trainer, or of a trainer of TRL with its method. */
interface ScaledRun {
  readonly call: PyCall;
  readonly config: PyCall | undefined;
  readonly chain: ModelChain;
  readonly method?: string;
}

/** A type that gradients have, and how surely. */
interface GradientType {
  readonly dtype: 'fp16' | 'bf16';
  readonly by: Pick<RefusalDetail, 'source' | 'releases'>;
}

/**
 * With `fp16` the Trainer scales losses, and the scaler divides gradients of fp32 alone: of trained weights in fp16 it refuses them, for
 * those in bf16 CUDA has no kernel (PyTorch up to 2.13; pytorch/pytorch#127176). Such a run stops at its first optimizer step.
 */
export function checkScaledGradients(calls: Calls, run: ScaledRun, context: ReadContext): void {
  const { draft, program } = calls;
  const { call, config } = run;
  if (!config || call.subclass !== undefined || config.subclass !== undefined || config.open) return;
  const given = argumentsOf(program, config);
  const isOn = ({ value }: PyArgument) => isTrue(value);
  const fp16 = given.find(({ key }) => key === 'fp16');
  const bf16 = given.find(({ key }) => key === 'bf16');
  // Both together are refused before.
  if (!fp16 || !isOn(fp16) || (bf16 && isOn(bf16)) || scalesOtherwise(given, context) || changesTypes(calls))
    return;
  const type = gradientType(calls, run, context);
  if (!type) return;
  // Only what clips takes the way that refuses fp16: a fused step scales its own.
  if (type.dtype === 'fp16' && given.some(({ key, value }) => key === 'max_grad_norm' && isNothing(value)))
    return;
  const message =
    type.dtype === 'fp16'
      ? say(
          'What is trained is in fp16, and `fp16` scales its gradients: the first step stops with `Attempting to unscale FP16 gradients`.',
        )
      : say(
          'What is trained is in bf16, and `fp16` scales its gradients, for which CUDA has no kernel: the first step stops with a `NotImplementedError`.',
        );
  const renames = !bf16 && config.named.includes(fp16);
  const data = renames ? { replacement: 'bf16', suggestions: ['bf16'] } : {};
  draft.refuse('scaled-gradients', message, fp16.keyRange, { ...type.by, data });
}

const isNothing = (value: PyValue) => isNone(value) || (value.kind === 'scalar' && value.value === 0);

function scalesOtherwise(given: readonly PyArgument[], { known }: ReadContext): boolean {
  if (given.some(({ key, value }) => SCALES_OTHERWISE.test(key) && !isNone(value))) return true;
  const data = known['parallel.data'];
  return data !== undefined && data !== 'ddp' && data !== 'none';
}

/** Whether something that is not read, or that is, may change the types of what is trained before it is trained. */
function changesTypes({ draft, program }: Calls): boolean {
  return (
    draft.unread.some(({ kind }) => kind === 'script' || kind === 'words') ||
    program.assignments.some(({ attribute }) => /(?:^|\.)data$/.test(attribute)) ||
    program.calls.some(({ callee }) => /(?:^|\.)cast_training_params$/.test(callee))
  );
}

/** Whether a model is cast, and adapters in it with it. */
const isCast = ({ program }: Calls, { ids }: ModelChain): boolean =>
  program.calls.some(
    (call) => call.of && ids.has(call.of.id) && (castsWeights(call) || APPLIES.test(call.callee)),
  );

function gradientType(
  calls: Calls,
  { method, chain }: ScaledRun,
  { known }: ReadContext,
): GradientType | undefined {
  const { draft } = calls;
  // Of a later release nobody knows.
  const lasts = isAtLeast(known['version.torch'], '2.14') !== true;
  const factOf = (field: FieldPath): Fact | undefined => draft.facts.find((one) => one.field === field);
  const sixteen = (fact: Fact | undefined) =>
    fact?.value === 'fp16' || (fact?.value === 'bf16' && lasts) ? fact.value : undefined;
  const by = (dtype: 'fp16' | 'bf16') => ({ dtype, by: { source: dtype === 'fp16' ? SCALER : KERNEL } });
  const weights = factOf('precision.weights');
  const isStated = weights?.origin.kind === 'file';
  const quantized = (draft.valueOf('quantization.kind') ?? known['quantization.kind'] ?? 'none') !== 'none';
  const kind = draft.valueOf('method.kind');
  if (kind === 'full' || kind === 'freeze') {
    const dtype = isStated && !quantized ? sixteen(weights) : undefined;
    return dtype && by(dtype);
  }
  if (kind !== 'lora' || isCast(calls, chain)) return undefined;
  const adapters = factOf('lora.dtype');
  const dtype = sixteen(adapters);
  if (!dtype) return undefined;
  if (!quantized) return isStated && adapters?.value === weights?.value ? by(dtype) : undefined;
  const from = method === undefined ? undefined : CASTS_ADAPTERS[method];
  return from === undefined ? undefined : { dtype, by: { source: TRL_CASTS, releases: { from } } };
}
