import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

const accelerator = findAccelerator('H100') ?? assert.fail();
const LORA: RunValues = { 'method.kind': 'lora', 'precision.weights': 'bf16', 'batch.images': 0 };

function estimated(id: string, values: RunValues) {
  const model = findModel(id) ?? assert.fail(id);
  return estimate({ run: aRun({ ...LORA, ...values }), model, accelerator });
}

describe('sound in samples', () => {
  it('goes through one linear layer of Gemma 4 12B, a frame for each token', () => {
    const model = findModel('google/gemma-4-12B') ?? assert.fail();
    const projection = (sound: boolean) => {
      const run = aRun({ ...LORA, 'batch.micro': 2, 'batch.sequence': 64, 'batch.sound': sound });
      return traceRun(model, run).find(({ stage }) => stage.name === 'embed_audio') ?? assert.fail();
    };
    const [heard, unheard] = [projection(true).tape, projection(false).tape];
    const flops = ({ operations }: typeof heard) => operations.reduce((sum, one) => sum + one.flops, 0);
    assert.equal(flops(heard), 2 * 2 * 64 * 640 * 3840);
    assert.equal(flops(unheard), 0);
    const elements = ({ weights }: typeof heard) => weights.map((weight) => weight.elements);
    assert.deepEqual(elements(heard), elements(unheard));
    // It has no tower for sound, and nothing shown has one.
    assert.doesNotMatch(model.notes.join(), /tower/);
  });

  it("goes through Gemma's Conformers, at most the 30 seconds that their extractors cut to", () => {
    for (const [id, layers, frames, tokens] of [
      ['google/gemma-4-E2B', 'audio_tower.layers', 750, 750],
      ['google/gemma-3n-E2B', 'audio_tower.conformer', 750, 188],
    ] as const) {
      const model = findModel(id) ?? assert.fail(id);
      const traced = (values: RunValues) =>
        traceRun(model, aRun({ ...LORA, 'batch.micro': 2, 'batch.sequence': 1024, ...values }));
      const of = (name: string, values: RunValues) =>
        traced({ 'batch.sound': true, ...values }).find(({ stage }) => stage.name === name)?.tape ??
        assert.fail(name);
      const left = (name: string, values: RunValues = {}) => of(name, values).exit[0]?.shape.slice(0, 2);
      assert.deepEqual(left(layers), [2, frames], id);
      assert.deepEqual(left(tokens === 750 ? 'embed_audio' : 'audio_tower.reduced'), [2, tokens], id);
      // A sample holds no more tokens of sound than it has; Gemma 3n's processor gives each clip 188.
      assert.deepEqual(left(layers, { 'batch.sequence': 64 }), [2, tokens === 750 ? 64 : frames], id);
      const counted = (sound: boolean) =>
        traced({ 'batch.sound': sound }).map(({ tape, copies }) => [
          copies,
          tape.weights.map((w) => w.elements),
        ]);
      assert.deepEqual(counted(true), counted(false), id);
      assert.equal(estimated(id, { 'batch.sound': true }).unmodelled, undefined, id);
    }
  });

  it('keeps nothing of a Conformer that is frozen, and all of one that has adapters, without checkpoints around its layers', () => {
    const model = findModel('google/gemma-3n-E2B') ?? assert.fail();
    const kept = (targets: readonly string[], stageName = 'audio_tower.conformer', more: RunValues = {}) =>
      traceRun(
        model,
        aRun({
          ...LORA,
          'lora.targets': targets,
          'batch.sound': true,
          'activations.checkpointing': 'full',
          'batch.sequence': 256,
          ...more,
        }),
      )
        .filter(({ stage }) => stage.name === stageName)
        .reduce((sum, { stage, tape, copies }) => {
          assert.notEqual(stage.role, 'layer');
          return sum + copies * [...savedStorages(tape)].reduce((all, { bytes }) => all + bytes, 0);
        }, 0);
    assert.equal(kept(['gate_proj']), 0);
    assert.ok(kept(['linear_start']) > 2 ** 30);
    // Unsloth makes the spectrogram require a gradient where the layers have adapters.
    const front = 'audio_tower.subsample_conv_projection';
    const unsloth: RunValues = { 'kernels.unsloth': true };
    assert.equal(kept(['linear_start'], front), 0);
    assert.ok(kept(['linear_start'], front, unsloth) > 2 ** 27);
    assert.equal(kept(['gate_proj'], front, unsloth), 0);
  });

  it("is never called too large for Unsloth's adapters of a tower, which needed less in two saved runs", () => {
    const features = (targets: readonly string[], sound: boolean) =>
      estimated('google/gemma-4-E2B', {
        'lora.targets': targets,
        'batch.sound': sound,
        'batch.sequence': 256,
        'kernels.unsloth': true,
      }).unmodelled;
    assert.deepEqual(features(['q_proj', 'linear_start'], true), ['adapted-sound-tower']);
    assert.equal(features(['q_proj', 'linear_start'], false), undefined);
    assert.equal(features(['gate_proj'], true), undefined);
  });

  it('is not estimated where a tower hears it that is not played, and loads no more', () => {
    const id = 'Qwen/Qwen2.5-Omni-3B';
    const frozen: RunValues = { 'lora.targets': ['q_proj'], 'lora.exclude': ['*audio_tower*', '*visual.*'] };
    assert.equal(estimated(id, frozen).unmodelled, undefined);
    assert.deepEqual(estimated(id, { ...frozen, 'batch.sound': true }).unmodelled, ['sound-tower']);
    assert.equal(estimated('google/gemma-4-12B', { 'batch.sound': true }).unmodelled, undefined);
  });

  it('leaves no verdict on models of which something is always computed that is not played', () => {
    for (const [id, feature] of [
      ['sesame/csm-1b', 'speech-generator'],
      ['google/diffusiongemma-26B-A4B-it', 'canvas-decoder'],
      ['microsoft/Phi-4-multimodal-instruct', 'own-adapters'],
      ['moonshotai/Kimi-K3', 'attention-residuals'],
    ] as const) {
      const found = estimated(id, { 'batch.sequence': 256 });
      assert.ok(found.unmodelled?.includes(feature), id);
      assert.equal(found.verdict, 'unknown', id);
    }
  });
});
