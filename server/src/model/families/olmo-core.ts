import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { attend } from '../layers/attention';
import { type Block, rms } from '../layers/block';
import type { HeadSpec } from '../layers/head-spec';
import { compiledLoss, languageModelHead } from '../layers/loss';
import { plainLoss } from '../layers/loss-outside';
import { gatedMlp } from '../layers/mlp';
import { residualLayer } from '../layers/residual';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { layerStages, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { rotated } from './olmo';

/** What a `TransformerConfig` of allenai/OLMo-core states of a model (`nn/transformer/config.py`), in its own words. */
interface CoreSizes {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly inner: number;
  readonly vocabulary: number;
  readonly block: string;
  /** Norms of queries and keys: over all heads together, or over each. */
  readonly queryKeyNorm: string;
  /** Sigmoid gate on what attention gives: a value per head, or per channel. */
  readonly gate: string;
  readonly rotatesWide: boolean;
  readonly activation: string;
  /** Window of each layer in tokens, over and over; -1 sees everything. */
  readonly windows: readonly number[];
  readonly firstSeesAll: boolean;
  readonly lastSeesAll: boolean;
  /** `QwenRMSNorm` lowers before its gain, as Llama's does; the others after it. */
  readonly normStyle: 'llama' | 'olmo';
}

const BLOCKS: readonly string[] = ['default', 'reordered_norm', 'peri_norm'];

function readSizes(config: ConfigReader): CoreSizes {
  const hidden = config.size('d_model');
  const heads = config.size('n_heads');
  const keyValueHeads = config.sizeOr(heads, 'n_kv_heads');
  const block = config.text('default', 'block');
  if (!BLOCKS.includes(block)) throw new ConfigError(say('"{0}" is not supported', block));
  if (heads % keyValueHeads !== 0)
    throw new ConfigError(
      say(
        '{0} attention heads cannot share {1} key and value heads evenly',
        String(heads),
        String(keyValueHeads),
      ),
    );
  const pattern = config.list('sliding_window_pattern') ?? [];
  return {
    hidden,
    heads,
    keyValueHeads,
    layers: config.size('n_layers'),
    headDim: config.sizeOr(Math.floor(hidden / heads), 'head_dim'),
    inner: config.size('hidden_size'),
    vocabulary: config.size('vocab_size'),
    block,
    queryKeyNorm: config.text('none', 'qk_norm'),
    gate: config.text('none', 'gate'),
    rotatesWide: config.flag(true, 'rope_full_precision'),
    activation: config.text('silu', 'activation').replace(/^gelu_tanh$/, 'gelu_pytorch_tanh'),
    windows: pattern.map(Number),
    firstSeesAll: config.flag(true, 'full_attention_on_first_layer'),
    lastSeesAll: config.flag(true, 'full_attention_on_last_layer'),
    normStyle: config.text('rms', 'layer_norm') === 'qwen_rms' ? 'llama' : 'olmo',
  };
}

/** `Attention.forward` (`nn/attention/__init__.py`), `[b, s, h]` in and out. */
function attention(sizes: CoreSizes, window: number | undefined): Block {
  const { hidden, heads, keyValueHeads, headDim, gate } = sizes;
  const project = (t: Tracer, x: Tensor, name: string, out: number) =>
    t.linear(x, { name: `attention.${name}`, out, bias: false, split: 'column' });
  return (t, x) =>
    t.scope(() => {
      // Sine and cosine: an empty cache that all layers are given counts as none, so that each makes its own (`nn/rope.py`).
      t.ownBuffer('attention.rope', 2 * t.settings.sequence * headDim, 'fp32');
      if (isMasked(t, window)) t.positionMask('attention.window', t.settings.sequence, true);
      let q = t.hold(project(t, x, 'w_q', heads * headDim));
      let k = t.hold(project(t, x, 'w_k', keyValueHeads * headDim));
      const v = t.hold(project(t, x, 'w_v', keyValueHeads * headDim));
      if (sizes.queryKeyNorm !== 'none') {
        q = t.hold(normed(t, q, sizes, 'q_norm'));
        k = t.hold(normed(t, k, sizes, 'k_norm'));
      }
      [q, k] = t.hold(rotated(t, q, k, sizes.rotatesWide));
      let context = attend(t, {
        name: 'attention.attention',
        q,
        k,
        v,
        heads,
        keyValueHeads,
        headDim,
        causal: true,
        window,
        kernels: 'calls-sdpa',
        // Its own repetition stands before PyTorch's kernel, and its window is a mask there (`nn/attention/backend.py`).
        ...(t.settings.attention === 'sdpa' ? { grouping: 'repeat' as const } : {}),
        ...(isMasked(t, window) ? { masked: true } : {}),
      });
      if (gate !== 'none') context = gated(t, x, context, sizes);
      return t.linear(context, { name: 'attention.w_out', out: hidden, bias: false, split: 'row' });
    });
}

/** PyTorch's kernel knows no window: it is given a mask. */
const isMasked = ({ settings }: Tracer, window: number | undefined): boolean =>
  window !== undefined && settings.attention === 'sdpa';

/** The gate is made in fp32 and lowered (`GateConfig.full_precision`). */
function gated(t: Tracer, x: Tensor, context: Tensor, { gate, heads, headDim }: CoreSizes): Tensor {
  const out = gate === 'headwise' ? heads : heads * headDim;
  return t.scope(() => {
    t.hold(context);
    const values = t.linear(x, { name: 'attention.w_g', out, bias: false, split: 'column' });
    const wide = t.hold(t.cast(values, 'fp32', 'attention.gate.float'));
    const open = t.cast(t.keepOutput(wide, 'attention.gate'), context.dtype, 'attention.gate.type_as');
    return t.mul(context, open, 'attention.gated');
  });
}

function normed(t: Tracer, x: Tensor, sizes: CoreSizes, name: string): Tensor {
  const { queryKeyNorm, headDim, normStyle } = sizes;
  const norm = rms(`attention.${name}`, normStyle);
  if (queryKeyNorm === 'full') return norm(t, x);
  const heads = t.view(x, [...x.shape.slice(0, -1), (x.shape.at(-1) ?? 0) / headDim, headDim]);
  return t.view(norm(t, heads), x.shape);
}

/** A block by its type (`nn/transformer/block.py`). */
function layer(sizes: CoreSizes, window: number | undefined): Block {
  const mixer = attention(sizes, window);
  const { inner, activation, normStyle: style } = sizes;
  const feedForward: Block = (t, x) => gatedMlp(t, x, { name: 'feed_forward', inner, activation });
  const [first, second] = [rms('attention_norm', style), rms('feed_forward_norm', style)];
  const common = { mixer, feedForward };
  if (sizes.block === 'reordered_norm')
    return (t, x) => residualLayer(t, x, { ...common, afterMixer: first, afterFeedForward: second });
  const before = { ...common, beforeMixer: first, beforeFeedForward: second };
  if (sizes.block === 'default') return (t, x) => residualLayer(t, x, before);
  const after = [rms('post_attention_norm', style), rms('post_feed_forward_norm', style)] as const;
  return (t, x) => residualLayer(t, x, { ...before, afterMixer: after[0], afterFeedForward: after[1] });
}

/** Layers that see as far as each other are the same function. The last may see everything (`SlidingWindowAttentionConfig`). */
function layersOf(sizes: CoreSizes): readonly Block[] {
  const kinds = new Map<number | undefined, Block>();
  const { windows, layers, firstSeesAll, lastSeesAll } = sizes;
  return Array.from({ length: layers }, (_, index) => {
    const seesAll = (firstSeesAll && index === 0) || (lastSeesAll && index === layers - 1);
    const pattern = windows[(firstSeesAll ? index - 1 : index) % Math.max(1, windows.length)] ?? -1;
    const window = pattern > 0 && !seesAll ? pattern : undefined;
    const made = kinds.get(window) ?? layer(sizes, window);
    kinds.set(window, made);
    return made;
  });
}

/** Logits in their own type and in fp32 have names until the loss is there (`nn/functional/cross_entropy_loss.py`). */
function headAndLoss(t: Tracer, normed: Tensor, head: HeadSpec): Tensor {
  const { objective, loss } = t.settings;
  if (objective !== 'lm' || (loss !== 'full' && loss !== 'compiled'))
    return languageModelHead(t, normed, head);
  const { name, vocabulary: out, tiedTo } = head;
  const logits = t.hold(
    t.linear(t.hold(normed), { name, out, tiedTo, split: 'vocabulary', role: 'head', kind: 'logits' }),
  );
  t.endHead();
  if (loss === 'compiled') return compiledLoss(t, logits);
  return plainLoss(t, t.hold(t.cast(logits, 'fp32', 'loss.float')));
}

/** `LMHead.forward`, during which the model names what it calls the head with. */
const headStage = (head: HeadSpec, { normStyle }: CoreSizes): Stage => ({
  name: 'head',
  role: 'head',
  count: 1,
  trace: (t, flow) => {
    const last = t.enter(take(flow, 'hidden'), 'hidden');
    flow.set(
      'loss',
      t.scope(() => headAndLoss(t, rms('lm_head.norm', normStyle)(t, t.hold(last)), head)),
    );
  },
});

/** A transformer of OLMo-core in its own code. */
function olmoCore(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const { hidden, layers, heads, keyValueHeads, vocabulary } = sizes;
  const tied = config.flag(false, 'tie_word_embeddings');
  return {
    figures: {
      hiddenSize: hidden,
      layers,
      attentionHeads: heads,
      keyValueHeads,
      vocabulary,
    },
    stages: [
      tokenEmbeddingStage({
        name: 'embeddings',
        rows: vocabulary,
        columns: hidden,
        scaled: config.flag(false, 'embed_scale'),
        headTied: tied,
      }),
      ...layerStages('blocks', layersOf(sizes)),
      headStage({ name: 'lm_head.w_out', vocabulary, tiedTo: tied ? 'embeddings.weight' : undefined }, sizes),
    ],
  };
}

export const olmoCoreFamily: ModelFamily = { modelTypes: ['olmo_core'], build: olmoCore };
