import assert from 'node:assert/strict';
import type { FieldPath, FieldValue } from '../../../server/src/run/fields';
import { type Fact, fact, ORIGIN_KINDS, type OriginKind } from '../../../server/src/run/origin';
import { resolveRun } from '../../../server/src/run/resolve';

function say<P extends FieldPath>(kind: OriginKind, field: P, value: FieldValue<P>): Fact {
  return fact(field, value, { kind });
}

const COMPLETE: Fact[] = [
  say('file', 'model.id', 'meta-llama/Llama-3.1-8B'),
  say('file', 'hardware.gpu', 'H100'),
  say('file', 'hardware.gpus', 8),
  say('file', 'batch.micro', 2),
  say('file', 'batch.sequence', 4096),
];

describe('resolving a run', () => {
  it('lets the stronger origin win, whatever the order', () => {
    const facts = [...ORIGIN_KINDS].reverse().map((kind, i) => say(kind, 'batch.micro', i + 1));
    const strongest = ORIGIN_KINDS.length;
    const { values, origins, overruled } = resolveRun(facts);
    assert.equal(values['batch.micro'], strongest);
    assert.equal(origins['batch.micro']?.kind, 'command-line');
    assert.equal(overruled.length, facts.length - 1);
  });

  it('takes machines of eight, or of the most that divide the GPUs of several', () => {
    const nodes = (gpus: number) =>
      resolveRun([
        ...COMPLETE.filter(({ field }) => field !== 'hardware.gpus'),
        say('file', 'hardware.gpus', gpus),
      ]).values['hardware.nodes'];
    assert.deepEqual([1, 8, 10, 16, 24, 20, 36, 99_999].map(nodes), [1, 1, 1, 2, 3, 4, 6, 33_333]);
  });

  it('never lets a directive, a project file or a setting override the file', () => {
    for (const kind of ['directive', 'linked-file', 'project', 'setting', 'detected', 'default'] as const) {
      const { values, overruled } = resolveRun([say(kind, 'batch.micro', 7), say('file', 'batch.micro', 4)]);
      assert.equal(values['batch.micro'], 4);
      assert.deepEqual(
        overruled.map(({ value }) => value),
        [7],
      );
    }
  });

  it('does not count agreement as overruled', () => {
    const { overruled } = resolveRun([
      say('file', 'lora.targets', ['a']),
      say('project', 'lora.targets', ['a']),
    ]);
    assert.deepEqual(overruled, []);
  });

  it('completes a run and fills defaults with a note', () => {
    const { run, unknown, origins } = resolveRun(COMPLETE);
    assert.deepEqual(unknown, []);
    assert.equal(run?.['hardware.gpu'], 'H100-SXM5-80GB');
    assert.equal(run?.['batch.accumulation'], 1);
    assert.equal(run?.['batch.global'], 16);
    assert.equal(origins['batch.accumulation']?.kind, 'default');
    assert.ok(origins['batch.accumulation']?.note);
    assert.equal(origins['batch.global']?.kind, 'inferred');
  });

  it('multiplies in the type of the weights without mixed precision, where they are not packed', () => {
    const compute = (...more: Parameters<typeof fact>[]) => {
      const facts = more.map((one) => fact(...one));
      return resolveRun([...COMPLETE.filter(({ field }) => !field.startsWith('precision.')), ...facts]);
    };
    const file = { kind: 'file' } as const;
    const weights = ['precision.weights', 'bf16', file] as const;
    const native = ['precision.scheme', 'native', file] as const;
    assert.equal(compute([...weights]).run?.['precision.compute'], 'fp32');
    assert.equal(compute([...weights], [...native]).run?.['precision.compute'], 'bf16');
    assert.equal(compute([...weights], [...native]).origins['precision.compute']?.kind, 'inferred');
    const packed = compute([...weights], [...native], ['quantization.kind', 'nf4', file]);
    assert.equal(packed.run?.['precision.compute'], 'fp32');
    const mixed = compute([...weights], ['precision.scheme', 'autocast', file]);
    assert.equal(mixed.run?.['precision.compute'], 'fp32');
  });

  it('names what nobody states', () => {
    const { unknown, run } = resolveRun([]);
    assert.equal(run, undefined);
    assert.deepEqual(unknown.map(({ field }) => field).sort(), [
      'batch.micro',
      'batch.sequence',
      'hardware.gpu',
      'hardware.gpus',
      'model.id',
    ]);
    assert.ok(unknown.every(({ reason }) => reason.length > 10));
  });

  it('takes the strongest way to name a model', () => {
    const { values } = resolveRun([say('project', 'model.id', 'a/b'), say('directive', 'model.path', './m')]);
    assert.equal(values['model.path'], './m');
    assert.equal(values['model.id'], undefined);
  });

  it('solves the batch triangle over the data-parallel GPUs', () => {
    const base = COMPLETE.filter(({ field }) => field !== 'batch.micro');
    const tp = say('file', 'parallel.tensor', 2);
    const global = say('file', 'batch.global', 64);
    assert.equal(resolveRun([...base, tp, global]).values['batch.micro'], 16);
    assert.equal(
      resolveRun([...base, tp, global, say('file', 'batch.accumulation', 4)]).values['batch.micro'],
      4,
    );
    assert.equal(resolveRun([...COMPLETE, tp, global]).values['batch.accumulation'], 8);
    assert.equal(
      resolveRun([...COMPLETE, tp, global, say('default', 'batch.accumulation', 1)]).values[
        'batch.accumulation'
      ],
      8,
    );
  });

  it('does not divide GPUs that do not divide', () => {
    const { values, run } = resolveRun([...COMPLETE, say('file', 'parallel.tensor', 3)]);
    assert.equal(values['batch.global'], undefined);
    assert.ok(run);
  });

  it("takes Megatron's scheme as its model code, and torchtitan's tensor parallelism with that of the sequence", () => {
    const of = (...facts: Fact[]) => resolveRun([...COMPLETE, ...facts]).values;
    assert.equal(of(say('file', 'precision.scheme', 'megatron'))['model.code'], 'megatron');
    const other = say('file', 'model.code', 'transformers');
    assert.equal(of(say('file', 'precision.scheme', 'megatron'), other)['model.code'], 'transformers');
    const titan = say('file', 'model.code', 'torchtitan');
    const tensor = say('file', 'parallel.tensor', 2);
    assert.equal(of(titan, tensor)['parallel.sequence'], true);
    assert.equal(of(titan, tensor, say('file', 'parallel.sequence', false))['parallel.sequence'], false);
    assert.notEqual(of(titan)['parallel.sequence'], true);
    const schedule = say('file', 'parallel.pipelineSchedule', 'interleaved');
    assert.equal(of(titan, schedule)['parallel.virtualStages'], 2);
    assert.equal(of(titan, schedule, say('file', 'parallel.virtualStages', 3))['parallel.virtualStages'], 3);
  });

  it('knows that Accelerate runs autocast around FSDP 1, and not around FSDP 2', () => {
    const of = (...facts: Fact[]) => resolveRun([...COMPLETE, ...facts]).values['precision.autocast'];
    const mixed = say('file', 'precision.scheme', 'fsdp');
    const accelerated = say('default', 'framework', 'trl');
    const first = say('file', 'parallel.data', 'fsdp1');
    assert.equal(of(mixed, first, accelerated), true);
    assert.notEqual(of(mixed, say('file', 'parallel.data', 'fsdp2'), accelerated), true);
    assert.notEqual(of(mixed, first, say('default', 'framework', 'nemo-rl')), true);
    assert.notEqual(of(say('file', 'precision.scheme', 'native'), first, accelerated), true);
    assert.equal(of(mixed, first, accelerated, say('file', 'precision.autocast', false)), false);
  });

  it('takes several GPUs without sharding as DDP', () => {
    assert.equal(resolveRun(COMPLETE).values['parallel.data'], 'ddp');
    assert.equal(resolveRun([...COMPLETE, say('file', 'zero.stage', 2)]).values['parallel.data'], 'zero');
    assert.equal(
      resolveRun([...COMPLETE, say('file', 'parallel.data', 'fsdp2')]).values['parallel.data'],
      'fsdp2',
    );
    const one = COMPLETE.map((stated) =>
      stated.field === 'hardware.gpus' ? say('file', 'hardware.gpus', 1) : stated,
    );
    assert.equal(resolveRun(one).values['parallel.data'], 'none');
  });

  it('reads a cloud machine as GPU and count', () => {
    const { values } = resolveRun([
      say('project', 'hardware.gpu', 'p4d.24xlarge'),
      say('project', 'hardware.nodes', 2),
    ]);
    assert.equal(values['hardware.gpu'], 'A100-SXM4-40GB');
    assert.equal(values['hardware.gpus'], 16);
  });

  it('takes stated memory in place of a GPU name', () => {
    const base = COMPLETE.filter(({ field }) => field !== 'hardware.gpu');
    const { run, values } = resolveRun([...base, say('file', 'hardware.gpuMemory', 48 * 2 ** 30)]);
    assert.ok(run);
    assert.equal(values['hardware.gpu'], 'GPU with 48.0 GiB');
  });

  it('reports which GPU may be meant by an unknown one', () => {
    const { unknown } = resolveRun([...COMPLETE, say('command-line', 'hardware.gpu', 'H1000')]);
    assert.match(unknown[0]?.reason ?? '', /H100/);
  });

  it('keeps absurd values out of the run', () => {
    for (const micro of [0, -1, 1e30, Number.NaN, 0.5]) {
      const facts = COMPLETE.map((stated) =>
        stated.field === 'batch.micro' ? say('file', 'batch.micro', micro) : stated,
      );
      const { run, rejected, unknown } = resolveRun(facts);
      assert.equal(run, undefined);
      assert.equal(rejected.length, 1);
      assert.equal(unknown[0]?.field, 'batch.micro');
    }
  });
});
