import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findModel } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import type { Category, Estimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun, CARD } from './a-run';

/** The worked examples of the lectures and notes that the project starts from, kept or corrected. */
const GIB = 2 ** 30;

function catalogued(id: string): Model {
  const model = findModel(id);
  if (!model) throw new Error(`${id} is not in the catalog`);
  return model;
}

function of(model: Model, values: RunValues): Estimate {
  return estimate({ run: aRun(values), model, accelerator: CARD });
}

function part(e: Estimate, category: Category): number {
  return e.parts.find((p) => p.category === category)?.bytes ?? 0;
}

/** Highest bytes of a category over the step. */
function most(e: Estimate, ...categories: Category[]): number {
  return Math.max(
    ...e.timeline.map((sample) =>
      sample.parts.filter((p) => categories.includes(p.category)).reduce((sum, p) => sum + p.bytes, 0),
    ),
  );
}

/** Bytes of a category when the optimizer steps: all gradients are there, and nothing in flight. */
function atStep(e: Estimate, category: Category): number {
  const sample = e.timeline.find((s) => s.moment === 'optimizer-step');
  return sample?.parts.find((p) => p.category === category)?.bytes ?? 0;
}

const near = (actual: number, expected: number, share: number, what: string) =>
  assert.ok(Math.abs(actual / expected - 1) <= share, `${what}: ${actual} for ${expected}`);

const llama1b = catalogued('meta-llama/Llama-3.2-1B');
const N = llama1b.parameters.total;

