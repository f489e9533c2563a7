import { ELEMENT_BYTES, type Tensor, type Weight } from '../tape';
import { localRows } from '../tensor-parallel';
import type { Tracer } from '../tracer';
import type { HeadSpec } from './head-spec';

/**
 * Head and cross-entropy chunk by chunk with autograd's own operators: every chunk of logits is a tensor of its own, so that
 * only one chunk's gradient exists at a time.
 *
 * `head-chunks`: litgpt's fine-tuning (`lora.py`, `lm_head_chunk_size=128`, and `utils.py`, `chunked_cross_entropy`): 128
 * positions each. Lightning gives the model's result back in fp32 (`plugins/precision/half.py`, `bitsandbytes.py`,
 * `convert_output`), so logits and log-softmax are fp32, and all of the latter is kept. `chunked`: torchtune's
 * `CEWithChunkedOutputLoss`, 8 chunks, upcast one after the other; compiled, it keeps the logits and computes their gradient
 * from them, else the fp32 log-softmax. From `[b, s, h]` to the loss, `[1]`.
 */
export function chunkedHead(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const { loss, batch, autocast, computeDtype, compiled, keptLogits } = t.settings;
  const width = hidden.shape.at(-1) ?? 0;
  const whole = t.gatherSequence(hidden);
  const tokens = whole.elements / width;
  const rows = localRows(spec.vocabulary, t.settings);
  const dtype = autocast ? computeDtype : hidden.dtype;
  const input = t.cast(whole, dtype, `${spec.name}.cast`);
  const bytes = ELEMENT_BYTES[dtype];
  const chunkTokens = loss === 'chunked' ? Math.ceil(tokens / 8) : Math.min(tokens, batch * 128);
  const litgpt = loss === 'head-chunks';
  const wide = litgpt || !compiled;
  // Results of the head, and what the loss is given.
  const narrowLogits = tokens * rows * bytes;
  const logits = litgpt ? tokens * rows * ELEMENT_BYTES.fp32 : narrowLogits;
  const chunk = chunkTokens * rows * (wide ? ELEMENT_BYTES.fp32 : bytes);
  const weight = t.weight({
    name: `${spec.name}.weight`,
    shape: [spec.vocabulary, width],
    local: [rows, width],
    role: 'head',
    tiedTo: spec.tiedTo,
    quantizable: t.settings.quantizedHead,
  });
  const weights: Weight[] = [weight];
  if (spec.bias) {
    weights.push(t.weight({ name: `${spec.name}.bias`, shape: [spec.vocabulary], local: [rows] }));
  }
  // What the loss keeps: the fp32 log-softmax, or the logits as they are.
  const lossKeeps = wide ? tokens * rows * ELEMENT_BYTES.fp32 : logits;
  const branch = adapterBranch(t, spec, { input, width, rows, chunkTokens, bytes, chunk });
  weights.push(...branch.weights);
  const saves = (litgpt ? lossKeeps : 0) + branch.saves;
  // While the head runs: its results, an unpacked weight, an adapter's branch for one chunk.
  let making = narrowLogits + branch.making;
  // The gradient of the log-probabilities and that of the logits.
  let backward = (litgpt ? 2 * chunk : 0) + branch.backward;
  const weightBytes = weight.localElements * bytes;
  const quantized = weight.quantization !== 'none';
  if (quantized) {
    making += weightBytes * t.unpackedCopies;
    backward += weightBytes * t.unpackedCopies;
  }
  // The next chunk's part of the weight's gradient, before it is added.
  if (weight.trainable) backward += weightBytes;
  // The first two are views, whose sum is a third tensor; two chunks of the logits' gradient are gone by then.
  if (weight.trainable && !litgpt && chunkTokens < tokens)
    backward += Math.max(0, weightBytes - 2 * chunkTokens * rows * bytes);
  if (keptLogits !== undefined && keptLogits !== 'none') t.keep(logits);
  // litgpt converts all of them, then takes the loss; logits of the step before, where the loop keeps them, make room
  // in between. torchtune upcasts chunk by chunk.
  const converting = litgpt ? narrowLogits + logits + (branch.shifts ? narrowLogits : 0) : 0;
  const taking = saves + (keptLogits === 'next-step' ? 0 : logits);
  const forward = litgpt ? Math.max(making, converting, taking) - saves : making - narrowLogits;
  const keepsInput =
    weights.some((w) => w.trainable) || (quantized && t.settings.behaviours.quantizedKeepsInput);
  const product = 2 * tokens * rows * width;
  const result = t.fused({
    name: `${spec.name}.chunks`,
    inputs: [input],
    outputs: [litgpt ? { shape: [1], dtype: 'fp32' } : { shape: [tokens, rows], dtype }],
    savesInputs: keepsInput ? [input] : [],
    savesBytes: saves,
    forwardScratch: forward,
    backwardScratch: backward,
    weights,
    flops: product + branch.flops,
    backwardFlops: (weight.trainable ? 2 : 1) * product + 2 * branch.flops,
    kind: 'logits',
    expensive: true,
  });
  if (litgpt) return result;
  t.endHead(Math.ceil(tokens / chunkTokens));
  return chunkedLoss(t, result, lossKeeps, chunk);
}

