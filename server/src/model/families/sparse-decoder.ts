import { type Block, rms } from '../layers/block';
import { residualLayer } from '../layers/residual';
import { decoderStages } from './decoder-model';
import type { Architecture } from './family';
import { figuresOf, layersOfKinds, type Sizes } from './sizes';

/** Pre-norm decoders whose layers differ in their mixer and in whether their MLP is a mixture of experts. */
interface SparseDecoder<K extends string> {
  /** Kind of each layer, first to last. */
  readonly kinds: readonly K[];
  readonly mixer: (kind: K) => Block;
  readonly feedForward: (kind: K) => Block | undefined;
  /** Norms before mixer and MLP, and behind them where there are some; none before where the list is empty. */
  readonly norms: readonly [string, string] | readonly [];
  readonly normsAfter?: readonly [string, string];
  readonly finalNorm: string;
  readonly normOf?: (name: string) => Block;
  readonly embedding: string;
  readonly layersName?: string;
  readonly scaledEmbedding?: boolean;
  readonly scaledBranches?: boolean;
  readonly scaledLogits?: boolean;
  readonly widenedLogits?: boolean;
  readonly headBias?: boolean;
  readonly dropout?: number;
  readonly embeddingDropout?: number;
  readonly notes?: readonly string[];
}

/** A decoder with layers of several kinds, some with experts: stages from token ids, [batch, sequence], to logits. */
export function sparseDecoder<K extends string>(sizes: Sizes, model: SparseDecoder<K>): Architecture {
  const normOf = model.normOf ?? ((name: string) => rms(name));
  const [before, inner] = model.norms;
  const layers = layersOfKinds(model.kinds, (kind): Block => {
    const feedForward = model.feedForward(kind);
    const spec = {
      beforeMixer: before === undefined ? undefined : normOf(before),
      mixer: model.mixer(kind),
      afterMixer: model.normsAfter && normOf(model.normsAfter[0]),
      beforeFeedForward: feedForward && inner !== undefined ? normOf(inner) : undefined,
      feedForward,
      afterFeedForward: feedForward && model.normsAfter && normOf(model.normsAfter[1]),
      scaled: model.scaledBranches,
      dropout: model.dropout,
    };
    return (t, x) => residualLayer(t, x, spec);
  });
  return {
    figures: figuresOf(sizes),
    notes: model.notes ?? [],
    stages: decoderStages({
      embedding: {
        name: model.embedding,
        rows: sizes.vocabulary,
        columns: sizes.hidden,
        scaled: model.scaledEmbedding,
        dropout: model.embeddingDropout,
      },
      layers,
      layersName: model.layersName,
      finalNorm: normOf(model.finalNorm),
      head: {
        name: 'lm_head',
        vocabulary: sizes.vocabulary,
        tiedTo: sizes.tied ? `${model.embedding}.weight` : undefined,
        scale: model.scaledLogits,
        widened: model.widenedLogits,
        bias: model.headBias,
      },
    }),
  };
}
