import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';

/** A file of a family with a place for further lines of a block, and the path of that block. */
const FILES: readonly (readonly [
  family: string,
  uri: string,
  text: (key: string) => string,
  block: string,
])[] = [
  [
    'deepspeed',
    'ds_config.json',
    (key) =>
      `{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "${key}": 8}}`,
    'zero_optimization',
  ],
  [
    'accelerate',
    'fsdp.yaml',
    (key) =>
      `compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  ${key}: 8\n`,
    'fsdp_config',
  ],
  [
    'axolotl',
    'lora.yaml',
    (key) =>
      `base_model: Qwen/Qwen2.5-7B\ndatasets: [{path: x, type: alpaca}]\nadapter: lora\nmicro_batch_size: 1\nfsdp_config:\n  offload_params: true\n  ${key}: 8\n`,
    'fsdp_config',
  ],
  [
    'litgpt',
    'lora.yaml',
    (key) =>
      `checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B\nprecision: bf16-true\ntrain:\n  micro_batch_size: 1\n  ${key}: 8\ndata:\n  class_path: litgpt.data.Alpaca\n`,
    'train',
  ],
  [
    'torchtitan',
    'train.toml',
    (key) =>
      `[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n${key} = 8\n`,
    'training',
  ],
  [
    'verl',
    'ppo.yaml',
    (key) =>
      `data: {train_batch_size: 64}\nactor_rollout_ref:\n  model: {path: Qwen/Qwen2.5-7B}\n  actor: {ppo_mini_batch_size: 32, ppo_micro_batch_size_per_gpu: 1, ${key}: 8}\n  rollout: {name: vllm, n: 4}\ntrainer: {n_gpus_per_node: 8, nnodes: 1}\n`,
    'actor_rollout_ref.actor',
  ],
  [
    'nemo',
    'gpt.yaml',
    (key) =>
      `trainer: {devices: 8, num_nodes: 1, precision: bf16}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 8\n  encoder_seq_length: 2048\n  num_layers: 12\n  hidden_size: 768\n  ${key}: 8\n`,
    'model',
  ],
  [
    'llm-foundry',
    'train.yaml',
    (key) =>
      `max_seq_len: 2048\nglobal_train_batch_size: 8\nmodel:\n  name: mpt_causal_lm\n  d_model: 2048\n  n_heads: 16\n  n_layers: 24\n  ${key}: 8\ntrain_loader:\n  name: text\nfsdp_config:\n  mixed_precision: PURE\nmax_duration: 1ba\n`,
    'model',
  ],
];

function left(uri: string, text: string) {
  const document = parseConfig(`file:///w/${uri}`, text);
  const dialect = detectDialect(document);
  return { family: dialect?.id, unread: dialect?.read(document, { known: {}, versions: {} }).unread ?? [] };
}

describe('keys of blocks that nobody reads', () => {
  for (const [family, uri, text, block] of FILES) {
    it(`${family}: are counted as those of the top level are, by their path`, () => {
      const found = left(uri, text('frobnicated_batch_shards'));
      assert.equal(found.family, family);
      assert.deepEqual(
        found.unread.map(({ kind, text: path }) => [kind, path]),
        [['flag', `${block}.frobnicated_batch_shards`]],
      );
      assert.match(found.unread[0]?.message ?? '', /what it changes is not counted/);
    });

    it(`${family}: are not where their names have nothing to do with memory, or they are switched off`, () => {
      assert.deepEqual(left(uri, text('frobnicated_colour')).unread, []);
      const off = text('frobnicated_batch_shards').replace(
        /(frobnicated_batch_shards"?\s*[:=] )8/,
        '$1false',
      );
      assert.match(off, /false/);
      assert.deepEqual(left(uri, off).unread, []);
    });
  }
});
