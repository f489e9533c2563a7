import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { keptLikelihood } from './loss';

/**
 * Cross-entropy that a loop takes of the logits of a model that has returned, under autocast (allenai/OLMo, `olmo/train.py`, `model_forward`):
 * the shifted logits are made contiguous, which copies unless there is one sample, and both have names until the loss is there. From logits
 * `[b, s, V]` to the loss, `[1]`.
 */
export function lossOfReturnedLogits(t: Tracer, logits: Tensor): Tensor {
  const { batch, loss } = t.settings;
  const scored = batch > 1 ? t.hold(t.copy(logits, logits.shape, 'loss.shift')) : logits;
  return loss === 'compiled' ? flashLoss(t, scored) : plainLoss(t, scored);
}

/**
 * `F.cross_entropy` states the type of its log-softmax (`LossNLL.cpp`, `cross_entropy_loss`), which autocast leaves alone then; the
 * likelihood after it is on autocast's fp32 list and keeps what it is given, and so is the log-sum-exp beside it. From logits `[b, s, V]`
 * to the loss, `[1]`.
 */
export function plainLoss(t: Tracer, scored: Tensor): Tensor {
  const { autocast, zLoss } = t.settings;
  const raised = (x: Tensor, name: string) => (autocast ? t.cast(x, 'fp32', name) : x);
  const loss = keptLikelihood(t, raised(t.softmax(scored, 'loss.log_softmax'), 'loss.float'));
  if (!zLoss) return loss;
  const summed = raised(scored, 'loss.z.float');
  const bytes = summed.elements * ELEMENT_BYTES[summed.dtype];
  const z = t.fused({
    name: 'loss.z',
    inputs: [summed],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [summed],
    // `self - maxes`, whose exponential takes its place (`ReduceOps.cpp`, `logsumexp_out_impl`).
    forwardScratch: bytes,
    // The logits less their log-sum-exp, and the exponential of that (`FunctionsManual.cpp`, `logsumexp_backward`).
    backwardScratch: 2 * bytes,
    kind: 'logits',
  });
  return t.add(loss, z, 'loss.add_z');
}

/** flash-attn's kernel keeps the logits and one number per row, and makes the gradient in their type (`ops/triton/cross_entropy.py`). */
function flashLoss(t: Tracer, scored: Tensor): Tensor {
  const rows = scored.elements / (scored.shape.at(-1) ?? 1);
  return t.fused({
    name: 'loss.compiled',
    inputs: [scored],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [scored],
    savesBytes: rows * ELEMENT_BYTES.fp32,
    kind: 'logits',
  });
}
