import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import { estimate, tracedEstimate } from '../../../server/src/estimate';
import { LAYOUTS, storedBytes } from '../../../server/src/memory/quantization';
import { traceSettings } from '../../../server/src/memory/traced-run';
import type { Weight } from '../../../server/src/model/tape';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

type Kind = keyof typeof LAYOUTS;

function weight(quantization: Kind, out = 5632, columns = 2048): Weight {
  return {
    name: 'mlp.gate_proj.weight',
    shape: [out, columns],
    elements: out * columns,
    localElements: out * columns,
    rows: out,
    dtype: 'bf16',
    quantization,
    trainable: false,
    role: 'matrix',
    activeShare: 1,
    expert: false,
  };
}

const N = 5632 * 2048;

/** Bytes of a `[5632, 2048]` weight as the packages lay it out. */
const STORED: readonly (readonly [string, Kind, RunValues, number])[] = [
  // bitsandbytes 0.50: packed codes and `absmax`; nested: codes, uint8 `absmax`, fp32 `state2.absmax`.
  ['NF4', 'nf4', {}, N / 2 + (4 * N) / 64],
  ['NF4, double', 'nf4', { 'quantization.double': true }, N / 2 + N / 64 + (4 * N) / (64 * 256)],
  ['FP4', 'fp4', {}, N / 2 + (4 * N) / 64],
  ['LLM.int8, SCB', 'int8', {}, N + 4 * 5632],
  // qweight, scales (fp16), qzeros, g_idx (int32).
  ['GPTQ 4 bits, 128', 'gptq', {}, N / 2 + (2 * N) / 128 + N / 128 / 2 + 4 * 2048],
  [
    'GPTQ 8 bits, whole rows',
    'gptq',
    { 'quantization.bits': 8, 'quantization.groupSize': -1 },
    N + 3 * 5632 + 4 * 2048,
  ],
  ['AWQ 4 bits, 128', 'awq', {}, N / 2 + (2 * N) / 128 + N / 128 / 2],
  ['AQLM 1x16', 'aqlm', {}, N / 4 + 2 * 5632 + 2 ** 20],
  ['HQQ 4 bits, 64', 'hqq', {}, N / 2 + (4 * N) / 64],
  ['HQQ 2 bits, 16', 'hqq', { 'quantization.bits': 2, 'quantization.groupSize': 16 }, N / 4 + (4 * N) / 16],
  ['EETQ', 'eetq', {}, N + 2 * 5632],
  ['Quanto int8', 'quanto', {}, N + 2 * 5632],
  ['Quanto int4', 'quanto', { 'quantization.bits': 4 }, N / 2 + (4 * N) / 128],
  ['torchao int4, 128', 'ao-int4', {}, N / 2 + (4 * N) / 128],
  ['torchao int4, 32', 'ao-int4', { 'quantization.groupSize': 32 }, N / 2 + (4 * N) / 32],
  ['torchao int8', 'ao-int8', {}, N + 2 * 5632],
  ['fp8, blocks of 128', 'fp8', {}, N + 4 * 44 * 16],
  ['MXFP4', 'mxfp4', {}, N / 2 + N / 32],
];

describe('stored quantized weights', () => {
  for (const [name, kind, values, bytes] of STORED) {
    it(`${name}: ${((8 * bytes) / N).toFixed(3)} bits per weight`, () => {
      assert.equal(storedBytes(weight(kind), values), bytes);
    });
  }

  it('fewer bits and larger groups take less, whatever the kind', () => {
    const kinds = Object.keys(LAYOUTS) as Kind[];
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.constantFrom(2, 3, 4, 8),
        fc.constantFrom(32, 64, 128, 256),
        (kind, bits, group) => {
          const at = (b: number, g: number) =>
            storedBytes(weight(kind), { 'quantization.bits': b, 'quantization.groupSize': g });
          assert.ok(at(bits, 2 * group) <= at(bits, group));
          assert.ok(at(bits, group) <= at(8, group));
          assert.ok(at(bits, group) < 2 * N);
        },
      ),
    );
  });
});

