import assert from 'node:assert/strict';
import fc from 'fast-check';
import { keyAtCursor } from '../../../client/src/panel/key-at-cursor';
import { causingKeys } from '../../../server/src/features/causing-keys';
import { compare } from '../../../server/src/features/compare';
import { knobsOf, valuesOf } from '../../../server/src/features/knobs';
import { KNOBS, type Turned } from '../../../server/src/features/protocol';
import { tryKnobs } from '../../../server/src/features/try';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { ranksOf } from '../../../server/src/workspace/ranks';

const URI = 'file:///project/ds.json';
const PROJECT = `targets:
  gpu: H100-SXM5-80GB
  gpus: 8
defaults:
  model: meta-llama/Llama-3.1-8B
  sequence: 2048
`;
const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3, "reduce_bucket_size": 50000000 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;

async function analysed(text = DEEPSPEED, project = PROJECT): Promise<Analysis> {
  const host = new MemoryHost(
    { [URI]: text, 'file:///project/oomlint.yaml': project },
    { folders: ['file:///project'] },
  );
  const analysis = await new Workspace(host).analyze(URI);
  assert.ok(analysis?.estimate);
  return analysis;
}

const knob = (analysis: Analysis, id: string) => knobsOf(analysis).find((one) => one.id === id);

describe('knobs', () => {
  it('are there for everything that a person weighs, where a run stands', async () => {
    const analysis = await analysed();
    const knobs = knobsOf(analysis);
    assert.deepEqual(new Set(knobs.map(({ id }) => id)), new Set(KNOBS));
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
      gpu: 'H100-SXM5-80GB',
    });
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
        assert.equal(parts, tried.breakdown?.peak?.processBytes);
      }),
      { numRuns: 40 },
    );
  });
});

describe('keys that cause parts', () => {
  it('are those of the files, with their places', async () => {
    const keys = causingKeys(await analysed());
    const stage = keys.find(({ key }) => key === 'zero_optimization.stage');
    assert.deepEqual(stage?.range.start, { line: 4, character: 34 });
    assert.ok(stage?.categories.includes('gradients'));
    const bucket = keys.find(({ key }) => key.endsWith('reduce_bucket_size'));
    assert.deepEqual(bucket?.categories, ['communication-buffers']);
    const names = keys.map(({ uri, key }) => `${uri} ${key}`);
    assert.equal(new Set(names).size, names.length);
    assert.ok(keys.some(({ uri }) => uri.endsWith('oomlint.yaml')));
  });

  it('are found under the cursor: on the value, on its name, and the nearest of a line', async () => {
    const keys = causingKeys(await analysed());
    const at = (line: number, character: number) => keyAtCursor(keys, URI, { line, character })?.key;
    assert.equal(at(1, 10), 'train_micro_batch_size_per_gpu');
    assert.equal(at(4, 30), 'zero_optimization.stage');
    assert.equal(at(4, 45), 'zero_optimization.reduce_bucket_size');
    assert.equal(at(0, 0), undefined);
    assert.equal(keyAtCursor(keys, 'file:///project/other.json', { line: 1, character: 1 }), undefined);
  });
});

describe('two runs compared', () => {
  it('differ by what their fields cost, one after the other', async () => {
    const before = await analysed();
    const after = await analysed(
      DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 8').replace('"stage": 3', '"stage": 1'),
      PROJECT.replace('sequence: 2048', 'sequence: 4096'),
    );
    const compared = compare(before, after);
    assert.ok(compared);
    const peaks = [compared.before, compared.after].map(({ peak }) => peak?.processBytes ?? 0);
    const sum = compared.differences.reduce((bytes, difference) => bytes + difference.bytes, 0);
    assert.equal(sum, (peaks[1] ?? 0) - (peaks[0] ?? 0));
    const names = compared.differences.map(({ fields }) => fields.join());
    for (const field of ['batch.micro', 'zero.stage', 'batch.sequence'])
      assert.ok(names.includes(field), field);
    const micro = compared.differences.find(({ fields }) => fields.includes('batch.micro'));
    assert.deepEqual([micro?.before, micro?.after], ['2', '8']);
    assert.ok(micro && micro.bytes > 0);
  });

  it('do not differ where only the text does', async () => {
    const other = DEEPSPEED.replaceAll('  ', '    ');
    assert.deepEqual(compare(await analysed(), await analysed(other))?.differences, []);
  });
});

describe('ranks', () => {
  it('are one where all GPUs hold the same', async () => {
    const analysis = await analysed();
    const ranks = ranksOf(analysis);
    assert.equal(ranks?.length, 1);
    assert.deepEqual([ranks[0]?.first, ranks[0]?.last], [0, 7]);
    assert.equal(ranks[0]?.processBytes, analysis.estimate?.peak.processBytes);
  });

  it('are one per pipeline stage; the fullest is that of the estimate', async () => {
    const text = DEEPSPEED.replace('{\n', '// oomlint: parallel.pipeline=4\n{\n').replace(
      '"stage": 3',
      '"stage": 1',
    );
    const analysis = await analysed(text);
    const ranks = ranksOf(analysis) ?? [];
    assert.deepEqual(
      ranks.map(({ first, last }) => [first, last]),
      [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
      ],
    );
    const peak = analysis.estimate?.peak;
    assert.equal(ranks.find(({ first }) => first === peak?.rank)?.processBytes, peak?.processBytes);
    for (const { parts, processBytes } of ranks) {
      assert.equal(
        parts.reduce((sum, { bytes }) => sum + bytes, 0),
        processBytes,
      );
    }
  });
});
