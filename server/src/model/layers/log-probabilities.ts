import { ELEMENT_BYTES, type Tensor, type TensorDType, type Weight } from '../tape';
import { localRows } from '../tensor-parallel';
import type { Tracer } from '../tracer';
import type { HeadSpec } from './head-spec';

/** Objectives whose losses are made of the log-probabilities of the tokens instead of a cross-entropy. */
const OF_LOG_PROBABILITIES: ReadonlySet<string> = new Set([
  'dpo',
  'ipo',
  'kto',
  'bco',
  'orpo',
  'cpo',
  'simpo',
  'grpo',
  'rloo',
  'online-dpo',
  'ppo',
]);

/** Whether the loss is taken of the log-probabilities of the chosen tokens. */
export function takesLogProbabilities(t: Tracer): boolean {
  const { loss, objective } = t.settings;
  return loss === 'log-probabilities' || (OF_LOG_PROBABILITIES.has(objective) && loss.startsWith('full'));
}

/** Tokens of what a fused preference loss takes at a time: a pair or a single sample. Undefined for other objectives. */
export function ofSample(t: Tracer, tokens: number): number | undefined {
  const { objective, batch } = t.settings;
  if (!OF_LOG_PROBABILITIES.has(objective)) return undefined;
  const together = objective === 'grpo' || objective === 'rloo' || objective === 'ppo' ? 1 : 2;
  return Math.min(tokens, (together * tokens) / batch);
}

/** Whether the trainer's label smoother takes the loss. */
export function smoothsLabels(t: Tracer): boolean {
  return t.settings.labelSmoothing === true && t.settings.loss.startsWith('full');
}

/**
 * Online methods score completions alone: the head sees the last positions only (`logits_to_keep`). From `[b, s, h]` to
 * `[b, scored, h]`.
 */
export function scoredPositions(t: Tracer, hidden: Tensor): Tensor {
  const { completion, objective, loss } = t.settings;
  const [batch = 1, length = 1, width = 1] = hidden.shape;
  // Online DPO and PPO take all logits and then a part of them.
  const online = objective === 'grpo' || objective === 'rloo';
  // TRL's DistillationTrainer slices both models' hidden states the same way.
  const distils = objective === 'distillation' && loss === 'log-probabilities-chunked';
  if (!(online || distils) || completion === undefined || completion + 1 >= length) return hidden;
  return t.slice(hidden, [batch, completion + 1, width]);
}

/** Logits as the trainer gets them: Accelerate returns them in fp32 (`convert_outputs_to_fp32`). */
function returnedLogits(t: Tracer, logits: Tensor): Tensor {
  return t.settings.autocast ? t.cast(logits, 'fp32', 'convert_outputs') : logits;
}

/**
 * transformers' label smoother (`trainer_pt_utils.py`, `LabelSmoother`): the model takes no loss itself; of the returned
 * logits a shifted copy, its log-softmax and the negative of that are made, and two sums of it. From logits `[b, s, V]` to
 * the loss, `[1]`.
 */
export function smoothedLoss(t: Tracer, logits: Tensor): Tensor {
  const returned = t.hold(returnedLogits(t, logits));
  const shifted = t.settings.batch > 1 ? t.copy(returned, returned.shape, 'loss.shift') : returned;
  const negative = t.hold(t.scale(t.keepOutput(t.hold(shifted), 'loss.log_softmax'), 'loss.negative'));
  return t.fused({
    name: 'loss.nll',
    inputs: [negative],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    // Gradients of the picked ones, and of the sum, which is taken in fp32.
    backwardScratch: negative.elements * (ELEMENT_BYTES[negative.dtype] + ELEMENT_BYTES.fp32),
    kind: 'logits',
  });
}

/**
 * Squared log-sum-exp of the logits beside their loss: the logits are kept, and the gradient of the sum is made of them.
 * Logits are `[b, s, V]`, losses `[1]`.
 */
export function withZLoss(t: Tracer, logits: Tensor, loss: Tensor): Tensor {
  if (!t.settings.zLoss) return loss;
  const z = t.fused({
    name: 'loss.z',
    inputs: [logits],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: [logits],
    backwardScratch: logits.elements * ELEMENT_BYTES[logits.dtype],
    kind: 'logits',
  });
  return t.add(loss, z, 'loss.add_z');
}

/**
 * Balance of the experts from the router logits of all layers (`load_balancing_loss_func`). The model names them until the loss is there, and
 * where a gradient reaches the routers it comes with the loss's and waits for its layer; their softmax is kept. Concatenated, the mask of
 * the chosen experts is an int64 and an fp32 for every layer, token, choice and expert, and a mask of the batch is laid out for as many, an
 * int64 and their product. Layer by layer nothing of that size is made. Losses are `[1]`.
 */
