import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { withoutCheapResults } from '../../../server/src/memory/cheap';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import { largestShare } from '../../../server/src/memory/variable-split';
import type { Storage } from '../../../server/src/model/tape';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

const HIDDEN = 256;
const TOKENS = 96;
const HEADS = 4;
const SMALL = {
  model_type: 'bert',
  hidden_size: HIDDEN,
  num_hidden_layers: 3,
  num_attention_heads: HEADS,
  intermediate_size: 4 * HIDDEN,
  vocab_size: 1000,
  max_position_embeddings: 512,
  hidden_act: 'gelu',
  hidden_dropout_prob: 0,
  attention_probs_dropout_prob: 0,
  tie_word_embeddings: true,
};

const TF: RunValues = {
  'model.code': 'tensorflow',
  'parallel.data': 'horovod',
  'zero.stage': 0,
  'precision.scheme': 'autocast',
  'precision.compute': 'fp16',
  'batch.sequence': TOKENS,
};
const FUSED: RunValues = {
  'kernels.fusedLayerNorm': true,
  'kernels.fusedSoftmax': true,
  'kernels.fusedGelu': true,
};

function layerOf(values: RunValues, config: Record<string, unknown> = SMALL) {
  const run = aRun({ ...TF, ...values });
  const layer = traceRun(aModel(config), run).find(({ stage }) => stage.role === 'layer');
  if (!layer) throw new Error('no layer');
  return layer.tape;
}

/** Bytes of activations kept of one layer per token and hidden unit, and per attention weight, in bytes. */
function kept(storages: Iterable<Storage>): { linear: number; quadratic: number } {
  let linear = 0;
  let quadratic = 0;
  for (const { bytes, kind, quadratic: square } of storages) {
    if (kind === 'weight-copy' || kind === 'kept-weight') continue;
    if (square || bytes === HEADS * TOKENS * TOKENS * 2) quadratic += bytes;
    else linear += bytes;
  }
  return { linear: linear / (TOKENS * HIDDEN), quadratic: quadratic / (HEADS * TOKENS * TOKENS) };
}

/** Means, deviations and other numbers per row are far below a byte per unit. */
const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 0.25, `${actual} for ${expected}`);

