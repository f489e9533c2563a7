import assert from 'node:assert/strict';
import { ELSEWHERE, rememberedTrace } from '../../../server/src/memory/remembered-trace';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const RUNS: readonly RunValues[] = [
  {},
  { 'precision.compute': 'bf16', 'precision.scheme': 'autocast', 'activations.checkpointing': 'full' },
  { 'method.kind': 'lora', 'lora.targets': ['all-linear'], 'quantization.kind': 'nf4' },
  { 'method.kind': 'freeze', 'method.trainableLayers': 2 },
  { 'parallel.data': 'zero', 'zero.stage': 3, 'hardware.gpus': 8, 'precision.scheme': 'deepspeed' },
  { 'parallel.tensor': 2, 'hardware.gpus': 2, 'model.code': 'megatron', 'precision.scheme': 'megatron' },
  { 'kernels.compile': true, 'parallel.data': 'fsdp2', 'hardware.gpus': 8, 'precision.scheme': 'fsdp' },
];

describe('traces that are remembered', () => {
  it('are made of no field that the memory takes no note of', () => {
    for (const values of RUNS) {
      const read = new Set<string>();
      const run = new Proxy(aRun(values), {
        get: (target, key) => {
          read.add(String(key));
          return Reflect.get(target, key);
        },
      }) as TrainingRun;
      traceRun(aModel(SMALL_LLAMA), run);
      assert.ok(read.size > 0);
      assert.deepEqual(
        // What of a trace hangs on the card is noted instead of the card.
        [...read].filter((path) => ELSEWHERE.test(path) && !/^hardware\.gpu(?:Memory)?$/.test(path)),
        [],
      );
    }
  });

  it('are the same ones for another cluster, and others for another batch', () => {
    const model = aModel(SMALL_LLAMA);
    const stages = rememberedTrace(model, aRun({}));
    assert.equal(rememberedTrace(model, aRun({ 'hardware.gpus': 8, 'zero.stage': 3 })), stages);
    assert.notEqual(rememberedTrace(model, aRun({ 'batch.micro': 2 })), stages);
    assert.notEqual(rememberedTrace(aModel(SMALL_LLAMA), aRun({})), stages);
  });

  it('are the same ones on cards of the same kernels, and others where one has none', () => {
    const model = aModel(SMALL_LLAMA);
    const on = (gpu: string, more: RunValues = {}) =>
      rememberedTrace(model, aRun({ 'attention.implementation': 'sdpa', 'hardware.gpu': gpu, ...more }));
    assert.equal(on('L4'), on('H100-SXM5-80GB'));
    assert.notEqual(on('T4'), on('L4'));
    const chunked: RunValues = { 'kernels.unsloth': true, 'loss.implementation': 'fused-chunks' };
    assert.notEqual(on('L4', chunked), on('H100-SXM5-80GB', chunked));
    assert.notEqual(on('L4', chunked), on('T4', chunked));
  });

  it('are forgotten once many others came', () => {
    const model = aModel(SMALL_LLAMA);
    const stages = rememberedTrace(model, aRun({}));
    for (let micro = 2; micro < 50; micro++) rememberedTrace(model, aRun({ 'batch.micro': micro }));
    assert.notEqual(rememberedTrace(model, aRun({})), stages);
  });
});