export function withRouterLoss(t: Tracer, loss: Tensor): Tensor {
  const { routerLoss, batch, sequence, computeDtype, autocast, attentionMask, behaviours } = t.settings;
  if (!routerLoss) return loss;
  const { layers, experts, chosen, reached } = routerLoss;
  const rows = layers * batch * sequence;
  const scores = rows * experts;
  const logits = scores * ELEMENT_BYTES[computeDtype];
  if (reached) t.batchInput([rows, experts], computeDtype, 'router_logits');
  else t.collected([rows, experts], computeDtype, 'router_logits');
  const softmax = scores * ELEMENT_BYTES[autocast ? 'fp32' : computeDtype];
  const mask = ELEMENT_BYTES.int64 + ELEMENT_BYTES.fp32;
  const joined = behaviours.joinsRouterLogits ? logits + scores * chosen * mask * (attentionMask ? 2 : 1) : 0;
  return t.fused({
    name: 'loss.load_balancing',
    inputs: [loss],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: reached ? softmax : 0,
    forwardScratch: joined + (reached ? 0 : softmax),
    kind: 'logits',
  });
}

/**
 * Log-probability of each token out of all logits, sample by sample (TRL, `selective_log_softmax`). Of fp32 logits it takes
 * the log-sum-exp, whose gradient is made per sample, stacked, and added to that of the picked logits. Of others it keeps a
 * log-softmax per sample. The trainer names the logits until the step's metrics are taken. From logits `[b, s, V]` to the
 * loss, `[1]`.
 */
export function tokenLogProbabilities(t: Tracer, logits: Tensor): Tensor {
  const { objective, returnedHidden } = t.settings;
  if (objective === 'ppo' && returnedHidden !== undefined) return answerLogProbabilities(t, logits);
  if (keepsLogSoftmax(t)) return pickedLogProbabilities(t, logits);
  let wide = returnedLogits(t, logits);
  // Divided by the temperature, into a new tensor.
  if (objective === 'grpo' || objective === 'rloo') wide = t.scale(wide, 'loss.temperature');
  t.hold(wide);
  const bytes = wide.elements * ELEMENT_BYTES[wide.dtype];
  const single = wide.dtype === 'fp32';
  return t.fused({
    name: 'loss.log_probabilities',
    inputs: [wide],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: single ? [wide] : [],
    savesBytes: single ? 0 : bytes,
    backwardScratch: single ? 2 * bytes : bytes,
    kind: 'logits',
  });
}

/** Objectives whose completions TRL has always scored row by row. */
const SCORED_BY_ROW: ReadonlySet<string> = new Set(['grpo', 'rloo', 'ppo', 'online-dpo']);

function keepsLogSoftmax({ settings: { loss, objective, behaviours } }: Tracer): boolean {
  return loss === 'full-log-softmax' || (behaviours.keepsLogSoftmax && !SCORED_BY_ROW.has(objective));
}

/**
 * Log-probabilities picked from the log-softmax of all logits (TRL before 0.15, `get_batch_logps`; LLaMA-Factory, `train/trainer_utils.py`,
 * which makes the logits fp32 first): the shifted slice is laid out anew, its log-softmax is kept, and backward fills a gradient of its size.
 * The trainer names the logits until the step's metrics are taken. From logits `[b, s, V]` to the loss, `[1]`.
 */
function pickedLogProbabilities(t: Tracer, logits: Tensor): Tensor {
  const returned = returnedLogits(t, logits);
  const widens = t.settings.loss === 'full-log-softmax' && returned.dtype !== 'fp32';
  const wide = t.hold(widens ? t.cast(returned, 'fp32', 'loss.upcast') : returned);
  const bytes = wide.elements * ELEMENT_BYTES[wide.dtype];
  return t.fused({
    name: 'loss.log_softmax',
    inputs: [wide],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesBytes: bytes,
    forwardScratch: bytes,
    backwardScratch: bytes,
    kind: 'logits',
  });
}

/**
 * PPO in TRL (0.24, `trainer/ppo_trainer.py`, `train`): all logits are returned, with the hidden states of all layers, which
 * Accelerate converts to fp32 too, and named until the next micro batch has its own. The part of the answers is divided by
 * the temperature in place: backward copies the whole gradient (`CopySlices`) beside that of the slice.
 */
