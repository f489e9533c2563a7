import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SIZES = { num_hidden_layers: 2, vocab_size: 100, intermediate_size: 64 };
const run = (config: object, sequence = 128) =>
  JSON.stringify({
    run: { model: { config }, batch: { micro: 1, sequence }, hardware: { gpu: 'H100', gpus: 1 } },
  });
const shape = (model_type: string, hidden_size: number, num_attention_heads: number, more: object = {}) =>
  run({ model_type, hidden_size, num_attention_heads, ...SIZES, ...more });
const foundry = (model: string, length = 2048) =>
  `model:\n  name: mpt_causal_lm\n${model}\n  max_seq_len: ${length}\n  vocab_size: 50368\nmax_seq_len: ${length}\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nprecision: amp_bf16\ntrain_loader: {}\n`;

const IMPOSSIBLE: Readonly<Record<string, readonly [file: string, text: string]>> = {
  ...Object.fromEntries(
    ['mpt', 'llama', 'gpt2', 'gpt_neox', 'qwen2', 'bert', 'falcon'].map((type) => [
      `${type} with more heads than width`,
      [
        'r.oomlint.json',
        shape(type, 16, 32, { d_model: 16, n_heads: 32, n_layers: 2, n_embd: 16, n_head: 32, n_layer: 2 }),
      ],
    ]),
  ),
  'a width that 5 heads do not divide': ['r.oomlint.json', shape('llama', 64, 5)],
  '4 heads on 3 key and value heads': ['r.oomlint.json', shape('llama', 64, 4, { num_key_value_heads: 3 })],
  'llm-foundry: 2050 on 16 heads': ['f.yaml', foundry('  d_model: 2050\n  n_heads: 16\n  n_layers: 24')],
  'llm-foundry: half an element': ['f.yaml', foundry('  d_model: 2048.5\n  n_heads: 16\n  n_layers: 24')],
  'llm-foundry: 7': ['f.yaml', foundry('  d_model: 7\n  n_heads: 16\n  n_layers: 24')],
  'a sample of 10^15 tokens': [
    'r.oomlint.json',
    run({ model_type: 'llama', hidden_size: 64, num_attention_heads: 4, ...SIZES }, 1e15),
  ],
  'a rotary share of 10^308': ['r.oomlint.json', shape('gpt_neox', 64, 4, { rotary_pct: 1e308 })],
};

describe('shapes that no model can have', () => {
  for (const [name, [file, text]] of Object.entries(IMPOSSIBLE))
    it(`${name}: no estimate, and why`, async () => {
      const { analyze } = smallWorkspace({
        'oomlint.yaml': 'targets: { gpu: H100, gpus: 8 }\n',
        [file]: text,
      });
      const { estimate, problems, resolved } = await analyze(file);
      assert.equal(estimate, undefined, `${estimate?.verdict} ${estimate?.peak.processBytes}`);
      assert.ok(
        problems.some(({ code }) => /unknown-fields|no-figure/.test(code)),
        JSON.stringify(problems),
      );
      assert.ok(problems.some(({ code }) => code === 'no-figure') || resolved.unknown.length > 0);
    });

  it('what models have is estimated', async () => {
    for (const text of [
      shape('llama', 64, 4, { num_key_value_heads: 2 }),
      shape('llama', 60, 8, { head_dim: 16 }),
      shape('qwen2', 66, 4, { num_key_value_heads: 4 }),
      shape('gpt_neox', 64, 4, { rotary_pct: 0.25 }),
    ]) {
      const { analyze } = smallWorkspace({ 'r.oomlint.json': text });
      assert.equal((await analyze('r.oomlint.json')).estimate?.verdict, 'fits', text);
    }
    const { analyze } = smallWorkspace({
      'oomlint.yaml': 'targets: { gpu: H100, gpus: 8 }\n',
      'f.yaml': foundry('  d_model: 2048\n  n_heads: 16\n  n_layers: 24'),
    });
    assert.ok((await analyze('f.yaml')).estimate);
  });
});

describe('layouts that the GPUs do not divide into', () => {
  const script = (nodes: number) =>
    `torchrun --nproc_per_node 8 --nnodes ${nodes} pretrain_gpt.py --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 1536 --train-iters 500000 --fp16 --vocab-size 50257\n`;
  const analyzed = (nodes: number) =>
    smallWorkspace({ 'oomlint.yaml': 'targets: { gpu: A100-80GB }\n', 'gpt3.sh': script(nodes) }).analyze(
      'gpt3.sh',
    );

  it('have no verdict, time or cost, but the reason', async () => {
    const { estimate, problems, resolved } = await analyzed(1);
    assert.equal(estimate, undefined);
    const sentence = '8 GPUs cannot be divided into groups of 128 (tensor 8 × pipeline 16).';
    assert.deepEqual(resolved.unknown, [{ field: 'hardware.gpus', reason: sentence, stated: true }]);
    const unknown = problems.find(({ code }) => code === 'unknown-fields');
    // The file states its GPUs: a comment that states others would not count.
    assert.ok(unknown?.message.includes(sentence) && !unknown.message.includes('gpus='), unknown?.message);
    assert.ok(problems.some(({ code }) => code === 'world-size'));
  });

  it('may be put right by a comment where the file does not state its GPUs', async () => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': 'targets: { gpu: A100-80GB, gpus: 8 }\n',
      'r.oomlint.json': JSON.stringify({
        run: {
          model: { config: { model_type: 'llama', hidden_size: 64, num_attention_heads: 4, ...SIZES } },
          batch: { micro: 1, sequence: 128 },
          parallel: { tensor: 4, pipeline: 4 },
        },
      }),
    });
    const { estimate, resolved } = await analyze('r.oomlint.json');
    assert.equal(estimate, undefined);
    assert.equal(resolved.unknown[0]?.example, '16');
  });

  it('are estimated where they divide', async () => {
    const { estimate, resolved } = await analyzed(16);
    assert.ok(estimate);
    assert.equal(resolved.values['batch.accumulation'], 1536);
  });
});
