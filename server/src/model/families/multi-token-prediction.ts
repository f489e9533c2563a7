import type { Block } from '../layers/block';
import type { HeadSpec } from '../layers/head-spec';
import { languageModelHead } from '../layers/loss';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import { sequenceRanks } from '../tensor-parallel';
import type { Tracer } from '../tracer';
import {
  type DecoderModel,
  type EmbeddingSpec,
  hiddenStage,
  layerStages,
  take,
  tokenEmbeddingStage,
} from './decoder-model';

/** Stages of the layers that predict further tokens: a pipeline has them on its last stage, whatever it shares out. */
export const PREDICTION_STAGES = 'mtp.';

/** Multi-token prediction of Megatron-Core (`core/transformer/multi_token_prediction.py`). */
interface MultiTokenPrediction {
  /** Further tokens that are predicted, one after the other. */
  readonly depths: number;
  /** One layer predicts all of them (`mtp_use_repeated_layer`). */
  readonly repeated: boolean;
  readonly embedding: EmbeddingSpec;
  readonly norm: (name: string) => Block;
  /** What the last layer of the decoder is made of. */
  readonly layer: Block;
  readonly head: HeadSpec;
}

/** The tokens that the batch has further on, `[b, s]` to `[b, s, h]` of the shared table; each rank goes on with its part of the sequence. */
function lookUp(t: Tracer, { name, rows, columns, headTied, positions, dropout }: EmbeddingSpec): Tensor {
  const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'rolled_input_ids');
  const table = { name, rows, columns, headTied, split: 'vocabulary', tiedTo: `${name}.weight` } as const;
  let hidden = t.embedding(ids, table);
  if (positions) {
    const at = t.input([1, t.settings.sequence], 'int64', false, 'rolled_position_ids');
    const learned = { ...positions, columns, tiedTo: `${positions.name}.weight` };
    hidden = t.add(hidden, t.embedding(at, learned));
  }
  return t.dropout(t.scatterSequence(hidden, 'embedding_scatter'), dropout ?? 0, 'embedding_dropout');
}

/**
 * Hidden states, `[b, s, h]`, from the hidden states before and the next tokens, both normed and side by side (`_concat_embeddings`). Ranks
 * compute columns of the product and gather them; a rank's part of the sequence is a view of all of it (`_split_along_first_dim`).
 */
function joined(t: Tracer, hidden: Tensor, tokens: Tensor, norm: MultiTokenPrediction['norm']): Tensor {
  const width = hidden.shape.at(-1) ?? 1;
  const both = t.scope(() => {
    const normed = t.hold(norm('enorm')(t, tokens));
    const states = t.hold(norm('hnorm')(t, hidden));
    return t.concat([normed, states], [...hidden.shape.slice(0, -1), 2 * width]);
  });
  const ranks = t.settings.tensorParallel;
  const columns = t.linear(both, { name: 'eh_proj', out: width, split: 'column' });
  if (ranks === 1) return columns;
  const shape = [...columns.shape.slice(0, -1), width];
  // What is gathered lies rank by rank, and is put side by side (`_gather_along_last_dim`).
  const gathered = t.copy(columns, shape, 'eh_proj.all_gather');
  const whole = t.copy(gathered, shape, 'eh_proj.cat');
  return sequenceRanks(t.settings) === 1 ? whole : t.slice(whole, hidden.shape);
}

const stateOf = (depth: number) => (depth === 0 ? 'hidden' : `hidden_${depth}`);

/** The lookup and the layer of one depth: only the layer is computed again where layers are (`_checkpointed_forward`). */
function stagesOfDepth(depth: number, spec: MultiTokenPrediction): Stage[] {
  const module = spec.repeated ? { name: 'mtp.layers.0', owned: depth === 1 } : undefined;
  const finalNorm = spec.norm('final_layernorm');
  return [
    {
      name: `${PREDICTION_STAGES}embedding`,
      role: 'embedding',
      count: 1,
      trace: (t, flow) => {
        flow.set('next_tokens', lookUp(t, spec.embedding));
      },
    },
    {
      name: `${PREDICTION_STAGES}layers`,
      role: 'layer',
      count: 1,
      trace: (t, flow) => {
        const hidden = t.enter(take(flow, stateOf(depth - 1)), 'hidden');
        const tokens = t.enter(take(flow, 'next_tokens'), 'next_tokens');
        const body = () => finalNorm(t, spec.layer(t, joined(t, hidden, tokens, spec.norm)));
        const predicted = module ? t.inModule(module, body) : body();
        flow.set(stateOf(depth), predicted);
      },
    },
  ];
}

/** Hidden states of all depths as one tensor, `[b, (1 + depths) s, h]`, and each as a view of it, as the head keeps them. */
function statesOfDepths(t: Tracer, flow: Flow, depths: number): Tensor[] {
  const states = Array.from({ length: 1 + depths }, (_, depth) =>
    t.enter(take(flow, stateOf(depth)), stateOf(depth)),
  );
  const [first] = states;
  if (!first) return [];
  const [batch = 1, sequence = 1, ...width] = first.shape;
  const all = t.concat(states, [batch, (1 + depths) * sequence, ...width]);
  return t.chunk(all, 1 + depths);
}

/**
 * The output layer and the loss of every depth, then those of the next token (`process_mtp_loss`): the losses of the depths reach backward
 * by a function that passes on the hidden states of the decoder (`MTPLossAutoScaler`), so theirs comes after that of the next token.
 */
function headOfDepths({ depths, head }: MultiTokenPrediction): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      const [decoded, ...predicted] = statesOfDepths(t, flow, depths);
      if (!decoded) return;
      let hidden = decoded;
      for (const state of predicted)
        hidden = t.addAuxiliary(
          hidden,
          t.again(() => languageModelHead(t, state, head)),
          'mtp_loss',
        );
      flow.set(
        'loss',
        t.again(() => languageModelHead(t, hidden, head)),
      );
    },
  };
}

/**
 * A decoder whose layers are followed by the final norm, the lookup and the layer of each depth, and the head. `layer` takes and gives
 * `[b, s, h]`.
 */
export function predictingStages(
  { embedding, layers, head }: DecoderModel,
  how: Omit<MultiTokenPrediction, 'embedding' | 'head'>,
): Stage[] {
  const table = { ...embedding, headTied: head.tiedTo !== undefined };
  const spec = { ...how, embedding: table, head };
  return [
    tokenEmbeddingStage(table),
    ...layerStages('layers', layers),
    hiddenStage('final_layernorm', 'norm', 1, how.norm('final_layernorm')),
    ...Array.from({ length: how.depths }, (_, i) => stagesOfDepth(i + 1, spec)).flat(),
    headOfDepths(spec),
  ];
}
