import { strict as assert } from 'node:assert';
import { tracedEstimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

const MODEL = {
  model_type: 'llama',
  vocab_size: 32000,
  hidden_size: 4096,
  intermediate_size: 11008,
  num_hidden_layers: 2,
  num_attention_heads: 32,
};

describe('magnitudes of DoRA beside quantized weights', () => {
  const estimated = (more: RunValues) => {
    const run = aRun({
      framework: 'trl',
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.dora': true,
      'lora.dtype': 'bf16',
      'lora.targets': ['q_proj', 'v_proj'],
      'quantization.kind': 'nf4',
      'quantization.prepared': false,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'autocast',
      'activations.checkpointing': 'none',
      'batch.micro': 1,
      'batch.sequence': 1024,
      ...more,
    });
    return tracedEstimate({ run, model: aModel(MODEL), accelerator: CARD }).estimate;
  };
  const activations = (more: RunValues) => estimated(more).peak.allocatedBytes;

  it('lie in fp32 with their gradients and states', () => {
    const held = (trl: string) => {
      const { parts, peak } = estimated({ 'version.trl': trl, 'optimizer.name': 'adamw' });
      const of = (wanted: string) => parts.find(({ category }) => category === wanted)?.bytes ?? 0;
      assert.ok(peak.allocatedBytes > 0);
      return [of('adapters'), of('optimizer-states')];
    };
    const [before, after] = [held('1.14.2'), held('1.15.0')];
    // Two projections of two layers, of 4096 rows each.
    const magnitudes = 2 * 2 * 4096;
    assert.deepEqual(
      after.map((bytes, i) => bytes - (before[i] ?? 0)),
      [2 * magnitudes, 2 * 2 * magnitudes],
    );
  });

  it('stand in the formula of the adapters', () => {
    const formula = (trl: string) =>
      estimated({ 'version.trl': trl }).parts.find(({ category }) => category === 'adapters')?.formula;
    assert.match(formula('1.15.0') ?? '', /× 2 bytes \(rank 8\), 16\.4K of them in fp32$/);
    assert.match(formula('1.14.2') ?? '', /× 2 bytes \(rank 8\)$/);
  });

  it('are lowered with the rest where DeepSpeed casts the module that it is given', () => {
    const zero: RunValues = {
      'parallel.data': 'zero',
      'zero.stage': 2,
      'precision.scheme': 'deepspeed',
      'hardware.gpus': 2,
    };
    const at = (trl: string) => estimated({ ...zero, 'version.trl': trl }).peak.allocatedBytes;
    assert.equal(at('1.15.0'), at('1.14.2'));
  });

  it('stay in fp32 since TRL 1.15', () => {
    const before = activations({ 'version.trl': '1.14.2' });
    const after = activations({ 'version.trl': '1.15.0' });
    assert.ok(after >= before + 2 * 2 * 2 * 4096, `${after} beside ${before}`);
    assert.equal(
      activations({ 'version.trl': '1.15.0', 'lora.dora': false }),
      activations({ 'version.trl': '1.14.2', 'lora.dora': false }),
    );
    const plain = { 'quantization.kind': 'none' } as const;
    assert.equal(
      activations({ 'version.trl': '1.15.0', ...plain }),
      activations({ 'version.trl': '1.14.2', ...plain }),
    );
  });
});
