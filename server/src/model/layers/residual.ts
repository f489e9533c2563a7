import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import type { Block } from './block';

/**
 * A layer of one or two residual branches, each `x + after(branch(before(x)))`. Pre-norm decoders set `before`,
 * OLMo 2 `after`, Gemma 2 and 3 both.
 */
export interface ResidualSpec {
  readonly mixer: Block;
  readonly beforeMixer?: Block;
  readonly afterMixer?: Block;
  /** Absent in layers that have one branch only (Mamba, Nemotron-H). */
  readonly feedForward?: Block;
  readonly beforeFeedForward?: Block;
  readonly afterFeedForward?: Block;
  /** Branches are multiplied by a constant (Granite, MiniCPM). */
  readonly scaled?: boolean;
  /** Dropout on each branch. */
  readonly dropout?: number;
  /** The mixer's result has a name of its own, so it stays until the layer returns (GPT-2's `attn_output`). */
  readonly namesMixed?: boolean;
  /** The MLP is no module of its own: its input's name goes to each result in turn (OPT). */
  readonly inlineFeedForward?: boolean;
}

/**
 * Mixer and feed-forward, one after the other, each around a residual sum. `hidden`: `[b, s, h]`, as what comes out.
 */
export function residualLayer(t: Tracer, hidden: Tensor, spec: ResidualSpec): Tensor {
  return t.scope(() => {
    const first = branch(t, hidden, spec, spec.beforeMixer, spec.mixer, spec.afterMixer, spec.namesMixed);
    if (!spec.feedForward) return first;
    return branch(t, first, spec, spec.beforeFeedForward, spec.feedForward, spec.afterFeedForward);
  });
}

function branch(
  t: Tracer,
  residual: Tensor,
  spec: ResidualSpec,
  before: Block | undefined,
  body: Block,
  after: Block | undefined,
  named = false,
): Tensor {
  t.hold(residual);
  const normed = before ? before(t, residual) : residual;
  const inline = body === spec.feedForward && spec.inlineFeedForward;
  const tiled = body === spec.feedForward && t.settings.tiledMlp === true;
  const call = (t: Tracer, x: Tensor) => called(t, x, body);
  let out = inline ? body(t, normed) : tiled ? t.tiled(normed, 'tiled_mlp', call) : call(t, normed);
  if (after) out = after(t, out);
  if (spec.scaled) out = t.scale(out, 'residual_scale');
  const dropped = t.dropout(out, spec.dropout ?? 0, 'residual_dropout');
  return t.add(residual, named ? t.hold(dropped) : dropped, 'residual');
}

/** A module's call: what it is called with stays until it returns. */
function called(t: Tracer, x: Tensor, body: Block): Tensor {
  return t.scope(() => body(t, t.hold(x)));
}

/** Attention and MLP side by side on the same input: `x + attention(norm(x)) + mlp(norm(x))`. */
interface ParallelSpec {
  readonly attention: Block;
  readonly feedForward: Block;
  readonly norm: Block;
  /** A norm of the MLP's own (GPT-NeoX, Falcon 40B). */
  readonly feedForwardNorm?: Block;
  readonly dropout?: number;
}

/** Attention and feed-forward of the same input, added to it at once. `hidden`: `[b, s, h]`, as what comes out. */
export function parallelLayer(t: Tracer, hidden: Tensor, spec: ParallelSpec): Tensor {
  return t.scope(() => {
    t.hold(hidden);
    const normed = spec.norm(t, hidden);
    const own = spec.feedForwardNorm ? undefined : t.hold(normed);
    const attended = t.hold(
      t.dropout(called(t, normed, spec.attention), spec.dropout ?? 0, 'attention_dropout'),
    );
    const second = own ?? (spec.feedForwardNorm ? spec.feedForwardNorm(t, hidden) : hidden);
    const fed = t.hold(t.dropout(called(t, second, spec.feedForward), spec.dropout ?? 0, 'mlp_dropout'));
    return t.add(t.add(attended, fed, 'branches'), hidden, 'residual');
  });
}

/** `norm(x + branch(x))` twice, as the original transformer has it (BERT, BART, OPT-350M). */
interface PostNormSpec {
  readonly mixer: Block;
  readonly mixerNorm: Block;
  readonly feedForward: Block;
  readonly feedForwardNorm: Block;
  readonly dropout?: number;
}

/** Norms behind the residual sums. `hidden`: `[b, s, h]`, as what comes out. */
export function postNormLayer(t: Tracer, hidden: Tensor, spec: PostNormSpec): Tensor {
  return t.scope(() => {
    const first = normedSum(t, hidden, spec.mixer, spec.mixerNorm, spec.dropout);
    return normedSum(t, first, spec.feedForward, spec.feedForwardNorm, spec.dropout);
  });
}

function normedSum(t: Tracer, x: Tensor, body: Block, norm: Block, dropout = 0): Tensor {
  t.hold(x);
  return t.scope(() => {
    const out = t.hold(t.dropout(body(t, x), dropout, 'residual_dropout'));
    // The sum has no name: it stays while the norm is called with it.
    return norm(t, t.hold(t.add(out, x, 'residual')));
  });
}