describe('TensorFlow layers', () => {
  it('fused: 16 tensors of the width of the model in fp16, and the softmax', () => {
    // Input, 3 heads, context, 2 norm inputs, norm result, 4 + 4 of the feed-forward.
    const { linear, quadratic } = kept(savedStorages(layerOf(FUSED)));
    near(linear, 2 * 16);
    near(quadratic, 2);
  });

  it('GELU in operators keeps the scaled input and the factor too', () => {
    const { linear } = kept(savedStorages(layerOf({ ...FUSED, 'kernels.fusedGelu': false })));
    near(linear, 2 * 16 + 2 * 2 * 4);
  });

  it('layer norm in operators keeps the normalized rows, twice per layer', () => {
    const { linear } = kept(savedStorages(layerOf({ ...FUSED, 'kernels.fusedLayerNorm': false })));
    near(linear, 2 * 16 + 2 * 2);
  });

  it('layer norm in operators in fp32 keeps an fp32 copy instead of the input, and the scale in full size', () => {
    const inFp32: RunValues = { 'kernels.fusedLayerNorm': false, 'precision.layerNorm': 'fp32' };
    const { linear } = kept(savedStorages(layerOf({ ...FUSED, ...inFp32 })));
    near(linear, 2 * 14 + 2 * (4 + 4));
  });

  it('softmax in operators keeps its fp32 result beside the cast', () => {
    const { quadratic } = kept(savedStorages(layerOf({ ...FUSED, 'kernels.fusedSoftmax': false })));
    near(quadratic, 2 + 4);
  });

  it("dropout keeps a factor of its input's type, and attention the dropped weights", () => {
    const config = { ...SMALL, hidden_dropout_prob: 0.1, attention_probs_dropout_prob: 0.1 };
    const { linear, quadratic } = kept(savedStorages(layerOf(FUSED, config)));
    near(linear, 2 * 16 + 2 * 2);
    near(quadratic, 2 + 4);
  });

  it('Grappler recomputes the factor and the result of GELU in operators, but not its sum', () => {
    const fusedNorm = layerOf({ ...FUSED, 'kernels.fusedGelu': false });
    // What GELU is given and 1 + erf stay, instead of input, scaled input, factor and result.
    near(kept(withoutCheapResults(fusedNorm)).linear, 2 * 16);
  });

  it('Grappler keeps what dropout is given for the sake of its shape, beside a mask of one byte', () => {
    const config = { ...SMALL, hidden_dropout_prob: 0.1 };
    const tape = layerOf(FUSED, config);
    near(kept(savedStorages(tape)).linear, 2 * 16 + 2 * 2);
    near(kept(withoutCheapResults(tape)).linear, 2 * 16 + 2 * (2 + 1));
  });

  it('Grappler does not recompute sums: results of layer norms in operators stay', () => {
    const tape = layerOf({ ...FUSED, 'kernels.fusedLayerNorm': false, 'precision.scheme': 'apex-o2' });
    near(kept(savedStorages(tape)).linear, 2 * 18);
    near(kept(withoutCheapResults(tape)).linear, 2 * 18);
  });

  it('XLA copies what forward reads of resource variables, where own kernels part forward and backward', () => {
    const copies = (values: RunValues) =>
      [...savedStorages(layerOf({ 'precision.scheme': 'apex-o2', ...values }))]
        .filter(({ kind }) => kind === 'kept-weight')
        .reduce((sum, { bytes }) => sum + bytes, 0);
    const resources: RunValues = { 'kernels.resourceVariables': true };
    assert.equal(copies({ ...FUSED, ...resources, 'kernels.xla': true }), 2 * 12 * HIDDEN ** 2);
    assert.equal(copies({ ...resources, 'kernels.xla': true }), 0);
    assert.equal(copies({ ...FUSED, ...resources }), 0);
    assert.equal(copies({ ...FUSED, 'kernels.xla': true }), 0);
  });

  it('XLA keeps only what products read where nothing cuts the layers', () => {
    const none: RunValues = {};
    const plain = kept(savedStorages(layerOf(none))).linear;
    const xla = kept(savedStorages(layerOf({ 'kernels.xla': true }))).linear;
    assert.ok(xla < plain);
    // One own kernel is enough to cut every layer.
    const cut = kept(savedStorages(layerOf({ 'kernels.xla': true, 'kernels.fusedSoftmax': true }))).linear;
    near(cut, plain);
  });
});

describe('whole variables shared out', () => {
  const tensors = [
    { name: 'embedding', shape: [100], elements: 100, copies: 1, role: 'embedding' as const },
    { name: 'a', shape: [30], elements: 30, copies: 4, role: 'matrix' as const },
    { name: 'b', shape: [10], elements: 10, copies: 4, role: 'matrix' as const },
  ];
  it('greedy: the largest first to who holds least', () => {
    // 100 against 30 + 30 + 30 + 30 = 120; the tens fill up to 130 on both sides.
    assert.equal(largestShare(tensors, 2, aRun({})), 130);
    assert.equal(largestShare(tensors, 100, aRun({})), 100);
  });
  it('naive: equal counts in the order of the model', () => {
    // embedding a b a b | a b a b
    assert.equal(largestShare(tensors, 2, aRun({ 'parallel.variableSplit': 'naive' })), 180);
  });
  it('greedy, as the plain search for the least does it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 20 }),
        (sizes, ranks) => {
          const loads = new Array<number>(ranks).fill(0);
          for (const size of [...sizes].sort((a, b) => b - a)) {
            const least = loads.indexOf(Math.min(...loads));
            loads[least] = (loads[least] ?? 0) + size;
          }
          const given = sizes.map((elements, i) => ({
            name: `${i}`,
            shape: [elements],
            elements,
            copies: 1,
            role: 'matrix' as const,
          }));
          assert.equal(largestShare(given, ranks, aRun({})), Math.max(0, ...loads));
        },
      ),
    );
  });
  it('groups are never more than the GPUs', () => {
    assert.equal(largestShare(tensors, 2, aRun({ 'parallel.variableGroups': 50 })), 130);
    assert.equal(largestShare(tensors, 4, aRun({ 'parallel.variableGroups': 2 })), 130);
  });
});