/** What an adapter of the head adds to its passage, in bytes. */
interface AdapterBranch {
  readonly weights: readonly Weight[];
  readonly saves: number;
  readonly making: number;
  readonly backward: number;
  /** Products with its two factors. */
  readonly flops: number;
  /** LLaMA-Adapter 2 shifts and scales every chunk's result, and keeps the shifted one. */
  readonly shifts: boolean;
}

/** Of a head `[rows, width]` that is given `[tokens, width]`, `chunkTokens` at a time, in elements of so many bytes. */
function adapterBranch(
  t: Tracer,
  spec: HeadSpec,
  head: {
    readonly input: Tensor;
    readonly width: number;
    readonly rows: number;
    readonly chunkTokens: number;
    readonly bytes: number;
    /** Bytes of a chunk as the loss takes it. */
    readonly chunk: number;
  },
): AdapterBranch {
  const { adapter } = t.settings;
  const { input, width, rows, bytes } = head;
  const tokens = input.elements / width;
  const chunkLogits = head.chunkTokens * rows * bytes;
  if (adapter?.kind === 'llama-adapter-v2') {
    const narrowLogits = tokens * rows * bytes;
    return {
      weights: ['adapter_bias', 'adapter_scale'].map((name) =>
        t.adapterWeight(`${spec.name}.${name}`, [spec.vocabulary], [rows]),
      ),
      saves: narrowLogits,
      making: narrowLogits + chunkLogits,
      backward: 2 * chunkLogits,
      flops: 0,
      shifts: true,
    };
  }
  if (!adapter?.targets(spec.name, 'head'))
    return { weights: [], saves: 0, making: 0, backward: 0, flops: 0, shifts: false };
  const { rank, dropout } = adapter;
  const weights = [
    t.adapterWeight(`${spec.name}.lora_A.weight`, [rank, width]),
    t.adapterWeight(`${spec.name}.lora_B.weight`, [spec.vocabulary, rank], [rows, rank]),
  ];
  return {
    weights,
    // The dropped input and its mask, the low-rank products; per chunk the branch's result and its scaled copy.
    saves: input.elements * (dropout > 0 ? bytes + 1 : 0) + tokens * rank * bytes,
    making: 2 * chunkLogits,
    backward: head.chunk,
    flops: 2 * tokens * weights.reduce((sum, weight) => sum + weight.localElements, 0),
    shifts: false,
  };
}

/**
 * torchtune's loss of logits `[tokens, V]`, chunk by chunk of so many bytes. All chunks run backward before the head does: as one's
 * log-softmax goes, its gradient comes.
 */
function chunkedLoss(t: Tracer, logits: Tensor, keeps: number, chunk: number): Tensor {
  const wide = !t.settings.compiled;
  return t.fused({
    name: 'loss.chunks',
    inputs: [logits],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: wide ? [] : [logits],
    savesBytes: wide ? keeps : 0,
    forwardScratch: wide ? chunk : 0,
    // The gradient of the log-probabilities and that of the logits; compiled, one kernel makes the latter at once.
    backwardScratch: wide ? 2 * chunk : chunk,
    gradRules: ['reuse'],
    kind: 'logits',
  });
}
