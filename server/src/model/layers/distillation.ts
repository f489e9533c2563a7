import { ELEMENT_BYTES, type Tensor, type TensorDType, type Weight } from '../tape';
import { localRows } from '../tensor-parallel';
import type { TeacherForward, TraceSettings } from '../trace-settings';
import type { Tracer } from '../tracer';
import type { HeadSpec } from './head-spec';
import { scoredTokens } from './log-probabilities';

/** What a divergence takes of a tensor as large as the logits it is made of. */
interface Divergence {
  /** Kept for backward. */
  readonly kept: number;
  /** Highest beside both models' logits forward, what is kept included, and in backward beside what is kept. */
  readonly forward: number;
  readonly backward: number;
}

type Kind = NonNullable<TraceSettings['divergence']>;

/**
 * TRL's `generalized_jsd_loss` (`gkd_trainer.py`): both logits over the temperature, both log-softmaxes, then one or two
 * `F.kl_div`, written out as `exp(target) * (target - input)`, whose names all live until the function returns. The mixture
 * is a stack of both and its log-sum-exp. Masking copies the result.
 */
const WHOLE: Readonly<Record<Kind, Divergence>> = {
  forward: { kept: 2, forward: 7, backward: 2 },
  reverse: { kept: 3, forward: 8, backward: 3 },
  mixture: { kept: 7, forward: 15, backward: 5 },
};

/** Elements of one chunk of ms-swift (`gkd_loss.py`, `jsd_loss`), in tokens. */
const CHUNK_TOKENS = 512;

/** The same of one of its chunks, beside four whole tensors: both logits of the scored tokens, and both over the temperature. */
const OF_CHUNK: Readonly<Record<Kind, Divergence>> = {
  forward: { kept: 2, forward: 3, backward: 2 },
  reverse: { kept: 3, forward: 2, backward: 2 },
  mixture: { kept: 7, forward: 2, backward: 5 },
};

/**
 * Liger's fused divergence (`chunked_loss/fused_linear_distillation.py`): forward makes the student's gradients by
 * `grad_and_value`, whose graph lives as long. It counts its chunks by the first dimension, which is the batch.
 */
const FUSED: Readonly<Record<Kind, number>> = { forward: 7, reverse: 8, mixture: 17 };

/**
 * torchtune's (`modules/loss/kd_losses.py`), in tensors of the logits' elements in fp32: softmax and log-softmaxes, kept for
 * products that are masked, and a mask of one byte. Highest forward (both logits, which are in their own type, not counted)
 * and in backward.
 */
const IN_FP32: Readonly<Record<Kind, Divergence>> = {
  forward: { kept: 2, forward: 4, backward: 2 },
  reverse: { kept: 3, forward: 6, backward: 4 },
  mixture: { kept: 5, forward: 8, backward: 4 },
};

/**
 * Head of a student and its divergence from a teacher. Undefined where the loss is none that compares logits with a
 * teacher's. From `[b, s, h]` to the loss, `[1]`.
 */
