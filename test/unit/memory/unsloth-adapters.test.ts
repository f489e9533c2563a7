import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { bytesOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const QLORA: RunValues = {
  'method.kind': 'lora',
  'lora.rank': 64,
  'lora.targets': ['q_proj', 'v_proj', 'gate_proj', 'down_proj'],
  'lora.dtype': 'fp32',
  'quantization.kind': 'nf4',
  'quantization.prepared': false,
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'autocast',
  'batch.sequence': 512,
  'batch.micro': 4,
};
const UNSLOTH: RunValues = { ...QLORA, 'kernels.unsloth': true };
const CHECKPOINTED: RunValues = { 'activations.checkpointing': 'full' };

const cachedIn = (values: RunValues) =>
  estimate({ run: aRun(values), model: aModel(SMALL_LLAMA), accelerator: CARD }).timeline.flatMap(
    ({ parts }) => parts.filter(({ category }) => category === 'autocast-cache'),
  ).length;

describe('factors of adapters in another type than that of the input', () => {
  it('are cached by autocast under PEFT, and never under Unsloth, which casts them itself', () => {
    assert.ok(cachedIn(QLORA) > 0);
    assert.equal(cachedIn({ ...UNSLOTH, ...CHECKPOINTED, 'kernels.compileParts': true }), 0);
    for (const scheme of ['autocast', 'native'] as const)
      assert.equal(cachedIn({ ...UNSLOTH, ...CHECKPOINTED, 'precision.scheme': scheme }), 0, scheme);
  });

  it("are cast anew in backward by Unsloth's kernels, and kept by the graph in layers that it compiles", () => {
    const keptIn = (values: RunValues) =>
      traceRun(aModel(SMALL_LLAMA), aRun(values)).flatMap(({ tape }) =>
        tape.operations.flatMap(({ saves, weightCopies }) =>
          [...saves, ...weightCopies].filter(({ kind }) => kind === 'weight-copy' || kind === 'kept-weight'),
        ),
      ).length;
    assert.equal(keptIn(UNSLOTH), 0);
    assert.ok(keptIn({ ...UNSLOTH, 'kernels.compileParts': true }) > 0);
  });
});

describe('what the graph keeps of weights', () => {
  it('is no cache of autocast: of frozen weights under DoRA, and of rounded ones', () => {
    const dora: RunValues = {
      'method.kind': 'lora',
      'lora.targets': ['q_proj'],
      'lora.dora': true,
      'lora.dtype': 'bf16',
      'precision.weights': 'bf16',
      'precision.compute': 'fp16',
      'precision.scheme': 'autocast',
    };
    // Adapters alone are trained, and those in fp16 need no copy.
    assert.equal(cachedIn({ ...dora, 'lora.dtype': 'fp16' }), 0);
    const rounded: RunValues = {
      'method.kind': 'full',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'native',
    };
    for (const fake of ['int4', 'int8', 'int8-int4'] as const)
      assert.equal(cachedIn({ ...rounded, 'quantization.fake': fake }), 0, fake);
  });
});

describe('originals of an embedding and a head that are trained', () => {
  const table = SMALL_LLAMA.vocab_size * SMALL_LLAMA.hidden_size;
  const resting = (values: RunValues) => {
    const run = aRun({ ...QLORA, 'lora.modulesToSave': ['embed_tokens', 'lm_head'], ...values });
    const stages = traceRun(aModel(SMALL_LLAMA), run);
    return bytesOf(shardingOf(run, sumWeights(stages, run), stages).atRest, 'weights');
  };

  it("are mapped from disk where Unsloth's written models offload checkpoints", () => {
    const offloads: RunValues = { ...CHECKPOINTED, 'activations.offload': true };
    const plain = resting(offloads);
    assert.equal(plain - resting({ ...offloads, 'kernels.unsloth': true }), 2 * 2 * table);
    assert.equal(resting({ ...offloads, 'kernels.unsloth': true, 'kernels.compileParts': true }), plain);
    assert.equal(resting({ ...offloads, 'kernels.unsloth': true, 'kernels.uncompiled': true }), plain);
    assert.equal(resting({ ...CHECKPOINTED, 'kernels.unsloth': true }), plain);
  });
});

describe('functions of Unsloth for layers with adapters (`kernels/fast_lora.py`, `save_for_backward`)', () => {
  const ALL = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];
  const FUSED: RunValues = { ...UNSLOTH, 'lora.targets': ALL, 'kernels.lora': ['mlp', 'qkv', 'output'] };
  const { hidden_size: hidden, intermediate_size: inner } = SMALL_LLAMA as {
    hidden_size: number;
    intermediate_size: number;
  };

  /** Bytes that a token keeps in a layer, by the operations that keep them. */
  const keptBy = (values: RunValues, name: RegExp, model = SMALL_LLAMA) => {
    const layer = traceRun(aModel(model), aRun(values)).find(({ stage }) => stage.role === 'layer');
    const kept = new Map(layer?.tape.operations.flatMap(({ saves }) => saves).map((one) => [one, one.bytes]));
    return (
      [...kept].filter(([one]) => name.test(one.name)).reduce((sum, [, bytes]) => sum + bytes, 0) / (4 * 512)
    );
  };

  it('keep the gate and up, no product of them and no factor', () => {
    assert.equal(keptBy(FUSED, /lora_mlp/), 2 * 2 * inner);
    assert.equal(keptBy(FUSED, /lora_[AB]|glu/), 0);
    assert.ok(keptBy({ ...FUSED, 'kernels.lora': [] }, /glu/) > 0);
  });

  it('keep a mask of dropout for each layer, and not what it leaves', () => {
    const added = (name: RegExp) => keptBy({ ...FUSED, 'lora.dropout': 0.1 }, name) - keptBy(FUSED, name);
    assert.equal(added(/lora_mlp/), 2 * hidden + inner);
    assert.equal(added(/./), 2 * hidden + inner + 4 * hidden);
  });

  it('are none of layers with biases', () => {
    const qwen = { ...SMALL_LLAMA, model_type: 'qwen2', num_key_value_heads: 32 };
    assert.equal(keptBy(FUSED, /q_proj\.lora_A/, qwen) > 0, true);
    assert.equal(keptBy(FUSED, /lora_mlp/, qwen), 2 * 2 * inner);
  });
});
