import { isRounded } from '../fake-quantization';
import { ELEMENT_BYTES, type Tensor, type TensorDType, type Weight } from '../tape';
import { localRows, logitsOf } from '../tensor-parallel';
import type { Tracer } from '../tracer';
import { chunkedHead } from './chunked-head';
import { distillationHead } from './distillation';
import { fusedChunkBytes } from './fused-chunks';
import type { HeadSpec } from './head-spec';
import {
  checkpointedChunks,
  chunkedLogProbabilities,
  ofSample,
  scoredPositions,
  smoothedLoss,
  smoothsLabels,
  takesLogProbabilities,
  tokenLogProbabilities,
  withRouterLoss,
  withZLoss,
} from './log-probabilities';
import { sizedChunk } from './sized-chunks';

/**
 * Output projection and cross-entropy over `hidden` of `[b, s, h]`.
 *
 * The plain path of transformers keeps `2 + 4 + 4` bytes per logit at its highest forward point and 12 when the
 * gradient of the log-softmax is made; the fused ones never hold all logits.
 */
export function languageModelHead(t: Tracer, last: Tensor, spec: HeadSpec): Tensor {
  return withRouterLoss(t, headAndLoss(t, scoredPositions(t, last), spec));
}

function headAndLoss(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const { loss } = t.settings;
  const distilled = distillationHead(t, hidden, spec);
  if (distilled) return distilled;
  if (loss === 'log-probabilities-chunked') return chunkedLogProbabilities(t, hidden, spec);
  if (loss === 'checkpointed-chunks' || loss === 'checkpointed-chunks-fp32')
    return checkpointedChunks(t, hidden, spec);
  if (FUSED_WITH_HEAD.has(loss)) return fusedHead(t, hidden, spec);
  if (loss === 'head-chunks' || loss === 'chunked') return chunkedHead(t, hidden, spec);
  return t.scope(() => {
    // The model's output object holds the last hidden state until the loss is there.
    t.hold(hidden);
    let logits = t.linear(hidden, {
      name: spec.name,
      out: spec.vocabulary,
      bias: spec.bias,
      split: 'vocabulary',
      role: 'head',
      tiedTo: spec.tiedTo,
      kind: 'logits',
    });
    // `logits = logits * ...`: the name goes to each result in turn.
    if (spec.scale) logits = t.scale(logits, `${spec.name}.scale`);
    if (spec.widened && t.settings.behaviours.widensGraniteLogits)
      logits = t.cast(logits, 'fp32', `${spec.name}.float`);
    if (spec.addsBuffer) {
      const zeros = t.input(
        [1, logits.shape.at(-1) ?? 1],
        t.settings.weightDtype,
        false,
        'final_logits_bias',
      );
      logits = t.add(logits, zeros, 'final_logits_bias');
    }
    // Unsloth's kernel caps each logit as it is read (`kernels/cross_entropy_loss.py`, `DO_SOFTCAPPING`).
    if (spec.softcap && !(t.settings.unsloth && loss === 'in-place')) {
      const capped = t.keepOutput(t.scale(logits, `${spec.name}.cap`), `${spec.name}.tanh`);
      logits = t.scale(capped, `${spec.name}.uncap`);
    }
    t.endHead();
    // Where the trainer takes the loss, the model has returned and names its logits no more. `logits = logits.float()`
    // gave their name to the copy (transformers before 4.46).
    const returned = takesLogProbabilities(t) || smoothsLabels(t);
    const shifted = spec.ownTypeOnce === true && t.settings.behaviours.lossInLogitsType;
    const ownType = spec.ownType === true || shifted;
    const renamed = t.settings.loss === 'full-upcast' && !ownType;
    const scored = returned || renamed ? logits : t.hold(logits);
    const whole = (x: Tensor) => t.copy(x, [...x.shape.slice(0, -1), spec.vocabulary], 'loss.full_tensor');
    const gathers = logitsOf(t.settings) === 'by-loss' ? whole : undefined;
    return withZLoss(t, logits, tokenLoss(t, scored, ownType, shifted, gathers));
  });
}