describe('worked examples', () => {
  it('pure fp32 with Adam: 16 bytes per parameter', () => {
    const e = of(llama1b, {});
    const states = part(e, 'weights') + part(e, 'gradients') + part(e, 'optimizer-states');
    near(states, 16 * N, 0.001, 'bytes');
  });

  it('mixed precision with 16-bit gradients (ZeRO): 16 bytes per parameter', () => {
    const e = of(llama1b, {
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 0,
    });
    const states =
      part(e, 'weights') + part(e, 'master-weights') + part(e, 'optimizer-states') + atStep(e, 'gradients');
    near(states, 16 * N, 0.001, 'bytes');
  });

  it('mixed precision with fp32 gradients (Megatron): 18 bytes per parameter', () => {
    const e = of(llama1b, { 'precision.compute': 'bf16', 'precision.scheme': 'megatron' });
    const states =
      part(e, 'weights') + part(e, 'master-weights') + part(e, 'optimizer-states') + atStep(e, 'gradients');
    near(states, 18 * N, 0.001, 'bytes');
  });

  it('AdamW keeps 8 bytes per parameter, its 8-bit version 2 and the block scales', () => {
    near(part(of(llama1b, {}), 'optimizer-states'), 8 * N, 1e-6, 'AdamW');
    const small = part(of(llama1b, { 'optimizer.name': 'adamw-8bit' }), 'optimizer-states');
    // Norms are below 4096 elements and keep fp32 states.
    near(small, (2 + 8 / 256) * N, 2e-4, '8-bit');
  });

  it('gradients take the type of the parameters', () => {
    near(atStep(of(llama1b, {}), 'gradients'), 4 * N, 0.001, 'fp32');
    near(atStep(of(llama1b, { 'precision.weights': 'bf16' }), 'gradients'), 2 * N, 0.001, 'bf16');
  });

  it('GPT-2 1.5B in mixed precision: 3 GB weights, 24 GB of states, too much for 32 GB', () => {
    const gpt2 = catalogued('openai-community/gpt2-xl');
    near(gpt2.parameters.total, 1.5577e9, 0.001, 'parameters');
    const e = of(gpt2, {
      'precision.compute': 'fp16',
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 0,
      'attention.implementation': 'eager',
      'hardware.gpuMemory': 32 * GIB,
    });
    near(part(e, 'weights') / 1e9, 3.1, 0.02, 'weights');
    near(
      part(e, 'weights') + atStep(e, 'gradients') + part(e, 'master-weights') + part(e, 'optimizer-states'),
      24.9e9,
      0.02,
      'states',
    );
    // The flattened fp32 gradients of the step.
    near(most(e, 'optimizer-transients') / 1e9, 6.2, 0.02, 'flat buffer');
    assert.ok(e.peak.allocatedBytes > 24.9e9 + 6e9);
  });

  it('GPT-2 1.5B, 1024 tokens, batch 32: about 60 GB of activations by the formula of the time, far less checkpointed', () => {
    const gpt2 = catalogued('openai-community/gpt2-xl');
    const values = {
      'batch.micro': 32,
      'precision.compute': 'fp16',
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 0,
      'attention.implementation': 'sdpa',
    } as const;
    const all = most(of(gpt2, values), 'activations');
    const checkpointed = most(
      of(gpt2, { ...values, 'activations.checkpointing': 'full' }),
      'activations',
      'checkpoints',
    );
    // The source's 60 GB counts 12 x hidden x layers per token; transformers keeps more (GELU in Python, masks).
    assert.ok(all > 60e9, `${all}`);
    // One layer input each, 5 GB, and the layer that is recomputed.
    assert.ok(checkpointed > 5e9 && checkpointed < 12e9, `${checkpointed}`);
  });

  it('Llama 70B in fp32: about 260 GiB each for weights, gradients and both moments', () => {
    const llama = catalogued('meta-llama/Llama-2-70b-hf');
    near(llama.parameters.total * 4, 256.96 * GIB, 0.001, 'weights');
    const e = of(llama, {});
    near(part(e, 'weights'), 4 * llama.parameters.total, 1e-6, 'weights');
    near(part(e, 'optimizer-states'), 8 * llama.parameters.total, 1e-6, 'moments');
    assert.equal(e.verdict, 'exceeds');
  });

  it('Llama 70B in 4 bits takes about 33 GiB and its scales, not the 65 GB of 8 bits', () => {
    const llama = catalogued('meta-llama/Llama-2-70b-hf');
    const qlora = {
      'method.kind': 'lora',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'quantization.kind': 'nf4',
    } as const;
    const quantized = part(of(llama, qlora), 'quantized-weights');
    const linear = llama.parameters.total - 2 * 32000 * 8192 - (2 * 80 + 1) * 8192;
    near(quantized, linear * 0.5625, 1e-6, 'with fp32 scales');
    const double = part(of(llama, { ...qlora, 'quantization.double': true }), 'quantized-weights');
    near(double, linear * (0.5 + 0.127 / 8), 1e-4, 'with double quantization');
  });

  it('Llama 70B LoRA on a 16-bit base holds about 128 GiB of base weights, not 260', () => {
    const llama = catalogued('meta-llama/Llama-2-70b-hf');
    const e = of(llama, { 'method.kind': 'lora', 'precision.weights': 'bf16', 'precision.compute': 'bf16' });
    near(part(e, 'weights'), 2 * llama.parameters.total, 1e-6, 'base');
  });

  it('LoRA adapters cost 16 bytes per parameter', () => {
    const e = of(llama1b, {
      'method.kind': 'lora',
      'lora.targets': ['all-linear'],
      'lora.rank': 16,
      'precision.weights': 'bf16',
    });
    const adapters = e.model.trainableParameters;
    near(
      part(e, 'adapters') + most(e, 'gradients') + part(e, 'optimizer-states'),
      16 * adapters,
      0.01,
      'bytes',
    );
  });

  it('training computes 6 P D, checkpointing a third more, LoRA a third less', () => {
    const llama = catalogued('meta-llama/Llama-2-7b-hf');
    const values = { 'batch.sequence': 512, 'precision.weights': 'bf16' } as const;
    const plain = of(llama, values).compute;
    const matrices = llama.parameters.total - 32000 * 4096;
    near(plain.flopsPerStep, 6 * matrices * 512, 0.02, '6PD');
    const again = of(llama, { ...values, 'activations.checkpointing': 'full' }).compute;
    near(again.flopsPerStep / plain.flopsPerStep, 4 / 3, 0.01, 'recomputation');
    assert.equal(again.modelFlopsPerStep, plain.modelFlopsPerStep);
    const lora = of(llama, { ...values, 'method.kind': 'lora' }).compute;
    near(lora.flopsPerStep / plain.flopsPerStep, 2 / 3, 0.02, 'LoRA');
    near(plain.pflopDaysPerStep, plain.flopsPerStep / 8.64e19, 1e-12, 'PFLOP-day');
  });

  it('counts the global batch over devices and accumulation', () => {
    const values = {
      'hardware.gpus': 8,
      'parallel.data': 'ddp',
      'batch.micro': 2,
      'batch.accumulation': 4,
    } as const;
    assert.equal(of(llama1b, values).compute.tokensPerStep, 8 * 2 * 4 * 1024);
  });

  it('tf32 saves no memory: fp32 weights stay four bytes', () => {
    near(part(of(llama1b, {}), 'weights'), 4 * N, 1e-6, 'weights');
  });
});
