import { strict as assert } from 'node:assert';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const N = model.parameters.total;
const LINEAR = 8 * (4 * 2048 * 2048 + 3 * 2048 * 5632);
const T = 1024;

function of(values: RunValues) {
  return estimate({ run: aRun(values), model, accelerator: CARD });
}

function part(values: RunValues, moment: string, category: string): number {
  const samples = of(values).timeline.filter((sample) => sample.moment === moment);
  return Math.max(0, ...samples.map(({ parts }) => parts.find((p) => p.category === category)?.bytes ?? 0));
}

/** Bytes per parameter of weights, masters, states and gradients when the optimizer steps, without its temporaries. */
function steady(values: RunValues): number {
  const kinds = ['weights', 'master-weights', 'optimizer-states', 'gradients'];
  return kinds.reduce((sum, kind) => sum + part(values, 'optimizer-step', kind), 0) / N;
}

const fused = { 'optimizer.implementation': 'fused' } as const;
const bf16 = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' } as const;
const deepspeed: RunValues = {
  'precision.scheme': 'deepspeed',
  'precision.compute': 'bf16',
  'parallel.data': 'zero',
  'zero.stage': 0,
};

/** Bytes per parameter with AdamW, as the frameworks' documents and sources have them. */
const STEADY: readonly (readonly [string, number, RunValues])[] = [
  ['pure fp32', 16, fused],
  [
    'fp32 weights under autocast',
    16,
    { ...fused, 'precision.scheme': 'autocast', 'precision.compute': 'bf16' },
  ],
  ['pure bf16', 8, { ...fused, ...bf16 }],
  ['pure bf16 with Kahan summation', 10, { ...fused, ...bf16, 'optimizer.compensation': true }],
  ['bf16 and bitsandbytes, whose states are fp32', 12, { ...bf16, 'optimizer.name': 'adamw-32bit' }],
  ['DeepSpeed, fp32 masters', 16, deepspeed],
  [
    'DeepSpeed, bf16 masters and states',
    10,
    {
      ...deepspeed,
      'zero.stage': 2,
      'precision.masterWeights': 'bf16',
      'precision.optimizerStates': 'bf16',
    },
  ],
  [
    'Apex O2: fp16 weights, fp32 masters',
    16,
    { ...fused, 'precision.scheme': 'apex-o2', 'precision.compute': 'fp16' },
  ],
  ['Megatron, fp32 main gradients', 18, { 'precision.scheme': 'megatron', 'precision.compute': 'bf16' }],
];

describe('precision schemes', () => {
  for (const [name, bytes, values] of STEADY) {
    it(`${name}: ${bytes} bytes per parameter`, () => {
      const found = steady(values);
      assert.ok(Math.abs(found - bytes) < 1e-3, `${found}`);
    });
  }

  it('autocast caches two bytes per linear weight until it exits, pure bf16 nothing', () => {
    const cached = part(
      { 'precision.scheme': 'autocast', 'precision.compute': 'bf16' },
      'loss',
      'autocast-cache',
    );
    assert.equal(cached, 2 * (LINEAR + 32000 * 2048));
    assert.equal(part(bf16, 'loss', 'autocast-cache'), 0);
  });

  // Counted with torch 2.13: three calls cast a weight in fp32 once, one in 16 bits three times.
  for (const [weights, compute] of [
    ['fp16', 'bf16'],
    ['bf16', 'fp16'],
  ] as const)
    it(`autocast to ${compute} caches nothing of weights in ${weights}: the graph keeps a copy of each call`, () => {
      const run: RunValues = {
        'precision.scheme': 'autocast',
        'precision.weights': weights,
        'precision.compute': compute,
      };
      const same: RunValues = { ...run, 'precision.weights': compute };
      for (const moment of ['forward', 'loss', 'backward'])
        assert.equal(part(run, moment, 'autocast-cache'), 0, moment);
      const kept = part(run, 'loss', 'activations') - part(same, 'loss', 'activations');
      assert.ok(kept >= 2 * LINEAR, `${kept}`);
    });

  it("Apex O2 steps masters with gradients of their own: 4 bytes more than the scheme's 16", () => {
    const values = { ...fused, 'precision.scheme': 'apex-o2', 'precision.compute': 'fp16' } as const;
    assert.equal(part(values, 'optimizer-step', 'optimizer-transients'), 4 * N);
  });

  it('Transformer Engine keeps inputs in fp8 and both layouts of the weights', () => {
    const plain = part(bf16, 'loss', 'activations');
    const te = part({ ...bf16, 'precision.fp8': 'transformer-engine' }, 'loss', 'activations');
    // Per layer: q, k, v an fp8 copy each beside the bf16 norm that its gain keeps; the others one byte for two, of which
    // the output of attention and the norm before the MLP are kept anyway.
    const inputs = 8 * T * (3 * 2048 + 2048 + 2 * 2048 + 5632);
    assert.ok(te - plain <= 2 * LINEAR + inputs && te - plain >= 2 * LINEAR - 8 * T * 2 * (3 * 2048 + 5632));
  });

  it('torchao casts anew and keeps what a plain product keeps', () => {
    const plain = part(bf16, 'loss', 'activations');
    const ao = part({ ...bf16, 'precision.fp8': 'torchao' }, 'loss', 'activations');
    assert.ok(Math.abs(ao - plain) < 0.01 * plain);
  });
});