/**
 * Cross-entropy of logits `[b, s, V]` against token ids. `gathers` makes the whole of what a tensor-parallel rank has of them: of
 * their fp32 copy where that is made of all logits, which is before.
 */
function tokenLoss(
  t: Tracer,
  given: Tensor,
  ownType = false,
  shifted = false,
  gathers?: (x: Tensor) => Tensor,
): Tensor {
  const { batch, autocast } = t.settings;
  const late = /^full/.test(t.settings.loss) && !ownType && !takesLogProbabilities(t) && !smoothsLabels(t);
  const logits = gathers && !late ? t.hold(gathers(given)) : given;
  if (takesLogProbabilities(t)) return tokenLogProbabilities(t, logits);
  if (smoothsLabels(t)) return smoothedLoss(t, logits);
  const native = ownType && t.settings.loss.startsWith('full');
  const scored = native && shifted && batch > 1 ? t.hold(t.copy(logits, logits.shape, 'loss.shift')) : logits;
  if (native && autocast) return castNegativeLogLikelihood(t, logits, scored);
  const loss = native ? 'native' : t.settings.loss;
  if (loss === 'vocab-parallel') {
    return t.settings.behaviours.writesOutSplitLoss
      ? lossParallel(t, logits)
      : vocabularyParallelLoss(t, logits);
  }
  if (loss === 'vocab-parallel-compiled') return vocabularyParallelLoss(t, logits, true);
  if (loss === 'compiled') return compiledLoss(t, logits);
  if (loss === 'compiled-chunks') return compiledChunks(t, logits);
  if (loss === 'in-place') return inPlaceLoss(t, logits);
  if (loss === 'row-chunks') return rowChunkedLoss(t, logits);
  let wide = scored;
  // Autocast casts what the loss is given: the copies before are of the logits' own type.
  if (loss === 'full-autocast' && batch > 1) wide = t.hold(t.copy(wide, wide.shape, 'loss.shift'));
  if (loss !== 'native') wide = t.cast(wide, 'fp32', 'loss.float');
  if (gathers && late) wide = t.hold(gathers(t.hold(wide)));
  if (loss === 'full-upcast' || loss === 'full-shifted') t.hold(wide);
  // What the loop keeps is the model's result: upcast inside the model, else as it came from the head.
  keepLogits(t, loss === 'full-upcast' ? wide : logits, wide);
  // `logits[..., :-1, :].contiguous()` copies unless there is one sample, whose slice is contiguous already.
  if ((loss === 'full-shifted' || loss === 'full-upcast') && batch > 1)
    wide = t.hold(t.copy(wide, wide.shape, 'loss.shift'));
  const logProbabilities = t.softmax(wide, 'loss.log_softmax');
  return t.fused({
    name: 'loss.nll',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: wide.dtype }],
    savesInputs: [],
    kind: 'logits',
  });
}

/**
 * `F.cross_entropy` states the type of its log-softmax (`LossNLL.cpp`, `cross_entropy_loss`), which autocast
 * leaves alone then; the likelihood after it is on autocast's fp32 list and keeps what it is given. Accelerate returns
 * the logits in fp32 (`convert_outputs_to_fp32`).
 */
function castNegativeLogLikelihood(t: Tracer, logits: Tensor, scored: Tensor): Tensor {
  keepLogits(t, logits);
  const loss = keptLikelihood(t, t.cast(t.softmax(scored, 'loss.log_softmax'), 'fp32', 'loss.float'));
  t.cast(logits, 'fp32', 'convert_outputs');
  return loss;
}

/** The mean negative log-likelihood, `[1]`, that keeps the log-probabilities it is given. */
export function keptLikelihood(t: Tracer, logProbabilities: Tensor): Tensor {
  return t.fused({
    name: 'loss.nll',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [logProbabilities],
    kind: 'logits',
  });
}