describe('Horovod replicas', () => {
  const peak = (values: RunValues) =>
    estimate({
      run: aRun({ ...TF, ...FUSED, 'hardware.gpus': 8, ...values }),
      model: aModel(SMALL),
      accelerator: CARD,
    });
  const part = (values: RunValues, category: string) =>
    peak(values).parts.find((p) => p.category === category)?.bytes ?? 0;
  const P = aModel(SMALL).parameters.total;

  it('keeps fp32 variables and whole states, and splits states from stage 1 on', () => {
    const weights = part({}, 'weights');
    assert.ok(Math.abs(weights / (4 * P) - 1) < 0.12, `${weights}`);
    assert.equal(part({}, 'optimizer-states'), 2 * weights);
    assert.ok(part({ 'zero.stage': 1 }, 'optimizer-states') < part({}, 'optimizer-states') / 3);
  });

  it('sends gradients in tensors of their own, compressed ones in two more', () => {
    const buffers = (values: RunValues) => {
      const sample = peak(values).timeline.find(({ moment }) => moment === 'optimizer-step');
      return sample?.parts.find(({ category }) => category === 'communication-buffers')?.bytes ?? 0;
    };
    const weights = part({}, 'weights');
    const plain = buffers({});
    assert.ok(Math.abs(plain - weights - 64 * 2 ** 20) <= 1, `${plain}`);
    assert.equal(buffers({ 'precision.reduce': 'fp32' }), plain);
    assert.ok(Math.abs(buffers({ 'precision.reduce': 'fp16' }) - plain - weights) <= 1);
  });

  it('fp16 variables have fp32 shadows, which are split with the states', () => {
    const shadowed: RunValues = { 'precision.scheme': 'apex-o2', 'optimizer.implementation': 'fused' };
    const P = part(shadowed, 'weights') / 2;
    assert.equal(part(shadowed, 'master-weights'), 4 * P);
    assert.equal(part(shadowed, 'optimizer-states'), 8 * P);
    const split: RunValues = { ...shadowed, 'zero.stage': 1 };
    const owned = part(split, 'master-weights') / 4;
    assert.ok(owned < P / 3, `${owned}`);
    assert.equal(part(split, 'optimizer-states'), 8 * owned);
  });

  it('a split step holds a second copy of the variables that other GPUs send', () => {
    // Accumulated gradients are reduced one by one.
    const split: RunValues = {
      'zero.stage': 1,
      'optimizer.implementation': 'fused',
      'batch.accumulation': 2,
    };
    const owned = part(split, 'optimizer-states') / 8;
    const others = part(split, 'weights') / 4 - owned;
    assert.equal(part(split, 'communication-buffers'), 4 * others + 64 * 2 ** 20);
    const half: RunValues = { ...split, 'precision.scheme': 'apex-o2' };
    assert.equal(part(half, 'communication-buffers'), 2 * others + 64 * 2 ** 20);
  });

  it('accumulators lie beside the zeros that reset them', () => {
    const fused: RunValues = { 'optimizer.implementation': 'fused', 'batch.accumulation': 2 };
    const P = part(fused, 'weights') / 4;
    const half: RunValues = { ...fused, 'precision.gradientAccumulation': 'fp16' };
    assert.equal(part(fused, 'gradients') - part(half, 'gradients'), 2 * (4 - 2) * P);
    assert.ok(part({ ...fused, 'zero.stage': 2 }, 'gradients') < part(fused, 'gradients') / 2);
  });

  it('an optimizer in operators holds the products that wait for the gradients; a fused one does not', () => {
    const weights = part({}, 'weights');
    const inOperators = peak({}).peak.allocatedBytes;
    const fused = peak({ 'optimizer.implementation': 'fused' }).peak.allocatedBytes;
    assert.equal(inOperators - fused, 3 * weights);
  });
});
