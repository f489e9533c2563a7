import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { type Accelerator, isModelled } from '../../../server/src/hardware/accelerator';
import {
  acceleratorNames,
  anonymousAccelerator,
  findAccelerator,
} from '../../../server/src/hardware/catalog';
import { communicatorBands, communicators } from '../../../server/src/memory/communicators';
import { contextBand } from '../../../server/src/memory/cuda-context';
import { outsideAllocator } from '../../../server/src/memory/device';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const MIB = 2 ** 20;

const model = findModel('gpt2') ?? assert.fail();

function card(name: string): Accelerator {
  const found = findAccelerator(name);
  assert.ok(found, name);
  return found;
}

const context = (name: string, torch = '2.8') => contextBand(aRun({ 'version.torch': torch }), card(name));
const within = (mib: number, { lower, upper }: { lower: number; upper: number }) =>
  assert.ok(lower <= mib * MIB && mib * MIB <= upper, `${mib} in ${lower / MIB} to ${upper / MIB}`);

describe('CUDA context', () => {
  it('has a stack of 1 KiB for every thread that the card holds: 216 MiB on A100, 40 on T4', () => {
    assert.equal(context('A100-SXM4-80GB').lower, (160 + 216) * MIB);
    assert.equal(context('T4').lower, (160 + 40) * MIB);
    assert.equal(context('H100-SXM5-80GB').lower, (160 + 264) * MIB);
    assert.equal(context('RTX 4090').lower, (160 + 192) * MIB);
  });

  it('holds what was measured', () => {
    // RTX 6000 Ada with torch 2.10; V100 in the guide of transformers; RTX 3090 with torch 1.7.
    within(426, context('RTX 6000 Ada'));
    assert.equal(context('V100-SXM2-16GB', '1.11').likely, 1343 * MIB);
    within(1488, context('RTX 3090', '1.7.1'));
    within(1005, context('V100-SXM2-32GB', '1.3'));
  });

  it('loads all kernels before torch 1.13', () => {
    assert.ok(context('A100-SXM4-80GB', '1.12.1').lower > context('A100-SXM4-80GB', '1.13').upper);
  });
});

describe('communicators', () => {
  const bands = (values: RunValues, name = 'H100-SXM5-80GB') =>
    communicatorBands(aRun({ 'hardware.gpus': 8, 'parallel.data': 'ddp', ...values }), card(name));
  const likely = (values: RunValues, name?: string) =>
    bands(values, name).reduce((sum, band) => sum + band.likely, 0) / MIB;

  it('of one GPU are none', () => {
    assert.deepEqual(bands({ 'hardware.gpus': 1 }), []);
    assert.equal(communicators(aRun({})), 0);
  });

  it('have 12 MiB per channel for rings and for trees, or buffers in the switch', () => {
    assert.equal(likely({}, 'A100-SXM4-80GB'), 24 * 12 * 2);
    assert.equal(likely({}), 16 * 12 + 16 * 2 * 8);
    assert.equal(likely({}, 'B200-SXM'), 16 * 12 + 24 * 2 * 8);
    assert.equal(likely({}, 'RTX 4090'), 4 * 12 * 2);
  });

  it('connect every peer for an exchange of all with all: 2.8 GB more on eight H100', () => {
    assert.equal(likely({ 'parallel.ulysses': 8 }) - likely({}), 7 * 32 * 12);
  });

  it("of Megatron are more: all GPUs for the norm, a whole model for the step, an expert's copies", () => {
    const megatron = { 'precision.scheme': 'megatron', 'precision.compute': 'bf16' } as const;
    const count = (values: RunValues) => bands({ ...megatron, ...values }).length;
    // Data; all.
    assert.equal(count({}), 2);
    // Tensor; all, model.
    assert.equal(count({ 'parallel.tensor': 8 }), 3);
    // Data, pipeline, expert; all, model; two stages of four GPUs, four experts' parts: no copies.
    assert.equal(count({ 'parallel.pipeline': 2, 'parallel.expert': 4, 'parallel.expertTensor': 1 }), 5);
    assert.equal(count({ 'parallel.pipeline': 2, 'parallel.expert': 2, 'parallel.expertTensor': 1 }), 6);
    // What sums single numbers needs a ring alone.
    const ring = 24 * 12;
    assert.equal(likely({ ...megatron, 'parallel.tensor': 8 }, 'A100-SXM4-80GB'), 2 * ring + 2 * ring);
  });

  it('reach neighbours on other nodes with few channels', () => {
    const stages = { 'parallel.pipeline': 8, 'hardware.gpus': 64 } as const;
    const near = bands({ ...stages }).at(-1)?.likely;
    const far = bands({ ...stages, 'hardware.nodes': 8 }).at(-1)?.likely;
    assert.equal(near, 2 * 32 * 12 * MIB);
    assert.equal(far, 2 * 2 * 12 * MIB);
  });

  it('hold what was measured: 688 MB on four A100, 1.06 GB with the context on eight H100', () => {
    const four = bands({ 'hardware.gpus': 4 }, 'A100-SXM4-80GB')[0];
    assert.ok(four);
    within(688e6 / MIB, four);
    within(
      1.06e9 / MIB,
      outsideAllocator(aRun({ 'hardware.gpus': 8, 'parallel.data': 'ddp' }), card('H100')),
    );
  });
});

describe('memory outside the allocator', () => {
  it('is nothing where the runtime is not CUDA or ROCm, of which nothing was measured', () => {
    const run = aRun({ 'hardware.gpus': 8, 'parallel.data': 'fsdp2' });
    for (const name of ['TPU v5p', 'Gaudi 3', 'Trainium 2', 'Ascend 910B', 'M2 Ultra 192GB']) {
      assert.equal(outsideAllocator(run, card(name)).upper, 0, name);
      const { notes, parts } = estimate({ run, model, accelerator: card(name) });
      assert.ok(notes.some((note) => note.includes('No measured run holds this estimate')));
      assert.equal(parts.find(({ category }) => category === 'cuda-context')?.bytes ?? 0, 0);
    }
    const { notes } = estimate({ run, model, accelerator: card('MI300X') });
    assert.ok(!notes.some((note) => note.includes('No measured run')));
  });

  it('is a band in order on every card', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...acceleratorNames().filter((name) => isModelled(card(name)))),
        fc.constantFrom(1, 2, 8, 16),
        fc.constantFrom('1.9', '1.13', '2.8'),
        (name, gpus, torch) => {
          const run = aRun({ 'hardware.gpus': gpus, 'version.torch': torch, 'parallel.data': 'fsdp2' });
          const { lower, likely, upper } = outsideAllocator(run, card(name));
          assert.ok(lower > 0 && lower <= likely && likely <= upper && upper < 8 * 2 ** 30);
        },
      ),
    );
    const some = outsideAllocator(aRun({}), anonymousAccelerator(80 * 2 ** 30));
    assert.ok(some.lower > 0 && some.lower <= some.upper);
  });
});