/** What the loop keeps; the softmax that some keep beside the logits is of the type and size of those that are scored. */
function keepLogits(t: Tracer, logits: Tensor, scored = logits): void {
  const { keptLogits } = t.settings;
  if (keptLogits === undefined || keptLogits === 'none') return;
  const softmax = keptLogits === 'backward-with-softmax' ? scored.storage.bytes : 0;
  t.keep(logits.storage.bytes + softmax);
}

/**
 * torch.compile fuses the upcast, the log-softmax and its gradient: what lives are the logits in their own type, two
 * numbers per row, and the logits' gradient in their own type (torchtitan, `components/loss.py`). From logits `[b, s, V]` to the loss, `[1]`.
 */
export function compiledLoss(t: Tracer, logits: Tensor, backwardScratch = 0): Tensor {
  const rows = logits.elements / (logits.shape.at(-1) ?? 1);
  return t.fused({
    name: 'loss.compiled',
    inputs: [logits],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [logits],
    savesBytes: 2 * rows * ELEMENT_BYTES.fp32,
    backwardScratch,
    kind: 'logits',
  });
}

/**
 * The same for each of eight chunks of the logits, whose gradients are concatenated when all are there (Axolotl,
 * `monkeypatch/loss/chunked.py`). The logits are returned beside the loss: Accelerate makes a copy in fp32 of them under autocast.
 */
function compiledChunks(t: Tracer, logits: Tensor): Tensor {
  const loss = compiledLoss(t, logits, logits.elements * ELEMENT_BYTES[logits.dtype]);
  if (t.settings.autocast) t.cast(logits, 'fp32', 'convert_outputs');
  return loss;
}

/**
 * One kernel that keeps the logits and one number per row, and writes the gradient over the logits (Unsloth,
 * `kernels/cross_entropy_loss.py`; Liger, `ops/cross_entropy.py`). Unsloth's models return their logits beside the loss, of which
 * Accelerate makes a copy in fp32 under autocast (`convert_outputs_to_fp32`).
 */
function inPlaceLoss(t: Tracer, logits: Tensor): Tensor {
  const rows = logits.elements / (logits.shape.at(-1) ?? 1);
  const loss = t.fused({
    name: 'loss.in_place',
    inputs: [logits],
    gradRules: [logits.requiresGrad ? 'reuse' : 'none'],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [logits],
    savesBytes: rows * ELEMENT_BYTES.fp32,
    kind: 'logits',
  });
  if (t.settings.unsloth && t.settings.autocast) t.cast(logits, 'fp32', 'convert_outputs');
  return loss;
}

/**
 * litgpt's `chunked_cross_entropy` of all logits (`utils.py`): in fp32, as Lightning gives the model's result back
 * (`plugins/precision/half.py`), shifted, which copies unless there is one sample, split into chunks of 128 rows. The
 * chunks' gradients are concatenated.
 */
function rowChunkedLoss(t: Tracer, logits: Tensor): Tensor {
  const wide = t.hold(t.cast(logits, 'fp32', 'loss.convert_output'));
  keepLogits(t, wide);
  const shifted = t.settings.batch > 1 ? t.copy(wide, wide.shape, 'loss.shift') : wide;
  return t.fused({
    name: 'loss.row_chunks',
    inputs: [shifted],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: wide.storage.bytes,
    kind: 'logits',
  });
}

/**
 * Megatron: one fp32 copy is turned into softmax and then into the gradient in place; a mask and a masked id per token are
 * kept beside it (`tensor_parallel/cross_entropy.py`). Its fusion compiles the same lines with `torch.compile`, which makes
 * no `index_put` on an argument in place that is written again after it: backward subtracts the targets from a second fp32
 * copy (`fusions/fused_cross_entropy.py`, `calculate_gradients`; `torch/_inductor/fx_passes/reinplace.py`).
 */
