import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { absentPackages } from '../../../server/src/memory/absent-packages';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { statePackagesAmong } from '../../../server/src/terms/state-packages';
import { aRun, CARD } from './a-run';

const STEP: RunValues = {
  'version.torch': '2.11.0',
  'version.transformers': '5.17.0',
  'batch.sequence': 1024,
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'native',
  'optimizer.implementation': 'fused',
};

function estimated(id: string, packages: string[], more: RunValues = {}) {
  const model = findModel(id) ?? assert.fail(id);
  return estimate({ run: aRun({ ...STEP, 'kernels.states': packages, ...more }), model, accelerator: CARD });
}

describe('packages of kernels for layers that keep a state', () => {
  it('are absent where they are not named, and nothing else may be there', () => {
    const absent = (...names: string[]) => [...absentPackages(aRun({ 'kernels.states': names }))];
    assert.deepEqual(absent('none'), ['mamba-ssm', 'causal-conv1d', 'flash-linear-attention']);
    assert.deepEqual(absent('causal-conv1d'), ['mamba-ssm', 'flash-linear-attention']);
    assert.deepEqual(absent('unknown'), []);
    assert.deepEqual(absent('mamba-ssm', 'unknown'), []);
  });

  it('are those that distributions bring, each once, and others may be there', () => {
    assert.deepEqual(statePackagesAmong(['fla-core', 'torch', 'flash-linear-attention', 'causal-conv1d']), [
      'flash-linear-attention',
      'causal-conv1d',
      'unknown',
    ]);
    assert.deepEqual(statePackagesAmong(['mamba', 'torch']), []);
  });

  it('decide what Falcon-H1 needs: 31.41 GiB were allocated without them on an H100', () => {
    const without = estimated('tiiuae/Falcon-H1-1.5B-Base', ['none']);
    assert.ok(
      Math.abs(without.peak.allocatedBytes / 33_722_191_360 - 1) < 0.005,
      `${without.peak.allocatedBytes}`,
    );
    const both = estimated('tiiuae/Falcon-H1-1.5B-Base', ['mamba-ssm', 'causal-conv1d']);
    assert.ok(both.peak.allocatedBytes < without.peak.allocatedBytes / 2);
    // One kernel for all of a mixer calls both packages.
    const half = estimated('tiiuae/Falcon-H1-1.5B-Base', ['mamba-ssm']);
    assert.ok(half.peak.allocatedBytes > both.peak.allocatedBytes);
  });

  it('make two ends where they are not known: what is likely has them, what is needed has not', () => {
    for (const id of ['tiiuae/Falcon-H1-1.5B-Base', 'Qwen/Qwen3.5-4B', 'state-spaces/mamba-130m-hf']) {
      const open = estimated(id, ['unknown']);
      const all = estimated(id, ['mamba-ssm', 'causal-conv1d', 'flash-linear-attention']);
      const none = estimated(id, ['none']);
      assert.equal(open.peak.processBytes, all.peak.processBytes, id);
      assert.equal(open.peak.lowerBytes, all.peak.lowerBytes, id);
      assert.equal(open.peak.upperBytes, Math.max(all.peak.upperBytes, none.peak.upperBytes), id);
      assert.ok(none.peak.allocatedBytes > all.peak.allocatedBytes, id);
      assert.match(
        open.notes.join(),
        /taken as installed: nothing here says so\. Without (it|them) up to/,
        id,
      );
      assert.doesNotMatch([...all.notes, ...none.notes].join(), /taken as installed/, id);
    }
  });

  it('are no matter where a layer keeps no more without them', () => {
    assert.doesNotMatch(estimated('LiquidAI/LFM2-1.2B', ['unknown']).notes.join(), /taken as installed/);
  });

  it('leave a verdict open that they decide', () => {
    const usable = { ...CARD, usableBytes: 24 * 2 ** 30 };
    const model = findModel('tiiuae/Falcon-H1-1.5B-Base') ?? assert.fail();
    const verdict = (packages: string[]) =>
      estimate({ run: aRun({ ...STEP, 'kernels.states': packages }), model, accelerator: usable }).verdict;
    assert.equal(verdict(['unknown']), 'tight');
    assert.equal(verdict(['mamba-ssm', 'causal-conv1d']), 'fits');
    assert.equal(verdict(['none']), 'exceeds');
  });

  it('are there where the code of the model does not run without', () => {
    const megatron: RunValues = { 'model.code': 'megatron' };
    const open = estimated('tiiuae/Falcon-H1-1.5B-Base', ['unknown'], megatron);
    const all = estimated('tiiuae/Falcon-H1-1.5B-Base', ['mamba-ssm', 'causal-conv1d'], megatron);
    assert.equal(open.peak.upperBytes, all.peak.upperBytes);
    assert.doesNotMatch(open.notes.join(), /taken as installed/);
  });

  it('are asked of no model without such layers', () => {
    const open = estimated('gpt2', ['unknown']);
    assert.deepEqual(open, estimated('gpt2', ['none']));
  });

  it('leave no verdict where it is not played what a model does without them', () => {
    const id = 'moonshotai/Kimi-Linear-48B-A3B-Instruct';
    assert.deepEqual(estimated(id, ['unknown']).unmodelled, ['states-without-kernels']);
    assert.equal(estimated(id, ['flash-linear-attention', 'unknown']).unmodelled, undefined);
  });
});