export function distillationHead(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor | undefined {
  const { loss, teacher, divergence } = t.settings;
  if (!teacher || !divergence) return undefined;
  if (loss === 'liger') return fusedDivergence(t, hidden, spec, teacher, divergence);
  if (loss === 'log-probabilities-chunked') return tiledDivergence(t, hidden, spec, teacher);
  if (loss === 'chunked' || loss === 'native') return tuneDivergence(t, hidden, spec, teacher, divergence);
  if (!loss.startsWith('full') && loss !== 'divergence-chunks') return undefined;
  return t.scope(() => {
    const student = t.hold(returned(t, studentLogits(t, hidden, spec)));
    const teaching = t.hold(teacherLogits(t, student, teacher));
    return loss === 'divergence-chunks'
      ? chunkedDivergence(t, student, teaching, OF_CHUNK[divergence])
      : wholeDivergence(t, student, teaching, WHOLE[divergence]);
  });
}

/** The head as the model's forward runs it, which names the last hidden state until it returns. */
function studentLogits(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  return t.scope(() => {
    t.hold(hidden);
    const { name, bias, tiedTo, vocabulary: out } = spec;
    return t.linear(hidden, { name, out, bias, tiedTo, split: 'vocabulary', role: 'head', kind: 'logits' });
  });
}

/** Accelerate returns logits in fp32, the teacher's too (`convert_outputs_to_fp32`). */
function returned(t: Tracer, logits: Tensor): Tensor {
  return t.settings.autocast ? t.cast(logits, 'fp32', 'convert_outputs') : logits;
}

/**
 * The teacher's forward pass without a graph, after the student's: its layers, then its logits beside its last hidden state,
 * and their fp32 copies under autocast. `like` are the student's logits.
 */
function teacherLogits(t: Tracer, like: Tensor, teacher: TeacherForward): readonly Tensor[] {
  const bytes = like.elements * ELEMENT_BYTES[like.dtype];
  const narrow = like.elements * ELEMENT_BYTES[t.settings.computeDtype];
  const head = teacher.hiddenBytes + narrow + (like.dtype === t.settings.computeDtype ? 0 : bytes);
  const cache = t.settings.loss.startsWith('full') ? teacher.cacheBytes : 0;
  return t.custom({
    name: 'teacher',
    inputs: [],
    outputs: [
      { shape: like.shape, dtype: like.dtype, kind: 'logits' },
      { shape: [cache], dtype: 'uint8' },
    ],
    // What comes back is there in full only when the head has run.
    forwardScratch: Math.max(0, Math.max(teacher.bodyBytes, head) - bytes),
  });
}

function wholeDivergence(
  t: Tracer,
  student: Tensor,
  teaching: readonly Tensor[],
  { kept, forward, backward }: Divergence,
): Tensor {
  const bytes = logitsBytes(student);
  return divergence(t, student, teaching, {
    savesBytes: kept * bytes + chosenBytes(student),
    forwardScratch: (forward - kept) * bytes,
    backwardScratch: backward * bytes,
  });
}

const tokensOf = (student: Tensor) => student.elements / (student.shape.at(-1) ?? 1);
const logitsBytes = (student: Tensor) => student.elements * ELEMENT_BYTES[student.dtype];
/** Two int64 indices of each token, in bytes. */
const chosenBytes = (student: Tensor) => 2 * tokensOf(student) * ELEMENT_BYTES.int64;

/** The divergence of two distributions over `[tokens, vocabulary]`: one value. */
function divergence(
  t: Tracer,
  student: Tensor,
  teaching: readonly Tensor[],
  bytes: Readonly<Record<'savesBytes' | 'forwardScratch' | 'backwardScratch', number>>,
): Tensor {
  return t.fused({
    name: 'loss.divergence',
    inputs: [student, ...teaching],
    gradRules: [student.requiresGrad ? 'reuse' : 'none', 'none', 'none'],
    outputs: [{ shape: [1], dtype: student.dtype }],
    ...bytes,
    kind: 'logits',
  });
}

/**
 * ms-swift (`gkd_loss.py`): the scored tokens of both are gathered and divided by the temperature, then compared in chunks of
 * 512 tokens. The slice of every chunk gives back a whole gradient, which meets that of the chunk before.
 */
function chunkedDivergence(
  t: Tracer,
  student: Tensor,
  teaching: readonly Tensor[],
  { kept, forward, backward }: Divergence,
): Tensor {
  const bytes = logitsBytes(student);
  const chunk = Math.min(1, CHUNK_TOKENS / tokensOf(student));
  // The first chunk, the second beside the gradient that the first left, and where their gradients meet.
  const several = chunk < 1 ? [1 + (backward - kept) * chunk, 2 + (1 - 2 * kept) * chunk] : [];
  return divergence(t, student, teaching, {
    savesBytes: kept * bytes + chosenBytes(student),
    forwardScratch: (4 + forward * chunk) * bytes,
    backwardScratch: Math.max(backward * chunk, ...several) * bytes,
  });
}

/** Sizes of a head that is fused with its loss. */
function headSizes(t: Tracer, hidden: Tensor, spec: HeadSpec) {
  const width = hidden.shape.at(-1) ?? 0;
  const tokens = hidden.elements / width;
  const rows = localRows(spec.vocabulary, t.settings);
  const dtype: TensorDType = t.settings.autocast ? t.settings.computeDtype : hidden.dtype;
  const weight: Weight = t.weight({
    name: `${spec.name}.weight`,
    shape: [spec.vocabulary, width],
    local: [rows, width],
    role: 'head',
    tiedTo: spec.tiedTo,
  });
  return { width, tokens, rows, dtype, weight, flops: 2 * tokens * rows * width };
}

/** The teacher's layers, which leave its last hidden state and, `copied`, what the loss takes of it. */
function teacherHidden(t: Tracer, teacher: TeacherForward, copies: number): Tensor {
  return t.fused({
    name: 'teacher',
    inputs: [],
    outputs: [{ shape: [copies * teacher.hiddenBytes], dtype: 'uint8' }],
    forwardScratch: Math.max(0, teacher.bodyBytes - copies * teacher.hiddenBytes),
  });
}

/**
 * Liger's: gradients of hidden states and weight are made in forward and kept, that of a frozen weight too, which backward
 * drops. Both hidden states lie there as the models returned them and once more without their last position.
 */
function fusedDivergence(
  t: Tracer,
  hidden: Tensor,
  spec: HeadSpec,
  teacher: TeacherForward,
  divergence: Kind,
): Tensor {
  const { tokens, rows, width, dtype, weight, flops } = headSizes(t, hidden, spec);
  const bytes = ELEMENT_BYTES[dtype];
  const weightBytes = weight.localElements * bytes;
  return t.scope(() => {
    const copy = t.hold(t.copy(t.hold(hidden), hidden.shape, `${spec.name}.shift`));
    const teaching = t.hold(teacherHidden(t, teacher, 2));
    return t.fused({
      name: `${spec.name}.fused_divergence`,
      inputs: [copy, teaching],
      gradRules: [copy.requiresGrad ? 'new' : 'none', 'none'],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      keepsGradients: 'returned',
      savesBytes: weight.trainable ? 0 : weightBytes,
      forwardScratch: FUSED[divergence] * tokens * rows * bytes - tokens * width * bytes,
      weights: [weight],
      flops,
      backwardFlops: 2 * flops,
      kind: 'logits',
      expensive: true,
    });
  });
}

/** Rows of the vocabulary and tokens that a tile of logits spans (`trl/kernels/chunked_divergence.py`). */
const TILE = { rows: 32_768, tokens: 4096 };
/** fp32 vectors over the tokens that its forward makes: nine running statistics, and the logarithms of both sums. */
const TILED_STATISTICS = 11;

/**
 * TRL's DistillationTrainer: both heads tile by tile into two fp32 buffers, whatever the vocabulary; backward computes the
 * tiles again, and adds up the student's gradients in fp32, which are cast to the types of what they belong to.
 */
function tiledDivergence(t: Tracer, hidden: Tensor, spec: HeadSpec, teacher: TeacherForward): Tensor {
  const { tokens, rows, width, dtype, weight, flops } = headSizes(t, hidden, spec);
  const bytes = ELEMENT_BYTES[dtype];
  const tiled = Math.min(tokens, TILE.tokens);
  const buffers = 2 * tiled * TILE.rows * ELEMENT_BYTES.fp32;
  const lowered = weight.dtype === dtype ? 0 : Math.min(rows, TILE.rows) * width * bytes;
  // The last tile of the student's gradient is still named.
  const last = tiled * (rows % TILE.rows || Math.min(rows, TILE.rows)) * bytes;
  const wide = (elements: number) => elements * ELEMENT_BYTES.fp32;
  const gradients = wide(tokens * width) + (weight.trainable ? wide(rows * width) : 0);
  return t.scope(() => {
    t.hold(hidden);
    const teaching = t.hold(teacherHidden(t, teacher, 1));
    // `h_s[valid]` and `h_t[valid]` are copies, and keep where their elements were.
    const input = scoredTokens(t, hidden, spec);
    return t.fused({
      name: `${spec.name}.tiled_divergence`,
      inputs: [input, teaching],
      gradRules: [input.requiresGrad ? 'new' : 'none', 'none'],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      savesInputs: [input],
      savesBytes: 3 * tokens * ELEMENT_BYTES.fp32 + teacher.hiddenBytes,
      forwardScratch: buffers + lowered + TILED_STATISTICS * tokens * ELEMENT_BYTES.fp32,
      backwardScratch: buffers + lowered + last + gradients,
      ownsGradients: true,
      weights: [weight],
      flops,
      backwardFlops: (weight.trainable ? 3 : 2) * flops,
      kind: 'logits',
      expensive: true,
    });
  });
}

/**
 * torchtune's recipe (`knowledge_distillation_single_device.py`): the divergence and the cross-entropy of the same logits.
 * In chunks, eight of them, both upcast one after the other; compiled, they keep the logits of both and compute the
 * gradient from them. The recipe lets go of the logits before backward.
 */
function tuneDivergence(
  t: Tracer,
  hidden: Tensor,
  spec: HeadSpec,
  teacher: TeacherForward,
  divergence: Kind,
): Tensor {
  const { compiled, loss } = t.settings;
  const chunked = loss === 'chunked';
  return t.scope(() => {
    const student = t.hold(studentLogits(t, hidden, spec));
    const teaching = t.hold(teacherLogits(t, student, teacher));
    const own = student.elements * ELEMENT_BYTES[student.dtype];
    const wide = student.elements * ELEMENT_BYTES.fp32;
    const mask = student.elements * ELEMENT_BYTES.bool;
    const { kept, forward, backward } = IN_FP32[divergence];
    const masks = (divergence === 'mixture' ? 2 : 1) * mask;
    const entropy = chunked ? wide : own;
    const saves = compiled ? 2 * own : kept * wide + masks + entropy;
    const part = wide / 8;
    // In chunks only one is there in fp32 beside what is kept; else the highest is the divergence's, before the cross-entropy.
    const beside = chunked ? part : forward * wide + masks - saves;
    const inBackward = chunked ? 2 * part : backward * wide - mask;
    return t.fused({
      name: 'loss.divergence',
      inputs: [student, ...teaching],
      gradRules: [student.requiresGrad ? 'reuse' : 'none', 'none', 'none'],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      savesInputs: compiled ? [student, ...teaching] : [],
      savesBytes: compiled ? 0 : saves,
      forwardScratch: compiled ? 0 : Math.max(0, beside),
      backwardScratch: compiled ? own / (chunked ? 8 : 1) : inBackward,
      kind: 'logits',
    });
  });
}
