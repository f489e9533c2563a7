import type { Block } from '../layers/block';
import { classificationHead } from '../layers/classification';
import type { HeadSpec } from '../layers/head-spec';
import { languageModelHead } from '../layers/loss';
import type { Flow, Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** A decoder-only language model, from token ids to the loss. */
export interface DecoderModel {
  readonly embedding: EmbeddingSpec;
  /** One entry per layer; layers that are alike are the same function. */
  readonly layers: readonly Block[];
  /** Stage name of the layers, as the reference code names their list. */
  readonly layersName?: string;
  readonly finalNorm?: Block;
  readonly head: HeadSpec;
  /** Plays something between the final norm and the head (OPT's projection). */
  readonly beforeHead?: Block;
}

export interface EmbeddingSpec {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  /** Learned positions that are added. */
  readonly positions?: { readonly name: string; readonly rows: number };
  /** The embedding is multiplied by a constant (Gemma, Granite, MiniCPM). */
  readonly scaled?: boolean;
  /** The product has a name of its own (Gemma 2). */
  readonly scaledApart?: boolean;
  readonly dropout?: number;
  /** The head is tied to the table. */
  readonly headTied?: boolean;
  /** A table of the decoder's own behind an encoder, whose table is the model's (`get_input_embeddings`). */
  readonly ofDecoder?: boolean;
  /** Sets of virtual tokens that PEFT trains for it. Default 1. */
  readonly promptSets?: number;
  /** Norm or projection that follows. */
  readonly after?: Block;
}

/**
 * What an earlier stage left under a name. Throws where none did: a mistake of the family's file, never of a config. Of the
 * shape that it was left in, as `[b, s, h]`.
 */
export function take(flow: Flow, name: string): Tensor {
  const x = flow.get(name);
  if (!x) throw new Error(`a stage before must provide ${name}`);
  return x;
}

/** A stage that takes `hidden` and leaves `hidden`. */
export function hiddenStage(name: string, role: Stage['role'], count: number, body: Block): Stage {
  return { name, role, count, trace: hiddenTrace(body) };
}

function hiddenTrace(body: Block): Stage['trace'] {
  return (t, flow) => {
    const hidden = body(t, t.enter(take(flow, 'hidden'), 'hidden'));
    flow.set('hidden', hidden);
  };
}

/**
 * Runs of layers that follow each other and are the same function, as stages. Equal layers share one `trace`, so that
 * whoever walks them can trace each kind once.
 */
export function layerStages(name: string, layers: readonly Block[]): Stage[] {
  const traces = new Map<Block, Stage['trace']>();
  const runs: { body: Block; count: number }[] = [];
  for (const body of layers) {
    const last = runs.at(-1);
    if (last?.body === body) last.count += 1;
    else runs.push({ body, count: 1 });
  }
  return runs.map(({ body, count }) => {
    const trace = traces.get(body) ?? hiddenTrace(body);
    traces.set(body, trace);
    return { name, role: 'layer', count, trace };
  });
}

/** `[b, s]` of token ids to `[b, s, h]`; `tiedTo` names the weight that it shares. */
export function embed(t: Tracer, ids: Tensor, spec: EmbeddingSpec, tiedTo?: string, named = false): Tensor {
  let hidden = t.embedding(ids, {
    name: spec.name,
    rows: spec.rows,
    columns: spec.columns,
    split: 'vocabulary',
    tiedTo,
    tokens: tiedTo === undefined && spec.ofDecoder !== true,
    promptSets: spec.promptSets,
    headTied: spec.headTied,
  });
  // The model's forward calls it `inputs_embeds` to its end, unless a product takes the name.
  if (named && (!spec.scaled || spec.scaledApart)) t.holdInModel(hidden);
  if (spec.scaled) hidden = t.scale(hidden, `${spec.name}.scale`);
  if (spec.positions) {
    const positionIds = t.input([1, ids.shape.at(-1) ?? 1], 'int64', false, 'position_ids');
    const { name, rows } = spec.positions;
    const positions = t.embedding(positionIds, { name, rows, columns: hidden.shape.at(-1) ?? 0 });
    hidden = t.add(hidden, named ? t.holdInModel(positions) : positions);
  }
  // Each rank of a decoder goes on with its part of the sequence, where they share it.
  if (named) hidden = t.scatterSequence(hidden, 'embedding_scatter');
  hidden = t.dropout(hidden, spec.dropout ?? 0, 'embedding_dropout');
  return spec.after ? spec.after(t, hidden) : hidden;
}

/** The stage that makes `input_ids`, [batch, sequence] in int64, and leaves `hidden`, [batch, sequence, hidden]. */
export function tokenEmbeddingStage(spec: EmbeddingSpec): Stage {
  return {
    name: spec.name,
    role: 'embedding',
    count: 1,
    trace: (t, flow) => {
      const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
      const hidden = embed(t, ids, spec, undefined, true);
      flow.set('hidden', hidden);
    },
  };
}

/** Final norm, output projection and loss; with a classification objective the `score` layer instead. */
export function headStage(model: Pick<DecoderModel, 'finalNorm' | 'head' | 'beforeHead'>): Stage {
  return {
    name: 'head',
    role: 'head',
    count: 1,
    trace: (t, flow) => {
      let hidden = t.enter(take(flow, 'hidden'), 'hidden');
      if (model.finalNorm) hidden = model.finalNorm(t, hidden);
      const { objective } = t.settings;
      let loss: Tensor;
      if (model.beforeHead) hidden = model.beforeHead(t, hidden);
      if (objective === 'classification' || objective === 'reward') {
        loss = classificationHead(t, hidden, { name: 'score' });
      } else {
        loss = languageModelHead(t, hidden, model.head);
      }
      flow.set('loss', loss);
    },
  };
}

/** Embedding, layers and head of a decoder, in the order of forward. */
export function decoderStages(model: DecoderModel): Stage[] {
  return [
    tokenEmbeddingStage({ ...model.embedding, headTied: model.head.tiedTo !== undefined }),
    ...layerStages(model.layersName ?? 'layers', model.layers),
    headStage(model),
  ];
}