function answerLogProbabilities(t: Tracer, logits: Tensor): Tensor {
  const { autocast, completion, keptLogits, returnedHidden = 0, sequence, weightDtype } = t.settings;
  const wide = t.hold(returnedLogits(t, t.hold(logits)));
  const converted = autocast && weightDtype !== 'fp32' ? returnedHidden : 0;
  if (converted > 0) {
    t.hold(
      t.fused({
        name: 'convert_hidden_states',
        inputs: [],
        outputs: [{ shape: [converted], dtype: 'fp32' }],
        forwardScratch: converted * ELEMENT_BYTES[weightDtype],
      }),
    );
  }
  const bytes = wide.elements * ELEMENT_BYTES[wide.dtype];
  const answers = (bytes * Math.min(sequence, completion ?? sequence)) / sequence;
  const single = wide.dtype === 'fp32';
  // What the loop names anyway is not counted as kept by autograd as well.
  const named = keptLogits !== undefined && keptLogits !== 'none';
  if (named) t.keep(bytes + converted * ELEMENT_BYTES.fp32);
  return t.fused({
    name: 'loss.log_probabilities',
    inputs: [wide],
    outputs: [{ shape: [1], dtype: 'fp32' }],
    savesInputs: single && !named ? [wide] : [],
    savesBytes: single ? 0 : answers,
    // The kept log-softmax is gone by then.
    backwardScratch: bytes + (single ? 2 : 1) * answers,
    kind: 'logits',
  });
}

/** Rows of the vocabulary and tokens that a tile of logits spans (`trl/kernels/chunked_logprob.py`). */
const TILE = { rows: 32_768, tokens: 4096 };
/** fp32 vectors over the tokens that its forward makes, running statistics all (`running_max` to `target_logit`). */
const STATISTICS = 7;

/**
 * TRL's fused head: log-probabilities tile by tile in the type of the product; backward computes the tiles again and adds up
 * both gradients in fp32, which are cast to the types of what they belong to. Under autocast the tokens of a tile and its
 * rows of the weight are copied to the lower type. The backbone's result is named until the loss is there. From `[b, s, h]`
 * to the loss, `[1]`.
 */
export function chunkedLogProbabilities(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const width = hidden.shape.at(-1) ?? 0;
  const tokens = hidden.elements / width;
  const rows = localRows(spec.vocabulary, t.settings);
  const dtype = t.settings.autocast ? t.settings.computeDtype : hidden.dtype;
  const bytes = ELEMENT_BYTES[dtype];
  const weight = headWeight(t, spec, rows, width);
  const tiled = { tokens: Math.min(tokens, TILE.tokens), rows: Math.min(rows, TILE.rows) };
  const tile = tiled.tokens * tiled.rows * bytes;
  const lowersWeight = weight.dtype !== dtype;
  const copies =
    (lowersWeight ? tiled.rows * width * bytes : 0) +
    (hidden.dtype === dtype ? 0 : tiled.tokens * width * bytes);
  // Backward names the rows of the tile before until those of the next are there.
  const before = lowersWeight ? Math.min(tiled.rows, rows - tiled.rows) * width * bytes : 0;
  // Gradients that are fp32 anyway are not copied.
  const wide = (elements: number, own: TensorDType) => (own === 'fp32' ? 0 : elements * ELEMENT_BYTES.fp32);
  const flops = 2 * tokens * rows * width;
  return t.scope(() => {
    t.hold(hidden);
    const input = scoredTokens(t, hidden, spec);
    return t.fused({
      name: `${spec.name}.fused_loss`,
      inputs: [input],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      savesInputs: [input],
      savesBytes: 3 * tokens * ELEMENT_BYTES.fp32,
      forwardScratch: tile + copies + STATISTICS * tokens * ELEMENT_BYTES.fp32,
      backwardScratch:
        tile +
        copies +
        before +
        wide(tokens * width, hidden.dtype) +
        (weight.trainable ? wide(rows * width, weight.dtype) : 0),
      weights: [weight],
      flops,
      backwardFlops: (weight.trainable ? 3 : 2) * flops,
      kind: 'logits',
      expensive: true,
      ownsGradients: true,
    });
  });
}

/** The output projection's weight, which the loss multiplies with itself. */
function headWeight(t: Tracer, spec: HeadSpec, rows: number, width: number): Weight {
  return t.weight({
    name: `${spec.name}.weight`,
    shape: [spec.vocabulary, width],
    local: [rows, width],
    role: 'head',
    tiedTo: spec.tiedTo,
  });
}

