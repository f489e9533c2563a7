import { findModel, modelFromConfig } from '../../server/src/model/catalog';
import type { Model } from '../../server/src/model/model';
import { findRepackaged } from '../../server/src/model/repackaged';
import { lower, type MeasuredRow, NotExpressed, type RowArchitecture } from './row';

/** Figures of a catalog model that a row may contradict, with the config field that holds each. */
const FIELD: Readonly<Record<string, string>> = {
  layers: 'num_hidden_layers',
  hidden: 'hidden_size',
  heads: 'num_attention_heads',
  kv_heads: 'num_key_value_heads',
  vocab: 'vocab_size',
};

/** The model of a row: the catalog's, with the fields in which the row differs, else one built from the row alone. */
export function modelOf(row: MeasuredRow): Model {
  const name = row.model.replace(/\s*\(.*\)\s*$/, '');
  // litgpt's models keep a head of their own whatever the checkpoint shares (`model.py`, `GPT.__init__`).
  const own = /lit-?gpt/.test(lower(row.framework)) ? { tied: false } : {};
  const arch = { ...own, ...dropUnknown(row.arch ?? {}) };
  const known = findModel(name) ?? findRepackaged(name)?.model;
  if (known) return amended(known, arch, row);
  return build(configFrom(row, arch), name);
}

/** What a row leaves open states nothing. */
function dropUnknown(arch: RowArchitecture): RowArchitecture {
  return Object.fromEntries(
    Object.entries(arch).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** The catalog's model where the row agrees with it; else its config with the row's sizes. */
function amended(model: Model, arch: RowArchitecture, row: MeasuredRow): Model {
  const figures: Readonly<Record<string, number>> = {
    layers: model.layers,
    hidden: model.hiddenSize,
    heads: model.attentionHeads,
    kv_heads: model.keyValueHeads,
    vocab: model.vocabulary,
  };
  const sizes = arch as Readonly<Record<string, unknown>>;
  const changes: Record<string, unknown> = {};
  for (const [key, figure] of Object.entries(figures)) {
    const stated = sizes[key];
    const field = FIELD[key];
    if (typeof stated === 'number' && stated !== figure && field) changes[field] = stated;
  }
  const tied = model.config.tie_word_embeddings;
  if (typeof arch.tied === 'boolean' && arch.tied !== (tied ?? arch.tied)) {
    changes.tie_word_embeddings = arch.tied;
  }
  if (arch.tied === false && tied === undefined && isTied(model)) changes.tie_word_embeddings = false;
  if (Object.keys(changes).length === 0) return model;
  return build({ ...model.config, ...changes }, row.model);
}

/** Whether the head shares the embedding: it then has no weight of its own. */
function isTied(model: Model): boolean {
  return model.parameters.embedding > 0 && model.config.tie_word_embeddings !== false;
}

function build(config: Readonly<Record<string, unknown>>, id: string): Model {
  const model = modelFromConfig(config, id, 'inline');
  if ('error' in model) throw new NotExpressed(model.error);
  return model;
}

/** A config with the row's sizes, of the architecture that its MLP, norms and name imply. */
function configFrom(row: MeasuredRow, arch: RowArchitecture): Record<string, unknown> {
  const { layers, hidden, heads, ffn, vocab } = arch;
  if (!layers || !hidden || !heads || !ffn) {
    throw new NotExpressed(`the model "${row.model}" is not in the catalog and the row gives no sizes`);
  }
  const shared = {
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: ffn,
  };
  const name = lower(row.model);
  if (!vocab) {
    if (!/\bvit|vit_/.test(name)) throw new NotExpressed(`"${row.model}" has no vocabulary and is no ViT`);
    if (lower(arch.mlp) !== 'gelu') throw new NotExpressed(`"${row.model}": a gated ViT is not modelled`);
    return { ...shared, ...imageSizes(row, arch), model_type: 'vit' };
  }
  if (/\bbert/.test(name)) return { ...shared, vocab_size: vocab, model_type: 'bert' };
  const decoder = {
    ...shared,
    vocab_size: vocab,
    tie_word_embeddings: arch.tied ?? false,
    ...(arch.kv_heads ? { num_key_value_heads: arch.kv_heads } : {}),
    ...(arch.head_dim ? { head_dim: arch.head_dim } : {}),
  };
  if (lower(arch.mlp) !== 'gelu') return { ...decoder, model_type: 'llama', hidden_act: 'silu' };
  if (arch.parallel_residual) return { ...decoder, model_type: 'gpt_neox', hidden_act: 'gelu' };
  throw new NotExpressed(
    `"${row.model}" is not in the catalog and its architecture is not clear from its sizes`,
  );
}

/** Patch and image size: from a timm name such as `vit_huge_patch14_224`, the tokens being what the row states. */
function imageSizes(row: MeasuredRow, arch: RowArchitecture): Record<string, unknown> {
  const patch = /patch(\d+)/.exec(lower(row.model));
  const size = /patch\d+_(?:[a-z]+_)?(\d{3})/.exec(lower(row.model));
  if (!patch || !size) throw new NotExpressed(`the patches of "${row.model}" are not known`);
  const tokens = (Number(size[1]) / Number(patch[1])) ** 2 + 1;
  const stated = arch.seq ?? row.seq_len;
  if (stated && stated !== tokens)
    throw new NotExpressed(`"${row.model}" has ${tokens} tokens, not ${stated}`);
  return { patch_size: Number(patch[1]), image_size: Number(size[1]), num_channels: 3, hidden_act: 'gelu' };
}
