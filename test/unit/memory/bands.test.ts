import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { bandKind, meterBands } from '../../../server/src/memory/bands';
import { outsideAllocator } from '../../../server/src/memory/device';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { effectOf } from '../../../server/src/terms/unmodelled-features';
import { aRun, CARD } from './a-run';

const model = findModel('gpt2') ?? assert.fail();
const estimated = (values: RunValues) => {
  const run = aRun({ 'precision.weights': 'bf16', 'precision.compute': 'bf16', ...values });
  return { run, found: estimate({ run, model, accelerator: CARD }) };
};

describe('bands', () => {
  it('are of the kind of the run', () => {
    assert.equal(bandKind(aRun({}), false), 'plain');
    assert.equal(bandKind(aRun({ 'kernels.compile': true }), false), 'compiled');
    assert.equal(bandKind(aRun({ 'parallel.expert': 2 }), true), 'experts');
    assert.equal(bandKind(aRun({ 'parallel.expert': 2 }), false), 'plain');
    assert.deepEqual(meterBands(aRun({}), false).allocated, { below: 0.04, above: 0.04 });
    assert.deepEqual(meterBands(aRun({}), false).reserved, { below: 0.12, above: 0.12 });
    assert.deepEqual(meterBands(aRun({ 'parallel.expert': 2 }), true).reserved, { below: 0.12, above: 0.2 });
    assert.deepEqual(meterBands(aRun({ 'batch.varied': true }), false).reserved, {
      below: 0.25,
      above: 0.45,
    });

    it('reach one part in so many higher where requests are rounded up', () => {
      const { allocated, reserved } = meterBands(aRun({ 'allocator.roundup': 16 }), false);
      const near = (share: number, wanted: number) => assert.ok(Math.abs(share - wanted) < 1e-9, `${share}`);
      near(allocated.above, (1 + 0.04) * (1 + 1 / 16) - 1);
      near(reserved.above, 1.12 * 1.0625 - 1);
      assert.deepEqual([allocated.below, reserved.below], [0.04, 0.12]);
    });
  });

  it('make up the ends of what a run needs', () => {
    const { run, found } = estimated({});
    const outside = outsideAllocator(run, CARD);
    const { allocatedBytes, reservedBytes, lowerBytes, upperBytes } = found.peak;
    assert.equal(lowerBytes, Math.round(0.96 * allocatedBytes + outside.lower));
    assert.equal(upperBytes, Math.round(reservedBytes + 0.04 * allocatedBytes + outside.upper));
  });

  it('decide the verdict: a run exceeds where even the lower end does, and fits where the upper does', () => {
    const { run, found } = estimated({});
    const verdicts = new Set<string>();
    const least = found.peak.lowerBytes;
    for (let share = 0.8; share < 1.6; share += 0.01) {
      const usableBytes = Math.round(share * least);
      const { verdict, peak, capacityBytes } = estimate({
        run,
        model,
        accelerator: { ...CARD, usableBytes },
      });
      assert.equal(capacityBytes, usableBytes);
      const expected =
        peak.lowerBytes > usableBytes ? 'exceeds' : peak.upperBytes <= usableBytes ? 'fits' : 'tight';
      assert.equal(verdict, expected, `${share}`);
      verdicts.add(verdict);
    }
    assert.deepEqual([...verdicts], ['exceeds', 'tight', 'fits']);
  });

  it('reach down to layers compiled whole where parts of them are', () => {
    const wide = estimated({ 'precision.wideActivations': true, 'precision.scheme': 'native' }).found;
    const narrow = estimated({ 'precision.scheme': 'native' }).found;
    assert.ok(wide.peak.allocatedBytes > narrow.peak.allocatedBytes);
    assert.equal(wide.peak.lowerBytes, narrow.peak.lowerBytes);
    const bytes = (found: typeof wide, name: string) =>
      found.parts.find(({ category }) => category === name)?.bytes;
    assert.equal(bytes(wide, 'weights'), bytes(narrow, 'weights'));
    const parts = estimated({ 'kernels.compileParts': true }).found.peak;
    const whole = estimated({ 'kernels.compile': true }).found.peak;
    const apart = estimated({}).found.peak;
    assert.equal(parts.lowerBytes, whole.lowerBytes);
    assert.ok(whole.lowerBytes < apart.lowerBytes);
    assert.equal(parts.allocatedBytes, apart.allocatedBytes);
    assert.equal(bandKind(aRun({ 'kernels.compileParts': true }), false), 'compiled');
  });

  it('leave out the blocks of other lengths, which are given back', () => {
    const { run, found } = estimated({ 'batch.varied': true, 'batch.micro': 4 });
    const { allocatedBytes, processBytes, upperBytes } = found.peak;
    const needed = Math.round(1.04 * allocatedBytes + outsideAllocator(run, CARD).upper);
    assert.equal(upperBytes, Math.max(needed, processBytes));
  });
});

describe('features that are not modelled', () => {
  const verdict = (features: string[], memory?: number) =>
    estimated({ 'features.unmodelled': features, ...(memory ? { 'hardware.gpuMemory': memory } : {}) }).found
      .verdict;

  it('never leave a run sure to fit where they add memory', () => {
    assert.equal(verdict([]), 'fits');
    assert.equal(verdict(['multi-token-prediction']), 'unknown');
    assert.equal(verdict(['multi-token-prediction'], 2 ** 30), 'exceeds');
  });

  it('never leave a run sure not to fit where they save memory', () => {
    assert.equal(verdict(['activation-offload']), 'fits');
    assert.equal(verdict(['activation-offload'], 2 ** 30), 'unknown');
  });

  it('decide nothing where they do either, or are not known', () => {
    for (const features of [['cuda-graphs'], ['something new'], ['activation-offload', 'value-heads']]) {
      assert.equal(effectOf(features), 'either');
      assert.equal(verdict(features), 'unknown');
      assert.equal(verdict(features, 2 ** 30), 'unknown');
    }
  });

  it('are named by the estimate, a teacher that nobody names among them', () => {
    assert.equal(estimated({}).found.unmodelled, undefined);
    const { found } = estimated({ 'method.objective': 'distillation' });
    assert.deepEqual(found.unmodelled, ['distillation-teacher']);
    assert.equal(found.verdict, 'unknown');
  });

  it('are named by the estimate where a tower for sound is trained, not where it is frozen', () => {
    const omni = findModel('Qwen/Qwen2.5-Omni-3B') ?? assert.fail();
    const found = (values: RunValues) =>
      estimate({ run: aRun({ 'precision.weights': 'bf16', ...values }), model: omni, accelerator: CARD });
    assert.deepEqual(found({}).unmodelled, ['sound-tower']);
    const lora = { 'method.kind': 'lora', 'lora.targets': ['q_proj'] } as const;
    assert.deepEqual(found(lora).unmodelled, ['sound-tower']);
    assert.equal(found({ ...lora, 'lora.exclude': ['*audio_tower*', '*visual.*'] }).unmodelled, undefined);
    const text = { 'method.kind': 'freeze', 'method.trainable': ['model\\.layers'] } as const;
    assert.equal(found(text).unmodelled, undefined);
  });
});