/** Tokens of a chunk (`trl/trainer/sft_trainer.py`, `_CHUNKED_LM_HEAD_CHUNK_SIZE`). */
const CHECKPOINTED_TOKENS = 256;

/**
 * TRL's `chunked_nll` from 1.4 to 1.14 (`trl/trainer/sft_trainer.py`, `_chunked_cross_entropy_loss`): the scored tokens are
 * gathered, and every 256 of them are a checkpoint of their own without reentry, so that one chunk's logits exist at a time.
 * Until 1.12 the product is asked for in fp32, for which the weight is copied whole with every chunk; since 1.13 it is taken
 * in the tokens' own type. The transposed weight is no leaf, so that autocast makes its copy anew each time too. From
 * `[b, s, h]` to the loss, `[1]`.
 */
export function checkpointedChunks(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const width = hidden.shape.at(-1) ?? 0;
  const tokens = hidden.elements / width;
  const rows = localRows(spec.vocabulary, t.settings);
  const weight = headWeight(t, spec, rows, width);
  const scratch = ofChunk(t, hidden.dtype, weight, { tokens, rows, width });
  const flops = 2 * tokens * rows * width;
  return t.scope(() => {
    t.hold(hidden);
    const input = t.fused({
      name: `${spec.name}.scored`,
      inputs: [hidden],
      outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
      savesBytes: tokens * ELEMENT_BYTES.int64,
    });
    return t.fused({
      name: `${spec.name}.chunks`,
      inputs: [input],
      outputs: [{ shape: [1], dtype: 'fp32' }],
      savesInputs: [input],
      forwardScratch: scratch.forward,
      backwardScratch: scratch.backward,
      weights: [weight],
      flops,
      backwardFlops: (weight.trainable ? 3 : 2) * flops,
      kind: 'logits',
      expensive: true,
    });
  });
}

/** Highest bytes of one chunk forward, and backward beside what the chunks before left of the weight's gradient. */
function ofChunk(
  t: Tracer,
  own: TensorDType,
  weight: Weight,
  { tokens, rows, width }: { readonly tokens: number; readonly rows: number; readonly width: number },
): { readonly forward: number; readonly backward: number } {
  const { autocast, computeDtype, loss } = t.settings;
  const chunk = Math.min(tokens, CHECKPOINTED_TOKENS);
  const wide = loss === 'checkpointed-chunks-fp32';
  const asked: TensorDType = wide ? 'fp32' : own;
  const product: TensorDType = autocast ? computeDtype : asked;
  const weightIn = (dtype: TensorDType) => rows * width * ELEMENT_BYTES[dtype];
  const logitsIn = (dtype: TensorDType) => chunk * rows * ELEMENT_BYTES[dtype];
  const tokensIn = (dtype: TensorDType) => chunk * width * ELEMENT_BYTES[dtype];
  // Copies in the type that is asked for and in that of the product, and the one that the product keeps.
  const first = weight.dtype === asked ? 0 : weightIn(asked) + (own === asked ? 0 : tokensIn(asked));
  const second = product === asked ? 0 : weightIn(product) + tokensIn(product);
  const kept = product === asked ? first : second;
  const multiplying = first + second + logitsIn(product);
  // Logits, their log-softmax, its exponential and the product of both, for the entropy.
  const scoring = logitsIn(wide ? product : 'fp32') + 3 * logitsIn('fp32');
  const recomputing = Math.max(multiplying, kept + scoring);
  if (!weight.trainable) return { forward: Math.max(multiplying, scoring), backward: recomputing };
  const backward = Math.max(
    recomputing,
    // The weight's gradient in the product's type, then in those before; it is added to that of other chunks out of place.
    kept + weightIn(product) + tokensIn(product) + logitsIn(product),
    product === asked ? 0 : weightIn(product) + weightIn(asked),
    asked === weight.dtype ? 0 : weightIn(asked) + weightIn(weight.dtype),
    tokens > chunk ? 2 * weightIn(weight.dtype) : 0,
  );
  return { forward: Math.max(multiplying, scoring), backward };
}

/** `hidden_states[mask]` of tokens that all count: a copy, which keeps where its elements were. `[b, s, h]` in and out. */
export function scoredTokens(t: Tracer, hidden: Tensor, spec: HeadSpec): Tensor {
  const tokens = hidden.elements / (hidden.shape.at(-1) ?? 1);
  return t.fused({
    name: `${spec.name}.scored`,
    inputs: [hidden],
    outputs: [{ shape: hidden.shape, dtype: hidden.dtype }],
    savesBytes: 2 * tokens * ELEMENT_BYTES.int64,
  });
}
