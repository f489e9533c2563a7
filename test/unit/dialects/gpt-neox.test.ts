import assert from 'node:assert/strict';
import { neoxInner } from '../../../server/src/dialects/gpt-neox/gpt-neox-model';
import { mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { modelOf, problemsOf, read, refused, stated } from './reading';

const URI = 'file:///configs/model.yml';

/** A flow mapping with quoted keys, comments and a comma too many, as GPT-NeoX's own files are. */
function flow(rows: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(rows).map(([key, value]) => `  "${key}": ${JSON.stringify(value)}, # set`);
  return `# a model\n{\n${lines.join('\n')}\n}\n`;
}

const PYTHIA = {
  'pipe-parallel-size': 1,
  'model-parallel-size': 1,
  'num-layers': 6,
  'hidden-size': 512,
  'num-attention-heads': 8,
  'seq-length': 2048,
  'max-position-embeddings': 2048,
  'pos-emb': 'rotary',
  'rotary-pct': 0.25,
  'no-weight-tying': true,
  'gpt-j-residual': true,
  'attention-config': [[['flash'], 6]],
  'zero-optimization': { stage: 1, reduce_bucket_size: 5e8 },
  'train-micro-batch-size-per-gpu': 32,
  'gradient-accumulation-steps': 2,
  'checkpoint-activations': true,
  'checkpoint-num-layers': 1,
  'partition-activations': true,
  fp16: { enabled: true, loss_scale: 0 },
  optimizer: { type: 'Adam', params: { lr: 0.001, betas: [0.9, 0.95] } },
  'train-iters': 143000,
};

const LLAMA2 = {
  pipe_parallel_size: 1,
  model_parallel_size: 1,
  make_vocab_size_divisible_by: 1,
  num_layers: 32,
  hidden_size: 4096,
  intermediate_size: 32768,
  num_attention_heads: 32,
  seq_length: 4096,
  max_position_embeddings: 4096,
  pos_emb: 'rotary',
  no_weight_tying: true,
  norm: 'rmsnorm',
  use_bias_in_attn_linear: false,
  use_bias_in_mlp: false,
  activation: 'swiglu',
  mlp_multiple_of: 256,
  tokenizer_type: 'SPMTokenizer',
  vocab_file: 'llama2.model',
  precision: 'bfloat16',
};

const without = (rows: Readonly<Record<string, unknown>>, ...keys: string[]) =>
  Object.fromEntries(Object.entries(rows).filter(([key]) => !keys.includes(key)));

describe('GPT-NeoX', () => {
  it('reads a flow mapping with dashed keys: Pythia 70M', () => {
    const reading = read('gpt-neox', URI, flow(PYTHIA));
    assert.equal(modelOf(reading).parameters.total, 70_426_624);
    assert.equal(stated(reading, 'batch.micro'), '32 file');
    assert.equal(stated(reading, 'batch.accumulation'), '2 file');
    assert.equal(stated(reading, 'batch.sequence'), '2048 file');
    assert.equal(stated(reading, 'parallel.pipeline'), '1 file');
    assert.equal(stated(reading, 'parallel.data'), 'zero file');
    assert.equal(stated(reading, 'zero.stage'), '1 file');
    assert.equal(stated(reading, 'zero.reduceBucket'), '500000000 file');
    assert.equal(stated(reading, 'zero.allgatherBucket'), '500000000 default');
    assert.equal(stated(reading, 'precision.compute'), 'fp16 file');
    assert.equal(stated(reading, 'precision.scheme'), 'deepspeed file');
    assert.equal(stated(reading, 'optimizer.name'), 'adamw file');
    assert.equal(stated(reading, 'optimizer.implementation'), 'fused default');
    assert.equal(stated(reading, 'activations.checkpointing'), 'full file');
    assert.equal(stated(reading, 'attention.implementation'), 'flash2 file');
    assert.equal(stated(reading, 'schedule.steps'), '143000 file');
    assert.deepEqual(problemsOf(reading), []);
  });

  it('takes a third of the width for each branch of a gated MLP: Llama 2 7B', () => {
    const reading = read('gpt-neox', URI, flow(LLAMA2));
    assert.equal(modelOf(reading).parameters.total, 6_738_415_616);
    assert.equal(stated(reading, 'precision.weights'), 'bf16 file');
    // Biases of the MLP unless they are switched off, and GPT-2's tokenizer where none is named.
    const file = read(
      'gpt-neox',
      URI,
      flow(without(LLAMA2, 'use_bias_in_mlp', 'tokenizer_type', 'vocab_file')),
    );
    assert.equal(
      modelOf(file).parameters.total,
      6_738_415_616 + 32 * (22016 + 4096) + 2 * (50257 - 32000) * 4096,
    );
  });

  it('sizes MLPs as `ParallelMLP` does', () => {
    assert.equal(neoxInner(4 * 512, false, 1), 2048);
    assert.equal(neoxInner(2050, false, 256), 2304);
    assert.equal(neoxInner(32768, true, 256), 11008);
    // Llama 3's width as its post-training files get there.
    assert.equal(neoxInner(14336, true, 14336), 14336);
    assert.equal(neoxInner(14336, true, 256), 4864);
  });

  it('has learned positions, tied heads and fp32 where nothing is stated', () => {
    const reading = read(
      'gpt-neox',
      URI,
      'pipe_parallel_size: 0\nmodel_parallel_size: 2\nnum_layers: 12\nhidden_size: 768\nnum_attention_heads: 12\nseq_length: 1024\nmax_position_embeddings: 1024\ntrain_micro_batch_size_per_gpu: 4\n',
    );
    const h = 768;
    const rows = 50432; // 50257 up to a multiple of 128 x 2
    assert.equal(modelOf(reading).parameters.total, 12 * (12 * h * h + 13 * h) + (rows + 1024) * h + 2 * h);
    assert.equal(stated(reading, 'parallel.tensor'), '2 file');
    assert.equal(stated(reading, 'parallel.pipeline'), '1 file');
    assert.equal(stated(reading, 'precision.weights'), 'fp32 default');
    assert.equal(stated(reading, 'zero.stage'), '0 default');
    assert.equal(stated(reading, 'activations.checkpointing'), 'none default');
    assert.equal(stated(reading, 'batch.accumulation'), '1 default');
    assert.equal(stated(reading, 'optimizer.name'), 'adamw default');
  });

  it('shares experts out over the model-parallel ranks', () => {
    const reading = read(
      'gpt-neox',
      URI,
      flow({ ...PYTHIA, 'model-parallel-size': 2, 'moe-num-experts': 8 }),
    );
    const h = 512;
    const layer = 3 * h * h + 3 * h + h * h + h + 4 * h + 8 * h + 8 * 2 * h * 2048;
    assert.equal(modelOf(reading).parameters.total, 6 * layer + 2 * 50432 * h + 2 * h);
    assert.equal(stated(reading, 'parallel.expert'), '2 file');
    assert.equal(stated(reading, 'parallel.expertTensor'), '1 file');
  });

  it('reads Mamba, DPO and GPUs', () => {
    const mamba = read(
      'gpt-neox',
      URI,
      flow({ ...PYTHIA, 'attention-config': [[['mamba'], 6]], 'pos-emb': 'none', norm: 'rmsnorm' }),
    );
    assert.equal(modelOf(mamba).modelType, 'mamba');
    const dpo = read(
      'gpt-neox',
      URI,
      flow({ ...LLAMA2, train_impl: 'dpo', num_gpus: 8, num_nodes: 2, train_micro_batch_size_per_gpu: 1 }),
    );
    assert.equal(stated(dpo, 'method.objective'), 'dpo file');
    assert.equal(stated(dpo, 'method.referenceModel'), 'true file');
    assert.equal(stated(dpo, 'hardware.gpus'), '16 file');
  });

  it('knows a part of a run, of which it assumes nothing', () => {
    const text = flow({
      'data-path': 'data/enwik8',
      'vocab-file': 'data/gpt2-vocab.json',
      'merge-file': 'data/gpt2-merges.txt',
      save: 'checkpoints',
      'checkpoint-validation-with-forward-pass': false,
      'tensorboard-dir': 'tensorboard',
    });
    const reading = read('gpt-neox', 'file:///configs/local_setup.yml', text);
    assert.deepEqual(reading.facts, []);
    assert.deepEqual(problemsOf(reading), []);
  });

  it('leaves other files alone', () => {
    for (const text of [
      'num_layers: 12\nhidden_size: 768\nvocab_size: 30522\n',
      'log_dir: logs\nseed: 1\nlr: 0.1\n',
      'name: build\non: push\njobs: {}\n',
      'version: 3\nservices: {web: {image: nginx}}\n',
    ])
      assert.ok(!mightBeTrainingConfig(text, 'a.yml') || !text.includes('parallel'), text);
  });

  const rejected: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
    [{ ...PYTHIA, 'moe-num-experts': 8, 'zero-optimization': { stage: 2 } }, 'experts-with-zero'],
    [{ ...PYTHIA, 'hidden-size': 513 }, 'hidden-not-divisible'],
    [{ ...PYTHIA, 'num-kv-heads': 3 }, 'groups-not-divisible'],
    [{ ...PYTHIA, 'num-kv-heads': 2, 'model-parallel-size': 4 }, 'too-few-kv-heads'],
    [{ ...PYTHIA, 'max-position-embeddings': 1024 }, 'too-few-positions'],
    [{ ...PYTHIA, 'intermediate-size': 1024, 'expansion-factor': 3 }, 'two-widths'],
    [
      { ...PYTHIA, 'attention-config': [[['mamba'], 6]], 'zero-optimization': { stage: 3 } },
      'recurrent-with-zero',
    ],
  ];
  for (const [rows, code] of rejected)
    it(`refuses ${code}`, () => {
      assert.deepEqual(refused(read('gpt-neox', URI, flow(rows))), [code]);
    });

  // `calculate_derived` of v1.0 and v2.0 sets the precision itself, and their head can be split by `row`.
  for (const [rows, code] of [
    [{ ...PYTHIA, precision: 'bfloat16' }, 'two-precisions'],
    [{ ...PYTHIA, 'output-layer-parallelism': 'row' }, 'row-parallel-head'],
  ] as const)
    it(`warns of ${code}, which the last release takes`, () => {
      const found = problemsOf(read('gpt-neox', URI, flow(rows)));
      assert.deepEqual(
        found.map(({ code: own, severity }) => `${own} ${severity}`),
        [`${code} warning`],
      );
      assert.match(found[0]?.message ?? '', / GPT-NeoX up to 2\.0 takes it\.$/);
    });

  it('refuses GPUs that do not divide, once they are known', () => {
    const text = flow({ ...PYTHIA, 'pipe-parallel-size': 2, 'model-parallel-size': 4 });
    assert.deepEqual(refused(read('gpt-neox', URI, text, { 'hardware.gpus': 16 })), []);
    assert.deepEqual(refused(read('gpt-neox', URI, text, { 'hardware.gpus': 12 })), ['world-size']);
  });

  it('reports what a gated width as Hugging Face writes it comes to', () => {
    const problems = problemsOf(read('gpt-neox', URI, flow({ ...LLAMA2, intermediate_size: 11008 })));
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['gated-width'],
    );
    assert.match(problems[0]?.message ?? '', /: 3840 here.*33024/);
  });

  it('leaves such a width open in a copy that has keys of its own for the layers', () => {
    const copy = { ...LLAMA2, intermediate_size: 11008, norm_placement: 'after' };
    const found = read('gpt-neox', URI, flow(copy));
    assert.ok(!problemsOf(found).some(({ code }) => code === 'gated-width'));
    const open = found.unread?.filter(({ fields }) => fields?.includes('model.id')) ?? [];
    assert.deepEqual(
      open.map(({ text }) => text),
      ['intermediate_size'],
    );
    const wide = read('gpt-neox', URI, flow({ ...copy, intermediate_size: 33024 }));
    assert.ok(!wide.unread?.some(({ fields }) => fields?.includes('model.id')));
  });
});