function vocabularyParallelLoss(t: Tracer, logits: Tensor, compiled = false): Tensor {
  const tokens = logits.elements / (logits.shape.at(-1) ?? 1);
  const wide = logits.elements * ELEMENT_BYTES.fp32;
  return t.fused({
    name: 'loss.vocab_parallel',
    inputs: [logits],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: wide + tokens * (ELEMENT_BYTES.bool + ELEMENT_BYTES.int64),
    backwardScratch: compiled ? wide : 0,
    kind: 'logits',
  });
}

/**
 * PyTorch's `loss_parallel`, over fp32 logits of this rank's rows of the vocabulary. Its log-softmax is written out:
 * shifted logits and their exponential, then the result, which is kept; backward makes the one-hot gradient, adds the
 * exponential and multiplies, each into a new tensor (`distributed/tensor/parallel/loss.py`, `_log_softmax`,
 * `_nll_loss_and_log_softmax_backward`).
 */
function lossParallel(t: Tracer, logits: Tensor): Tensor {
  const wide = t.cast(logits, 'fp32', 'loss.float');
  const bytes = wide.elements * ELEMENT_BYTES.fp32;
  return t.fused({
    name: 'loss.loss_parallel',
    inputs: [wide],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: bytes,
    forwardScratch: bytes,
    backwardScratch: 2 * bytes,
    kind: 'logits',
  });
}

/** Losses that make no logits of the whole batch. */
const FUSED_WITH_HEAD: ReadonlySet<string> = new Set([
  'liger',
  'cut',
  'budgeted-chunks',
  'free-chunks',
  'half-free-chunks',
  'fused-chunks',
  'linear-chunked',
]);

/** Those of Unsloth, which give their gradients in forward. */
const CHUNKS_IN_FORWARD: ReadonlySet<string> = new Set([
  'budgeted-chunks',
  'free-chunks',
  'half-free-chunks',
  'fused-chunks',
]);

/**
 * Bytes at the highest moment of a chunk (`ops/fused_linear_cross_entropy.py`), over `input` of `[b, s, h]`: its logits, which become
 * their gradient in place, and its part of the weight's gradient with the fp32 copy of it, which 0.8.3 adds up in place. Under autocast
 * each product with `weight.t()`, a view, casts it anew; the copy for the product with the weight itself is cached from the first chunk on
 * where the weight is trained (`autocast_mode.cpp`, `cached_cast`).
 */
function ligerChunk(t: Tracer, input: Tensor, weight: Weight, dtype: TensorDType, rows: number): number {
  const { autocast, behaviours } = t.settings;
  const width = input.shape.at(-1) ?? 1;
  const tokens = input.elements / width;
  const bytes = ELEMENT_BYTES[dtype];
  const increments = Math.ceil(rows / width);
  const chunk = Math.min(tokens, 2 ** Math.ceil(Math.log2(Math.max(1, Math.ceil(tokens / increments)))));
  const logits = chunk * rows * bytes;
  const added =
    behaviours.ligerAddsInPlace || !weight.trainable
      ? 0
      : (bytes + ELEMENT_BYTES.fp32) * weight.localElements;
  if (!autocast) return logits + added;
  const copy = weight.dtype === dtype ? 0 : weight.localElements * bytes;
  const cached = weight.trainable ? copy : 0;
  const narrow = input.dtype === dtype ? 0 : chunk * width * bytes;
  const scored = copy + narrow + (chunk < tokens ? cached : 0);
  return logits + Math.max(scored, copy + chunk * width * bytes, cached + narrow + added);
}

/**
 * Head and loss in one operator, by chunks of tokens. Liger computes the gradients in forward and keeps them until
 * backward (`ops/fused_linear_cross_entropy.py`); torchtune keeps each chunk's fp32 log-softmax; cut cross-entropy
 * keeps one number per token.
 */
