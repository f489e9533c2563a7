import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import {
  deviceStateBytes,
  OPTIMIZER_COSTS,
  type SteppedTensor,
  stateBytes,
  stepTransient,
} from '../../../server/src/memory/optimizers';
import type { RunValues } from '../../../server/src/run/fields';
import { OPTIMIZERS, type OptimizerName } from '../../../server/src/terms/optimizers';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

interface Recording {
  readonly weights: readonly { readonly name: string; readonly shape: readonly number[] }[];
  readonly matrices: readonly string[];
  readonly cases: readonly {
    readonly optimizer: string;
    readonly weights: 'fp32' | 'bf16';
    readonly states: number;
    readonly step?: number;
  }[];
}

const RECORDING = JSON.parse(readFileSync('test/oracle/optimizers.json', 'utf8')) as Recording;

const TENSORS: readonly SteppedTensor[] = RECORDING.weights.map(({ name, shape }) => ({
  name: `${name}.weight`,
  shape,
  elements: shape.reduce((product, size) => product * size, 1),
  copies: 1,
  role:
    name === 'embed_tokens'
      ? 'embedding'
      : name === 'lm_head'
        ? 'head'
        : shape.length > 1
          ? 'matrix'
          : 'vector',
}));
const MATRICES = { 'optimizer.targets': RECORDING.matrices };
const STATES_ONLY = { step: undefined };

interface Expected {
  readonly name: OptimizerName;
  readonly values?: RunValues;
  /** Relative tolerance of the step's temporaries, 3 % where none is stated: the variables of the weight before. */
  readonly step?: number | undefined;
  /** Only the layers' matrices were stepped. */
  readonly matrices?: boolean;
}

/** Recorded optimizers by what the vocabulary calls them. */
const RECORDED: Readonly<Record<string, Expected>> = {
  'torch.Muon(matrices)': { name: 'muon', values: MATRICES, matrices: true, step: 0.01 },
  'torch.Muon': { name: 'muon', values: MATRICES, step: 0.03 },
  'transformers.Adafactor': { name: 'adafactor', step: 0.04 },
  'transformers.Adafactor(momentum)': {
    name: 'adafactor',
    values: { 'optimizer.extraStates': 1 },
    step: 0.04,
  },
  'galore.AdamW': { name: 'galore-adamw', values: MATRICES, ...STATES_ONLY },
  'apollo.AdamW': { name: 'apollo-adamw', values: MATRICES, step: 0.04 },
  'apollo.AdamW(mini)': {
    name: 'apollo-adamw',
    values: { ...MATRICES, 'optimizer.rank': 1 },
    step: 0.04,
  },
  'schedulefree.AdamW': { name: 'schedule-free-adamw', step: 0.01 },
  'schedulefree.RAdam': { name: 'schedule-free-radam', step: 0.01 },
  'schedulefree.SGD': { name: 'schedule-free-sgd', step: 0.01 },
  grokadamw: { name: 'grokadamw', step: 0.04 },
  'optimi.AdamW': { name: 'adamw', values: { 'optimizer.compensation': true }, ...STATES_ONLY },
  'optimi.StableAdamW': { name: 'stable-adamw', ...STATES_ONLY },
  'optimi.Lion': { name: 'lion', values: { 'optimizer.compensation': true }, ...STATES_ONLY },
  'optimi.Adan': { name: 'adan', ...STATES_ONLY },
  came: { name: 'came', ...STATES_ONLY },
  'olmo.LionW': { name: 'lionw' },
  lion_pytorch: { name: 'lion', step: 0.03 },
  'pytorch_optimizer.Prodigy': { name: 'prodigy', ...STATES_ONLY },
  'pytorch_optimizer.AdaBelief': { name: 'adabelief', ...STATES_ONLY },
  'pytorch_optimizer.LARS': { name: 'lars', ...STATES_ONLY },
  'pytorch_optimizer.SOAP': { name: 'soap', ...STATES_ONLY },
  'pytorch_optimizer.Shampoo': { name: 'shampoo', ...STATES_ONLY },
  'torchao.AdamW8bit': { name: 'ao-adamw-8bit' },
  'torchao.AdamW8bit(256)': { name: 'ao-adamw-8bit' },
  'torchao.AdamW4bit': { name: 'ao-adamw-4bit' },
  'torchao.AdamW4bit(256)': { name: 'ao-adamw-4bit', values: { 'optimizer.blockSize': 256 } },
  'torchao.AdamWFp8': { name: 'ao-adamw-fp8' },
  'bitsandbytes.AdamW8bit': { name: 'adamw-8bit' },
  'bitsandbytes.AdamW32bit': { name: 'adamw-32bit' },
  'bitsandbytes.Lion8bit': { name: 'lion-8bit' },
  'bitsandbytes.Lion32bit': { name: 'lion-32bit' },
  'bitsandbytes.RMSprop8bit': { name: 'rmsprop-8bit' },
  'bitsandbytes.AdEMAMix8bit': { name: 'ademamix-8bit' },
  'bitsandbytes.AdEMAMix': { name: 'ademamix' },
  'bitsandbytes.Adagrad8bit': { name: 'adagrad-8bit' },
  'bitsandbytes.SGD8bit': { name: 'sgd-8bit' },
  'bitsandbytes.LARS8bit': { name: 'sgd-8bit' },
  'bitsandbytes.LAMB8bit': { name: 'lamb-8bit' },
};
const TORCH: Readonly<Record<string, Expected>> = {
  AdamW: { name: 'adamw' },
  'AdamW(amsgrad)': { name: 'adamw', values: { 'optimizer.extraStates': 1 } },
  // Without decay, Adam has AdamW's temporaries.
  Adam: { name: 'adamw' },
  'Adam(decay)': { name: 'adam' },
  Adamax: { name: 'adamax' },
  NAdam: { name: 'nadam' },
  RAdam: { name: 'radam' },
  Adagrad: { name: 'adagrad' },
  Adadelta: { name: 'adadelta' },
  RMSprop: { name: 'rmsprop' },
  'RMSprop(momentum)': { name: 'rmsprop', values: { 'optimizer.extraStates': 1 } },
  'RMSprop(centered)': { name: 'rmsprop', values: { 'optimizer.extraStates': 1 } },
  ASGD: { name: 'asgd' },
  SGD: { name: 'sgd-momentum' },
  'SGD(plain)': { name: 'sgd' },
  Adafactor: { name: 'torch-adafactor' },
};