describe('a run of several GPT-NeoX files', () => {
  const model = flow(without(LLAMA2, 'precision', 'tokenizer_type', 'vocab_file'));
  const training = flow({
    train_micro_batch_size_per_gpu: 4,
    gradient_accumulation_steps: 8,
    precision: 'bfloat16',
    zero_optimization: { stage: 1 },
    checkpoint_activations: true,
    data_impl: 'mmap',
    checkpoint_factor: 1000,
  });
  const script = '#!/bin/bash\npython ./deepy.py train.py -d configs llama.yml training\n';
  const host = (more: Readonly<Record<string, string>> = {}) =>
    new MemoryHost(
      {
        'file:///w/run.sh': script,
        'file:///w/configs/llama.yml': model,
        'file:///w/configs/training.yml': training,
        ...more,
      },
      { folders: ['file:///w'] },
    );

  it('is joined by the script that starts it', async () => {
    const analysis = await new Workspace(host()).analyze('file:///w/run.sh');
    assert.deepEqual(
      analysis?.links.map(({ uri }) => uri),
      ['file:///w/configs/llama.yml', 'file:///w/configs/training.yml'],
    );
    const { values } = analysis?.resolved ?? { values: {} };
    assert.equal(values['hardware.gpus'], undefined);
    assert.equal(values['batch.micro'], 4);
    assert.equal(values['batch.accumulation'], 8);
    assert.equal(values['batch.sequence'], 4096);
    assert.equal(values['precision.weights'], 'bf16');
    assert.equal(values['zero.stage'], 1);
    assert.equal(values['activations.checkpointing'], 'full');
  });

  it('is seen from each of its files', async () => {
    const workspace = new Workspace(host());
    const analysis = await workspace.analyze('file:///w/configs/llama.yml');
    assert.equal(analysis?.resolved.values['batch.micro'], 4);
    assert.deepEqual(
      analysis?.problems.filter(({ severity }) => severity === 'error'),
      [],
    );
  });

  it('must not have a key twice, however it is spelled', async () => {
    const twice = training.replace('"data_impl"', '"seq-length": 2048,\n  "data_impl"');
    const workspace = new Workspace(host({ 'file:///w/configs/training.yml': twice }));
    const analysis = await workspace.analyze('file:///w/configs/training.yml');
    const doubled = analysis?.problems.filter(({ code }) => code === 'duplicate-key') ?? [];
    assert.deepEqual(
      doubled.map(({ severity, range }) => `${severity} ${range.start.line}`),
      ['error 7'],
    );
    assert.equal(doubled[0]?.related?.[0]?.uri, 'file:///w/configs/llama.yml');
  });
});
