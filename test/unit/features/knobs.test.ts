import assert from 'node:assert/strict';
import fc from 'fast-check';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { knobsOf, valuesOf } from '../../../server/src/features/knobs';
import { KNOBS, type Turned } from '../../../server/src/features/protocol';
import { tryKnobs } from '../../../server/src/features/try';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { analysed, DEEPSPEED, PROJECT } from './panel-run';

/** A run on two pipeline stages of 16 GPUs, in a family that has keys for it. */
async function torchtitan({ tensor = 2, pipeline = 2 } = {}): Promise<Analysis> {
  const uri = 'file:///project/train.toml';
  const text = `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 8
seq_len = 4096
steps = 10

[parallelism]
tensor_parallel_degree = ${tensor}
pipeline_parallel_degree = ${pipeline}
`;
  const targets = 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 16\n';
  const files = { [uri]: text, 'file:///project/oomlint.yaml': targets };
  const host = new MemoryHost(files, { folders: ['file:///project'] });
  const analysis = await new Workspace(host).analyze(uri);
  assert.ok(analysis?.estimate);
  return analysis;
}

const knob = (analysis: Analysis, id: string) => knobsOf(analysis).find((one) => one.id === id);

describe('knobs', () => {
  it('are there for everything that a person weighs, where a run stands', async () => {
    const analysis = await analysed();
    const knobs = knobsOf(analysis);
    // DeepSpeed refuses tensor parallelism beside ZeRO-3, and has no key for pipelines.
    const all = KNOBS.filter((id) => id !== 'tensor' && id !== 'pipeline');
    assert.deepEqual(new Set(knobs.map(({ id }) => id)), new Set(all));
    const at = Object.fromEntries(knobs.map(({ id, value }) => [id, value]));
    assert.deepEqual(at, {
      'micro-batch': 2,
      accumulation: 4,
      sequence: 2048,
      rank: 8,
      gpus: 8,
      checkpointing: 'none',
      optimizer: 'adamw',
      method: 'full',
      precision: 'bf16',
      sharding: 'zero-3',
      offload: 'none',
      allocator: 'off',
      gpu: 'H100-SXM5-80GB',
    });
    const gpu = knobs.find(({ id }) => id === 'gpu');
    assert.ok(gpu?.kind === 'choice');
    const groups = gpu.options.map(({ group }) => group);
    // Each maker's cards follow each other, the larger ones last.
    assert.equal(groups[0], 'NVIDIA');
    assert.equal(new Set(groups).size, groups.filter((group, at) => group !== groups[at - 1]).length);
    const order = gpu.options.map(({ label }) => label);
    for (const [small, large] of [
      ['T4', 'A10G'],
      ['A100-SXM4-40GB', 'A100-SXM4-80GB'],
      ['H100-SXM5-80GB', 'B200-SXM'],
    ] as const)
      assert.ok(order.includes(small) && order.indexOf(small) < order.indexOf(large), `${small}, ${large}`);
    for (const one of knobs) {
      if (one.kind === 'number') assert.ok(one.steps.includes(one.value), one.id);
      else
        assert.ok(
          one.options.some(({ id }) => id === one.value),
          one.id,
        );
    }
  });

  it('stand for the fields of the framework that runs', async () => {
    const analysis = await analysed();
    assert.deepEqual(valuesOf(analysis, { precision: 'fp16' }), {
      'precision.compute': 'fp16',
      'precision.weights': 'fp16',
    });
    assert.deepEqual(valuesOf(analysis, { method: 'qlora', rank: 16 }), {
      'lora.rank': 16,
      'method.kind': 'lora',
      'quantization.kind': 'nf4',
    });
    assert.deepEqual(valuesOf(analysis, { sharding: 'zero-3', 'micro-batch': 2 }), {});
  });

  it('offer GPUs in multiples of what holds one copy of the data', async () => {
    const project = PROJECT.replace('gpus: 8', 'gpus: 8\n  tensor: 4');
    const text = DEEPSPEED.replace('{\n', '// oomlint: parallel.tensor=4\n{\n');
    const gpus = knob(await analysed(text, project.replace('\n  tensor: 4', '')), 'gpus');
    assert.ok(gpus?.kind === 'number' && gpus.steps.every((step) => step % 4 === 0));
  });

  it('split the model where the family can, in ways that divide the GPUs', async () => {
    const titan = await torchtitan();
    const at = (id: string) => knob(titan, id);
    assert.deepEqual(at('tensor'), {
      id: 'tensor',
      kind: 'number',
      value: 2,
      steps: [1, 2, 4, 8],
      needs: undefined,
    });
    const pipeline = at('pipeline');
    assert.ok(pipeline?.kind === 'number');
    assert.deepEqual(pipeline.steps, [1, 2, 4, 8]);
    const tried = tryKnobs(titan, { pipeline: 4, tensor: 4 });
    assert.deepEqual(tried?.values, { 'parallel.tensor': 4, 'parallel.pipeline': 4 });
    assert.deepEqual(
      tried?.breakdown?.ranks?.map(({ first, last }) => [first, last]),
      [
        [0, 3],
        [4, 7],
        [8, 11],
        [12, 15],
      ],
    );
    const written = await torchtitan({ tensor: 4, pipeline: 4 });
    assert.deepEqual(tried?.breakdown?.ranks, breakdownOf(written).ranks);
    assert.match(tryKnobs(titan, { pipeline: 3 })?.problem ?? '', /do not divide/);
  });

  it('have no rank where all weights are trained and no other method can be turned to', async () => {
    const script = `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
  --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 \\
  --global-batch-size 64 --tensor-model-parallel-size 2 --bf16 --vocab-size 128256 --train-iters 1000 --lr 1e-4
`;
    const uri = 'file:///project/train.sh';
    const files = {
      [uri]: script,
      'file:///project/oomlint.yaml': 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\n',
    };
    const host = new MemoryHost(files, { folders: ['file:///project'] });
    const analysis = await new Workspace(host).analyze(uri);
    assert.ok(analysis?.estimate);
    assert.equal(knob(analysis, 'method'), undefined);
    assert.equal(knob(analysis, 'rank'), undefined);
    assert.ok(knob(await analysed(), 'rank'));
  });

  it('say that a framework refuses what only does not go together', async () => {
    const analysis = await analysed(DEEPSPEED.replace('"stage": 3', '"stage": 2'));
    assert.ok(tryKnobs(analysis, { tensor: 2 })?.breakdown);
    assert.match(tryKnobs(analysis, { tensor: 2, sharding: 'zero-3' })?.problem ?? '', /refuses/);
  });

  it('take a stated global batch and stated machines along', async () => {
    const stated = DEEPSPEED.replace('{\n', '{\n  "train_batch_size": 64,\n');
    assert.deepEqual(valuesOf(await analysed(stated), { 'micro-batch': 4 }), {
      'batch.micro': 4,
      'batch.global': 128,
    });
    const machines = PROJECT.replace('gpus: 8', 'gpus: 16\n  nodes: 2');
    assert.deepEqual(valuesOf(await analysed(DEEPSPEED, machines), { gpus: 32 }), {
      'hardware.gpus': 32,
      'hardware.nodes': 4,
    });
  });

  it('turned, give what the file would give with those values', async () => {
    const analysis = await analysed();
    const tried = tryKnobs(analysis, { 'micro-batch': 4, sharding: 'zero-2', gpus: 4 });
    const written = await analysed(
      DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 4').replace('"stage": 3', '"stage": 2'),
      PROJECT.replace('gpus: 8', 'gpus: 4'),
    );
    assert.deepEqual(tried?.breakdown?.peak, written.estimate?.peak);
    assert.deepEqual(tried?.breakdown?.parts, written.estimate?.parts);
    assert.deepEqual(tried?.breakdown?.compute, written.estimate?.compute);
  });

  it('turned to FSDP, give what the framework makes of the precision there, whatever precision is turned to with it', async () => {
    const uri = 'file:///project/sft.yaml';
    const trainer = async (lines: string) => {
      const text = `model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 1\nmax_length: 2048\ndataset_name: x/y\ngradient_checkpointing: true\nlearning_rate: 1e-5\n${lines}`;
      const project = 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\n';
      const files = { [uri]: text, 'file:///project/oomlint.yaml': project };
      const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///project'] }));
      return (await workspace.analyze(uri)) ?? assert.fail();
    };
    const fsdp = 'fsdp: full_shard auto_wrap\nfsdp_config:\n  version: 2\n';
    for (const [from, to] of [
      ['bf16', 'bf16'],
      ['fp16', 'fp16'],
      ['bf16', 'fp16'],
    ] as const) {
      const type = (name: string) => `${name}: true\n${name === 'fp16' ? 'bf16: false\n' : ''}`;
      const replicas = await trainer(type(from));
      const tried = tryKnobs(replicas, { sharding: 'fsdp2-full', precision: to });
      const written = await trainer(type(to) + fsdp);
      assert.equal(written.resolved.values['parallel.data'], 'fsdp2');
      for (const field of ['precision.scheme', 'precision.compute', 'precision.masterWeights'] as const) {
        const turned = tried?.values[field] ?? replicas.resolved.values[field];
        assert.equal(turned, written.resolved.values[field], field);
      }
      assert.deepEqual(tried?.breakdown?.parts, written.estimate?.parts, `${from} to ${to}`);
    }
  });

  it('say why values make no run', async () => {
    const analysis = await analysed();
    assert.equal(tryKnobs(analysis, { 'micro-batch': 0 })?.problem, 'micro-batch: 0 is below 1.');
    const split = await analysed(DEEPSPEED.replace('{\n', '// oomlint: parallel.tensor=4\n{\n'));
    assert.match(tryKnobs(split, { gpus: 6 })?.problem ?? '', /do not divide/);
  });

  it('never throw, and either estimate or say why not, wherever they stand', async () => {
    const analysis = await analysed();
    const turned = fc.record(
      Object.fromEntries(
        knobsOf(analysis).map((one) => [
          one.id,
          one.kind === 'number'
            ? fc.oneof(fc.constantFrom(...one.steps), fc.integer({ min: -2, max: 40 }))
            : fc.constantFrom(...one.options.map(({ id }) => id), 'no such option'),
        ]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(turned, (position) => {
        const tried = tryKnobs(analysis, position as Turned);
        assert.ok(tried);
        assert.notEqual(tried.breakdown === undefined, tried.problem === undefined);
        const parts = tried.breakdown?.parts.reduce((sum, { bytes }) => sum + bytes, 0);
        const peak = tried.breakdown?.peak?.processBytes;
        // Beyond 2^53 bytes, 8 PiB, sums of numbers are rounded.
        if (peak === undefined || Number.isSafeInteger(peak)) assert.equal(parts, peak);
        else assert.ok(Math.abs((parts ?? 0) / peak - 1) < 1e-12, `${parts} beside ${peak}`);
      }),
      { numRuns: 40, examples: [[{ 'micro-batch': 256, sequence: 131072, gpus: 5, precision: 'fp32' }]] },
    );
  });
});