function expectedOf(recorded: string): Expected | undefined {
  const match = /^torch\.(.*):(foreach|fused|for-loop)$/.exec(recorded);
  if (!match) return RECORDED[recorded];
  const row = TORCH[match[1] ?? ''];
  const implementation = match[2] as 'foreach' | 'fused' | 'for-loop';
  // Weight by weight, small temporaries of the weight before are still named.
  const step = implementation === 'for-loop' ? 0.03 : 0.001;
  return row && { ...row, values: { ...row.values, 'optimizer.implementation': implementation }, step };
}

describe('optimizers against recordings of the real ones', () => {
  for (const recorded of RECORDING.cases) {
    const expected = expectedOf(recorded.optimizer);
    if (!expected) continue;
    it(`${recorded.optimizer}, ${recorded.weights}`, () => {
      const run = aRun({ ...expected.values, 'optimizer.name': expected.name });
      const width = recorded.weights === 'fp32' ? 4 : 2;
      const stepped = expected.matrices
        ? TENSORS.filter(({ name }) => RECORDING.matrices.some((matrix) => name.endsWith(`${matrix}.weight`)))
        : TENSORS;
      const elements = stepped.reduce((sum, weight) => sum + weight.elements, 0);
      const states = elements * stateBytes(run, width, stepped);
      // Recorded storages are rounded up to 512 bytes: up to four for each of 27 weights and their scales.
      assert.ok(
        Math.abs(states - recorded.states) <= 6 * 512 * TENSORS.length,
        `${states} bytes of states for ${recorded.states}`,
      );
      if (expected.step === undefined || recorded.step === undefined) return;
      const step = stepTransient(run, stepped, width);
      assert.ok(
        Math.abs(step - recorded.step) <= expected.step * recorded.step + 4096,
        `${step} bytes of temporaries for ${recorded.step}`,
      );
    });
  }

  it('recorded every optimizer that the table of this test names', () => {
    const names = new Set(RECORDING.cases.map(({ optimizer }) => optimizer));
    assert.deepEqual(
      Object.keys(RECORDED).filter((name) => !names.has(name)),
      [],
    );
  });
});

