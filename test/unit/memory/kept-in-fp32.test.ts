import assert from 'node:assert/strict';
import { bytesOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const flan = findModel('google/flan-t5-large');
assert.ok(flan);
const model = flan;
/** `wo` of 24 layers of the encoder and 24 of the decoder. */
const WO = 48 * 2816 * 1024;

const LORA: RunValues = {
  'method.kind': 'lora',
  'lora.targets': ['q', 'v'],
  'precision.compute': 'fp16',
  'precision.weights': 'fp16',
  'batch.sequence': 64,
};

function resting(values: RunValues) {
  const run = aRun({ ...LORA, ...values });
  const stages = traceRun(model, run);
  const sums = sumWeights(stages, run);
  const { atRest } = shardingOf(run, sums, stages);
  return { sums, weights: bytesOf(atRest, 'weights'), states: bytesOf(atRest, 'optimizer-states') };
}

describe('modules that a class of transformers lists to stay in fp32', () => {
  it('are not quantized', () => {
    const { total } = resting({}).sums;
    for (const kind of ['int8', 'nf4', 'eetq'] as const) {
      const { sums } = resting({ 'quantization.kind': kind });
      // Embedding, its tied head, norms and biases of positions are not quantized either.
      assert.equal(sums.total, total);
      assert.ok(sums.frozen > WO, kind);
      assert.ok(sums.quantized < 6e8, kind);
    }
    const before = resting({ 'quantization.kind': 'int8', 'version.transformers': '4.25' });
    const after = resting({ 'quantization.kind': 'int8' });
    assert.equal(before.sums.quantized - after.sums.quantized, WO);
    assert.equal(resting({ 'quantization.kind': 'gptq' }).sums.quantized, before.sums.quantized);
  });

  it('lie in fp32 where the others were cast to it', () => {
    const prepared: RunValues = { 'quantization.kind': 'int8', 'quantization.prepared': true };
    const { weights, sums } = resting(prepared);
    assert.equal(weights, sums.frozen * 4);
  });

  const wider: readonly (readonly [RunValues, boolean])[] = [
    [{ 'version.transformers': '5.23' }, true],
    [{ 'version.transformers': '4.57' }, true],
    [{ 'version.transformers': '4.25' }, false],
    [{ 'version.transformers': '5.23', 'precision.weights': 'bf16' }, false],
    [{ 'version.transformers': '4.57', 'precision.weights': 'bf16' }, false],
    [{ 'version.transformers': '5.0', 'precision.weights': 'bf16' }, true],
    [{ 'version.transformers': '4.50.3', 'precision.weights': 'bf16' }, true],
    [{ 'version.transformers': '4.57', 'precision.weights': 'bf16', 'quantization.kind': 'nf4' }, true],
    [{ 'version.transformers': '5.23', 'precision.weights': 'bf16', 'quantization.kind': 'nf4' }, false],
    [{ 'precision.scheme': 'deepspeed', 'parallel.data': 'zero', 'zero.stage': 1 }, false],
  ];
  for (const [values, isWide] of wider)
    it(`${isWide ? 'lie in fp32' : 'have the type of the others'} with ${JSON.stringify(values)}`, () => {
      const run: RunValues = { 'quantization.prepared': false, ...values };
      const { weights, sums } = resting(run);
      assert.equal(sums.raised.frozen, isWide ? WO : 0);
      if (values['parallel.data'] === undefined)
        assert.equal(weights, 2 * sums.frozen + (isWide ? 2 * WO : 0));
    });

  it('have gradients and states in fp32 where they are trained', () => {
    const full = resting({ 'method.kind': 'full', 'optimizer.name': 'adamw' });
    assert.equal(full.sums.raised.trained, WO);
    assert.equal(full.states, 2 * (2 * full.sums.trained + 2 * WO));
  });

  it('make the result of their layer, and what it is added to, fp32', () => {
    const typesOf = (version: string) => {
      const run = aRun({ ...LORA, 'version.transformers': version });
      const { tape } = traceRun(model, run).find(({ stage }) => stage.name === 'encoder.block') ?? {};
      return tape?.exit.map(({ dtype }) => dtype);
    };
    assert.ok(typesOf('5.23')?.includes('fp32'));
    assert.ok(!typesOf('4.25')?.includes('fp32'));
  });
});