describe('training on quantized bases', () => {
  it('8-bit weights multiply in the type of what comes in where nothing is cast, whatever type is stated', () => {
    const type = (kind: 'int8' | 'nf4', scheme: 'native' | 'autocast', compute: 'fp32' | 'bf16') =>
      traceSettings(
        aRun({
          'method.kind': 'lora',
          'quantization.kind': kind,
          'quantization.prepared': false,
          'precision.weights': 'fp16',
          'precision.scheme': scheme,
          'precision.compute': compute,
        }),
        aModel(SMALL_LLAMA),
      ).computeDtype;
    assert.equal(type('int8', 'native', 'fp32'), 'fp16');
    assert.equal(type('int8', 'autocast', 'bf16'), 'bf16');
    // `bnb_4bit_compute_dtype`.
    assert.equal(type('nf4', 'native', 'fp32'), 'fp32');
  });

  const model = aModel(SMALL_LLAMA);
  const bf16 = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' } as const;
  const of = (values: RunValues) =>
    estimate({
      run: aRun({ 'method.kind': 'lora', ...bf16, ...values }),
      model,
      accelerator: CARD,
    });
  const resting = (values: RunValues, category: string) =>
    of(values)
      .timeline.at(-1)
      ?.parts.find((part) => part.category === category)?.bytes ?? 0;
  const LINEAR = 8 * (4 * 2048 * 2048 + 3 * 2048 * 5632);
  const REST = 2 * 32000 * 2048 + 17 * 2048;

  it('quantizes the linear layers; embedding, head and norms stay', () => {
    assert.equal(resting({ 'quantization.kind': 'nf4' }, 'quantized-weights'), (LINEAR / 16) * 9);
    assert.equal(resting({ 'quantization.kind': 'nf4' }, 'weights'), 4 * REST);
    const asLoaded = { 'quantization.kind': 'nf4', 'quantization.prepared': false } as const;
    assert.equal(resting(asLoaded, 'weights'), 2 * REST);
  });

  it('PEFT does not upcast the rest of GPTQ, AQLM, EETQ, HQQ and torchao models', () => {
    for (const kind of ['gptq', 'aqlm', 'eetq', 'hqq', 'ao-int4', 'ao-int8'] as const)
      assert.equal(resting({ 'quantization.kind': kind }, 'weights'), 2 * REST, kind);
    for (const kind of ['fp4', 'int8', 'awq', 'quanto'] as const)
      assert.equal(resting({ 'quantization.kind': kind }, 'weights'), 4 * REST, kind);
  });

  it('LLM.int8 keeps the inputs of its products, 4-bit products of bitsandbytes do not', () => {
    const afterForward = (kind: 'int8' | 'nf4') =>
      of({ 'quantization.kind': kind, 'lora.targets': ['q_proj'], 'quantization.prepared': false })
        .timeline.find(({ moment }) => moment === 'loss')
        ?.parts.find(({ category }) => category === 'activations')?.bytes ?? 0;
    // Of 1024 tokens, in bf16: the MLP's product, which nobody else keeps, and others of the width of the model.
    assert.ok(afterForward('int8') - afterForward('nf4') >= 7 * 2 * 1024 * 5632);
  });

  // LoRA of rank 16 on q, v and down over products of `bitsandbytes.matmul` (0.50.2, threshold 0) under the oracle's tracker
  // (torch 2.13, transformers 5.23, peft 0.21.2): bytes.
  const RECORDED = {
    native: { forward: 768475648, backward: 797016064, peak: 797016064 },
    autocast: { forward: 689013248, backward: 717488128, peak: 717488128 },
  };
  for (const scheme of ['native', 'autocast'] as const) {
    it(`LLM.int8, ${scheme}: phases as recorded, within 0.2 %`, () => {
      const small = aModel({
        ...SMALL_LLAMA,
        vocab_size: 8000,
        hidden_size: 1024,
        intermediate_size: 2816,
        num_hidden_layers: 4,
        num_attention_heads: 16,
        num_key_value_heads: 16,
      });
      const run = aRun({
        ...bf16,
        'method.kind': 'lora',
        'lora.rank': 16,
        'lora.targets': ['q_proj', 'v_proj', 'down_proj'],
        'quantization.kind': 'int8',
        'quantization.prepared': false,
        'precision.scheme': scheme,
        'optimizer.implementation': 'foreach',
        'batch.micro': 2,
      });
      const { walk, estimate: e } = tracedEstimate({ run, model: small, accelerator: CARD });
      const workspace =
        e.timeline.at(-1)?.parts.find(({ category }) => category === 'workspaces')?.bytes ?? 0;
      const highest = (...moments: string[]) =>
        Math.max(...walk.points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes)) - workspace;
      const near = (found: number, expected: number) =>
        assert.ok(Math.abs(found - expected) <= 0.002 * expected, `${found} for ${expected}`);
      near(highest('forward', 'loss'), RECORDED[scheme].forward);
      near(highest('backward'), RECORDED[scheme].backward);
      near(e.peak.allocatedBytes - workspace, RECORDED[scheme].peak);
    });
  }

  it('experts are quantized where they are linear layers, and by kinds that know stacks', () => {
    const moe = aModel({
      model_type: 'mixtral',
      hidden_size: 512,
      intermediate_size: 1024,
      num_hidden_layers: 4,
      num_attention_heads: 8,
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
      vocab_size: 1000,
    });
    const attention = 4 * 4 * 512 * 512;
    const experts = 4 * 8 * 3 * 512 * 1024;
    const packed = (values: RunValues) =>
      estimate({
        run: aRun({ 'method.kind': 'lora', ...bf16, ...values }),
        model: moe,
        accelerator: CARD,
      })
        .timeline.at(-1)
        ?.parts.find(({ category }) => category === 'quantized-weights')?.bytes ?? 0;
    const nf4 = { 'quantization.kind': 'nf4' } as const;
    assert.equal(packed({ ...nf4, 'version.transformers': '4.57' }), ((attention + experts) / 16) * 9);
    assert.equal(packed({ ...nf4, 'version.transformers': '5.23' }), (attention / 16) * 9);
    const asked = { ...nf4, 'version.transformers': '5.23', 'quantization.experts': true } as const;
    assert.equal(packed(asked), ((attention + experts) / 16) * 9);
    assert.equal(packed({ 'quantization.kind': 'mxfp4' }), (experts / 32) * 17);
  });
});

describe('the type that quantized weights are multiplied in', () => {
  const HALF: RunValues = {
    'method.kind': 'lora',
    'lora.targets': ['q_proj'],
    'precision.weights': 'fp16',
    'precision.compute': 'fp32',
    'quantization.prepared': false,
  };
  const typeIn = (kind: Kind) =>
    traceSettings(aRun({ ...HALF, 'quantization.kind': kind }), aModel(SMALL_LLAMA)).computeDtype;

  it('is stated for 4 bits of bitsandbytes alone; else that of what comes in', () => {
    for (const kind of ['nf4', 'fp4'] as const) assert.equal(typeIn(kind), 'fp32', kind);
    for (const kind of ['awq', 'gptq', 'aqlm', 'eetq', 'hqq', 'quanto', 'ao-int4', 'int8'] as const)
      assert.equal(typeIn(kind), 'fp16', kind);
  });
});