describe('optimizer states', () => {
  const model = aModel(SMALL_LLAMA);
  const part = (values: RunValues, category: string) =>
    estimate({ run: aRun(values), model, accelerator: CARD })
      .timeline.at(-1)
      ?.parts.find((p) => p.category === category)?.bytes ?? 0;
  const states = (values: RunValues) => part(values, 'optimizer-states');
  const ALL = model.parameters.total;
  const EMBEDDING = 32000 * 2048;
  const NORMS = 17 * 2048;

  it('an 8-bit optimizer keeps fp32 states of norms, and of embeddings where transformers asks for it', () => {
    const narrow = 2 * (1 + 4 / 256);
    const plain = states({ 'optimizer.name': 'adamw-8bit' });
    assert.equal(plain, narrow * (ALL - NORMS) + 8 * NORMS);
    const wide = states({ 'optimizer.name': 'adamw-8bit', 'optimizer.wideEmbeddings': true });
    assert.equal(wide, narrow * (ALL - NORMS - EMBEDDING) + 8 * (NORMS + EMBEDDING));
  });

  it('paged states leave scales and states of small tensors with PyTorch', () => {
    assert.equal(states({ 'optimizer.name': 'paged-adamw' }), 8 * NORMS);
    const paged = states({ 'optimizer.name': 'paged-adamw-8bit' });
    assert.equal(paged, 8 * NORMS + ((2 * 4) / 256) * (ALL - NORMS));
  });

  it('factored statistics are gone where ZeRO flattens the weights', () => {
    const whole = states({ 'optimizer.name': 'adafactor' });
    assert.ok(whole < 0.02 * ALL);
    const flat = states({
      'optimizer.name': 'adafactor',
      'parallel.data': 'zero',
      'zero.stage': 2,
      'precision.scheme': 'deepspeed',
      'precision.compute': 'bf16',
      'hardware.gpus': 4,
    });
    assert.equal(flat, ALL);
  });

  it('Muon keeps one moment of matrices and two of the rest', () => {
    const rest = 2 * EMBEDDING + NORMS;
    assert.equal(states({ 'optimizer.name': 'muon' }), 4 * (ALL - rest) + 8 * rest);
  });

  it('GaLore of rank 128 keeps far less than AdamW, and more the higher its rank', () => {
    const of = (rank: number) =>
      states({ 'optimizer.name': 'galore-adamw', 'optimizer.rank': rank, 'precision.weights': 'bf16' });
    assert.ok(of(128) < of(512) && of(512) < 4 * ALL);
  });

  it('frozen weights have neither gradients nor states, whatever the optimizer', () => {
    fc.assert(
      fc.property(fc.constantFrom(...OPTIMIZERS), fc.integer({ min: 1, max: 64 }), (name, rank) => {
        const values: RunValues = {
          'optimizer.name': name,
          'method.kind': 'lora',
          'lora.targets': ['all-linear'],
          'lora.rank': rank,
        };
        const adapters = rank * 8 * (4 * 4096 + 3 * (2048 + 5632));
        const square = 2 * (4 * rank * rank + 4 * (5632 * 5632 + 2048 * 2048)) * 56;
        const limit = name === 'lbfgs' ? 203 * 4 * adapters : 32 * adapters + 8 * square;
        assert.ok(states(values) <= limit, `${name}: ${states(values)}`);
        assert.ok(part(values, 'gradients') <= 4 * adapters, name);
      }),
      { numRuns: 60 },
    );
  });

  it('in-backward optimizers hold no gradients when they step', () => {
    for (const name of OPTIMIZERS.filter((n) => OPTIMIZER_COSTS[n].inBackward)) {
      assert.equal(part({ 'optimizer.name': name }, 'gradients'), 0, name);
    }
  });

  it('steps weight by weight before torch 2.0, where nothing asks for lists', () => {
    const at = (version: string) =>
      stepTransient(aRun({ 'optimizer.name': 'adamw', 'version.torch': version }), TENSORS, 4);
    const [all, one] = [at('2.0.1'), at('1.13.1')];
    const loop = stepTransient(
      aRun({ 'optimizer.name': 'adamw', 'optimizer.implementation': 'for-loop', 'version.torch': '2.8' }),
      TENSORS,
      4,
    );
    assert.equal(one, loop);
    assert.ok(all > one);
  });

  it('a step split over GPUs needs a share of the temporaries', () => {
    fc.assert(
      fc.property(fc.constantFrom(...OPTIMIZERS), fc.integer({ min: 2, max: 64 }), (name, shards) => {
        const run = aRun({ 'optimizer.name': name });
        const whole = stepTransient(run, TENSORS, 4);
        assert.ok(Math.abs(stepTransient(run, TENSORS, 4, shards) * shards - whole) <= 1e-6 * whole + 1e-6);
        assert.ok(deviceStateBytes(run, 4, TENSORS) <= stateBytes(run, 4, TENSORS) + 1e-9);
      }),
    );
  });
});