function fusedHead(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const width = hidden.shape.at(-1) ?? 0;
  const whole = t.gatherSequence(hidden);
  const tokens = whole.elements / width;
  const rows = localRows(spec.vocabulary, t.settings);
  const { autocast, computeDtype, weightDtype, wideActivations } = t.settings;
  const own = wideActivations === true ? weightDtype : hidden.dtype;
  const dtype = autocast ? computeDtype : own;
  const liger = t.settings.loss === 'liger';
  const inForward = liger || CHUNKS_IN_FORWARD.has(t.settings.loss);
  const fused = t.settings.loss === 'fused-chunks';
  // Liger's function and Unsloth's of today take what they are given, and cast chunk by chunk.
  const input = (liger && autocast) || fused ? whole : t.cast(whole, dtype, `${spec.name}.cast`);
  const bytes = ELEMENT_BYTES[dtype];
  const weight = t.weight({
    name: `${spec.name}.weight`,
    shape: [spec.vocabulary, width],
    local: [rows, width],
    role: 'head',
    tiedTo: spec.tiedTo,
  });
  const flops = 2 * tokens * rows * width;
  const weightBytes = weight.localElements * bytes;
  // `zeros_like(weight)`: under autocast the gradient that Liger adds up is of the weight's own type.
  const gradBytes = liger && autocast ? weight.localElements * ELEMENT_BYTES[weight.dtype] : weightBytes;
  const gradWeight = weight.trainable ? gradBytes : 0;
  let saves = tokens * ELEMENT_BYTES.fp32;
  let forward = 0;
  let backward = 0;
  if (liger) {
    saves = 0;
    forward = ligerChunk(t, input, weight, dtype, rows);
    // Its preference losses go pair by pair, those of GRPO sample by sample: logits and their gradient, compiled, and the
    // chunk's part of the weight's gradient (`chunked_loss/fused_linear_preference.py`, `fused_linear_ppo.py`).
    const sample = ofSample(t, tokens);
    if (sample !== undefined) forward = 2 * sample * rows * bytes + gradWeight;
  } else if (fused) {
    saves = 0;
    forward = fusedChunkBytes(t, input, weight, dtype, rows);
  } else if (inForward) {
    // Gradients are computed in forward, chunk by chunk and compiled: logits and their gradient, which Inductor gives a buffer of
    // its own because the chosen logits are read after it, and the chunk's part of the weight's gradient (`UnslothFusedLoss.forward`).
    const inputs = tokens * width * bytes;
    saves = 0;
    forward = 2 * sizedChunk(tokens, rows, inputs + 2 * gradWeight, t.settings) * rows * bytes + gradWeight;
  } else if (t.settings.loss === 'linear-chunked') {
    const chunk = Math.ceil(tokens / 8);
    saves = tokens * rows * ELEMENT_BYTES.fp32;
    forward = (chunk * rows * ELEMENT_BYTES.fp32) / 2;
    backward = chunk * rows * ELEMENT_BYTES.fp32 * 2;
  } else {
    backward = gradWeight;
  }
  // Unsloth's own layers round the head's weight for the loss (`llama.py`, `fake_quantize_lm_head_inputs`); its compiled models pass it as it is.
  if (t.settings.unsloth === true && isRounded(weight, t.settings.fakeQuantization)) forward += weightBytes;
  return t.fused({
    name: `${spec.name}.fused_loss`,
    inputs: [input],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: inForward ? [] : [input],
    savesBytes: saves,
    forwardScratch: forward,
    backwardScratch: backward,
    weights: [weight],
    flops,
    backwardFlops: (weight.trainable ? 2 : 1) * flops,
    kind: 'logits',
    expensive: true,
    // `ctx.saved_tensors` of Liger's function hold the gradients themselves (`ops/fused_linear_cross_entropy.py`); Unsloth's multiplies
    // them by that of the loss, out of place (`fused_losses/cross_entropy_loss.py`).
    keepsGradients: inForward ? (liger ? 'returned' : 'copied') : undefined,
    ownsGradients: t.settings.loss !== 'linear-chunked',
  });
}