describe('kernels', () => {
  it('Liger and Unsloth keep less than transformers: norms two bytes for six, one product less per MLP', () => {
    const kept = (values: RunValues) => part({ ...bf16, ...values }, 'loss', 'activations');
    const plain = kept({});
    for (const values of [{ 'kernels.liger': true }, { 'kernels.unsloth': true }]) {
      const less = plain - kept(values);
      // Two norms: 4 of the fp32 copy give way to 2 of the input and nothing of the normalized; the activated gate goes.
      assert.ok(less > 8 * T * 2 * 5632 * 0.9, `${less}`);
    }
  });

  it('logits that become their gradient in place cost one copy', () => {
    const V = 32000;
    const values = { ...bf16, 'kernels.unsloth': true } as const;
    const most = Math.max(
      part(values, 'loss', 'logits-and-loss'),
      part(values, 'backward', 'logits-and-loss'),
    );
    assert.ok(most < 2.1 * T * V, `${most / (T * V)} bytes per logit`);
  });

  it('Unsloth keeps no fp32 copies of what LoRA branches are given', () => {
    const lora = { ...bf16, 'method.kind': 'lora', 'lora.targets': ['all-linear'] } as const;
    const plain = part({ ...lora, 'kernels.liger': true }, 'loss', 'activations');
    const unsloth = part({ ...lora, 'kernels.unsloth': true }, 'loss', 'activations');
    // q, k, v, o, gate and up: four bytes of the model's width each, down of the MLP's.
    assert.ok(plain - unsloth > 8 * T * (4 * 5 * 2048 + 2 * 5632), `${plain - unsloth}`);
  });

  it('noise on the embedded tokens takes memory for a moment only', () => {
    const noisy = of({ ...bf16, 'method.noisyEmbeddings': true });
    assert.equal(noisy.peak.allocatedBytes, of(bf16).peak.allocatedBytes);
    const forward = (e: typeof noisy) => e.timeline.find(({ moment }) => moment === 'forward');
    assert.ok(forward(noisy));
  });
});

describe('MS-AMP', () => {
  const linear = LINEAR + 32000 * 2048;
  const others = N - linear;
  const level = (fp8: 'ms-amp-o1' | 'ms-amp-o2', more: RunValues = {}): RunValues => ({
    ...more,
    'precision.scheme': 'autocast',
    'precision.compute': 'bf16',
    'precision.fp8': fp8,
  });

  it('holds linear layers in fp16 and their gradients in fp8, states in fp32 or in fp8 and fp16', () => {
    for (const [fp8, states] of [
      ['ms-amp-o1', 8],
      ['ms-amp-o2', 3],
    ] as const) {
      const run = level(fp8);
      assert.equal(part(run, 'optimizer-step', 'weights'), 2 * linear + 4 * others);
      assert.equal(part(run, 'optimizer-step', 'gradients'), linear + 4 * others);
      assert.equal(part(run, 'optimizer-step', 'optimizer-states'), states * N);
    }
  });

  it('leaves these gradients out of the buckets of DDP', () => {
    const run = level('ms-amp-o2', { 'parallel.data': 'ddp', 'hardware.gpus': 8 });
    assert.equal(part(run, 'optimizer-step', 'communication-buffers'), 4 * others);
  });

  it('keeps inputs and weights of products in fp8', () => {
    const kept = (run: RunValues) => part(run, 'loss', 'activations') + part(run, 'loss', 'autocast-cache');
    const plain = kept({ 'precision.scheme': 'autocast', 'precision.compute': 'bf16' });
    const lowered = kept(level('ms-amp-o1'));
    // Of every weight a byte instead of the two of autocast's copy.
    assert.ok(plain - lowered > LINEAR, `${plain - lowered}`);
  });
});
