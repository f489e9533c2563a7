import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { fact } from '../../../server/src/run/origin';
import { resolveRun } from '../../../server/src/run/resolve';
import { aRun, CARD } from './a-run';

const BOTH: RunValues = { 'attention.mask': true, 'attention.unmaskedBatches': true };

function estimated(more: RunValues, id = 'meta-llama/Llama-3.2-1B') {
  const model = findModel(id) ?? assert.fail(id);
  const run = aRun({
    'batch.micro': 4,
    'batch.sequence': 2048,
    'precision.weights': 'fp32',
    'precision.compute': 'fp32',
    'precision.scheme': 'native',
    // Since 2.14 SDPA's memory-efficient kernel groups heads.
    'version.torch': '2.13',
    ...more,
  });
  return estimate({ run, model, accelerator: CARD });
}

describe('batches with a padding mask and without one', () => {
  it('are estimated by those without where grouped heads in fp32 have no fused kernel', () => {
    const both = estimated(BOTH);
    const masked = estimated({ 'attention.mask': true });
    const plain = estimated({});
    assert.ok(plain.peak.allocatedBytes > 1.5 * masked.peak.allocatedBytes);
    assert.equal(both.peak.processBytes, plain.peak.processBytes);
    assert.equal(both.peak.upperBytes, plain.peak.upperBytes);
    assert.equal(both.peak.lowerBytes, masked.peak.lowerBytes);
    assert.match(both.notes.join(), /Batches without padding need most/);
    assert.doesNotMatch([...masked.notes, ...plain.notes].join(), /Batches without padding/);
  });

  it('are estimated by those without on a card before Ampere, in 16 bits as well', () => {
    const fp16: RunValues = { 'precision.weights': 'fp16', 'precision.compute': 'fp16' };
    const on = (gpu: string, more: RunValues) => estimated({ ...fp16, ...more, 'hardware.gpu': gpu });
    assert.equal(on('T4', BOTH).peak.processBytes, on('T4', {}).peak.processBytes);
    assert.match(
      on('T4', BOTH).notes.join(),
      /no fused kernel for grouped heads without a mask on this card/,
    );
    assert.equal(on('L4', BOTH).peak.processBytes, on('L4', { 'attention.mask': true }).peak.processBytes);
  });

  it('are estimated by those with one elsewhere', () => {
    const bf16: RunValues = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' };
    for (const more of [bf16, { 'attention.implementation': 'eager' as const }])
      assert.deepEqual(
        estimated({ ...BOTH, ...more }).peak,
        estimated({ 'attention.mask': true, ...more }).peak,
      );
    // As many key-value heads as heads.
    const alike = (more: RunValues) => estimated(more, 'openai-community/gpt2');
    assert.deepEqual(
      alike({ ...BOTH, 'batch.sequence': 512 }).peak,
      alike({ 'attention.mask': true, 'batch.sequence': 512 }).peak,
    );
  });

  it('are both there where a mask is only inferred', () => {
    const of = (kind: 'inferred' | 'file') =>
      resolveRun([fact('attention.mask', true, { kind })]).values['attention.unmaskedBatches'];
    assert.equal(of('inferred'), true);
    assert.equal(of('file'), false);
  });
  it('are not there where a row holds several samples, which its mask keeps apart', () => {
    const mask = fact('attention.mask', true, { kind: 'inferred' });
    const row = fact('batch.paddingFree', true, { kind: 'inferred' });
    assert.equal(resolveRun([mask, row]).values['attention.unmaskedBatches'], false);
  });
  it('are reported without a word of cutting, which nothing may do', () => {
    const { origins } = resolveRun([fact('attention.mask', true, { kind: 'inferred' })]);
    assert.equal(origins['attention.unmaskedBatches']?.note, 'batches that nothing fills up have no padding');
  });
});
