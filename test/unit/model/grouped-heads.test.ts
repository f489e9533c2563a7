import assert from 'node:assert/strict';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun } from '../memory/a-run';

const [BATCH, TOKENS, HEADS, GROUPS] = [3, 64, 8, 2];
const config = (headDim: number) => ({
  model_type: 'qwen3',
  architectures: ['Qwen3ForCausalLM'],
  hidden_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: HEADS,
  num_key_value_heads: GROUPS,
  head_dim: headDim,
  intermediate_size: 512,
  vocab_size: 1000,
  max_position_embeddings: 64,
  hidden_act: 'silu',
});

/** Bytes that a layer keeps, of heads so wide; no mask reaches the attention. */
function kept(transformers: string, values: RunValues = {}, headDim = 32): number {
  const run = aRun({
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'attention.implementation': 'sdpa',
    'batch.micro': BATCH,
    'batch.sequence': TOKENS,
    'version.transformers': transformers,
    // The last that groups no heads in its memory-efficient kernel.
    'version.torch': '2.13',
    ...values,
  });
  const layer = traceRun(aModel(config(headDim)), run).find(({ stage }) => stage.role === 'layer');
  assert.ok(layer);
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += storage.bytes;
  return bytes;
}

/** Keys and values that are there for every head instead of for every group. */
const repeated = (headDim: number, width: number) => BATCH * TOKENS * headDim * (HEADS - GROUPS) * 2 * width;
const FP32: RunValues = { 'precision.weights': 'fp32', 'precision.compute': 'fp32' };

describe('bf16 on cards before Ampere', () => {
  it('keeps all scores, as no fused kernel of SDPA takes it there', () => {
    const scores = BATCH * HEADS * TOKENS * TOKENS * 4;
    for (const mask of [true, false]) {
      const on = (gpu: string, more: RunValues = {}) =>
        kept('4.53.3', { 'attention.mask': mask, 'hardware.gpu': gpu, ...more });
      assert.ok(on('T4') > on('L4') + scores);
      const mixed: RunValues = { 'precision.weights': 'fp32', 'precision.scheme': 'autocast' };
      assert.ok(on('T4', mixed) > on('L4', mixed) + scores);
      for (const same of [
        { 'attention.implementation': 'eager' },
        { 'precision.weights': 'fp16', 'precision.compute': 'fp16' },
        FP32,
      ] as const)
        if (mask || !('precision.weights' in same)) assert.equal(on('T4', same), on('L4', same));
    }
  });
});

describe('grouped heads without a mask', () => {
  // `integrations/sdpa_attention.py`: `repeat_kv` in every case up to 4.53.3, where nothing masks since (`use_gqa_in_sdpa`).
  it('have repeated keys and values before transformers 4.54', () => {
    assert.equal(kept('4.53.3') - kept('4.54.0'), repeated(32, 2));
    assert.equal(kept('4.40.0'), kept('4.53.3'));
    const masked: RunValues = { 'attention.mask': true };
    assert.equal(kept('4.53.3', masked), kept('4.54.0', masked));
    // FlashAttention takes them as they are.
    const flash: RunValues = { 'attention.implementation': 'flash2' };
    assert.equal(kept('4.53.3', flash), kept('4.54.0', flash));
    // So do layers that Unsloth writes itself.
    const own: RunValues = { 'kernels.unsloth': true };
    assert.equal(kept('4.53.3', own), kept('4.54.0', own));
  });

  it('have them where torch groups none', () => {
    const of = (torch: string) => kept('4.57.1', { 'version.torch': torch });
    assert.equal(of('2.4.1') - of('2.5.0'), repeated(32, 2));
  });

  it('keep all scores in fp32 where they are not repeated: no fused kernel groups them', () => {
    const flash: RunValues = { ...FP32, 'attention.mask': true };
    assert.ok(kept('4.54.0', FP32) > kept('4.53.3', FP32));
    // A mask is kept as a bias of the scores' type.
    assert.ok(kept('4.53.3', FP32) < kept('4.53.3', flash));
  });

  // huggingface/transformers#48633: flash kernels begin with 8.0, and the memory-efficient one groups no heads.
  it('keep all scores on cards before Ampere, whatever the type, but where they are repeated', () => {
    const fp16: RunValues = { 'precision.weights': 'fp16', 'precision.compute': 'fp16' };
    const on = (gpu: string, more: RunValues = {}, transformers = '5.12.0') =>
      kept(transformers, { ...fp16, 'hardware.gpu': gpu, ...more });
    for (const gpu of ['T4', 'V100-SXM2-16GB']) {
      assert.ok(on(gpu) > on('L4') + BATCH * HEADS * TOKENS * TOKENS * 4, gpu);
      const masked: RunValues = { 'attention.mask': true };
      assert.equal(on(gpu, masked), on('L4', masked));
      assert.equal(on(gpu, {}, '4.53.3'), on('L4', {}, '4.53.3'));
    }
    // Layers of Unsloth run xFormers there.
    const own: RunValues = { 'kernels.unsloth': true };
    assert.equal(on('T4', own), on('L4', own));
  });

  // `kernel_forward.h` of the wheels 2.13.0 and 2.14.1: `q_heads_per_kv`.
  it('keep none with torch 2.14, whose memory-efficient kernel groups them, but on AMD', () => {
    const of = (torch: string, gpu: string, values: RunValues) =>
      kept('5.12.0', { 'version.torch': torch, 'hardware.gpu': gpu, ...values }, values === FP32 ? 32 : 512);
    const scores = BATCH * HEADS * TOKENS * TOKENS * 4;
    for (const values of [FP32, {}]) {
      const before = of('2.13.0', 'H100-SXM5-80GB', values);
      assert.ok(before - of('2.14.0', 'H100-SXM5-80GB', values) >= scores / 2);
      assert.equal(of('2.14.0', 'MI300X', values), before);
    }
  });

  it('of more than 256 dimensions are multiplied out before transformers 5.13, and repeated since', () => {
    const scores = BATCH * HEADS * TOKENS * TOKENS * 2;
    assert.ok(kept('5.12.0', {}, 512) >= kept('5.13.0', {}, 512) - repeated(512, 2) + scores);
    assert.equal(kept('5.12.0', {}, 256), kept('5.13.0', {}, 256));
    assert.equal(kept('5.13.0', {}, 512), kept('4.53.3', {}, 512));
  });

  // `kernels/large_head_attention.py`: it keeps what goes in, its result, and a number per row.
  it('of 512 dimensions keep no scores in a kernel of Unsloth, on cards and in types that it is for', () => {
    const wide = (gpu: string, values: RunValues = {}) =>
      kept('5.12.0', { 'kernels.unsloth': true, 'hardware.gpu': gpu, ...values }, 512);
    const own: RunValues = { 'kernels.wideHeads': true };
    const flash: RunValues = { 'attention.implementation': 'flash2' };
    assert.equal(wide('A100-SXM4-80GB', own), wide('A100-SXM4-80GB', flash));
    assert.ok(wide('A100-SXM4-80GB', own) < wide('A100-SXM4-80GB'));
    for (const gpu of ['T4', 'MI300X']) assert.equal(wide(gpu, own), wide(gpu));
    assert.equal(wide('A100-SXM4-80GB', { ...own, ...FP32 }), wide('A100-SXM4-80GB', FP32));
    // Operator by operator it reads the mask; a compiled graph leaves the call to SDPA.
    const masked: RunValues = { 'attention.mask': true };
    assert.ok(wide('A100-SXM4-80GB', { ...own, ...masked }) < wide('A100-SXM4-80GB', masked));
    const compiled: RunValues = { ...masked, 'kernels.compile': true };
    assert.equal(wide('A100-SXM4-80GB', { ...own, ...compiled }), wide('A100-SXM4-80GB', compiled));
  });

  it('keep all scores where layers ask SDPA for groups under a mask', () => {
    const masked = (values: RunValues = {}) => kept('4.56.2', { 'attention.mask': true, ...values });
    const scores = BATCH * HEADS * TOKENS * TOKENS * 4;
    assert.ok(masked({ 'attention.groupsMasked': true }) >= masked() - repeated(32, 2) + scores);
    const plain = (values: RunValues = {}) => kept('4.56.2', values);
    assert.equal(plain({ 'attention.groupsMasked': true }), plain({ 'attention.implementation': 'flash2' }));
  });

  it('see the samples of a row that a mask keeps apart as one', () => {
    const rows = (values: RunValues) =>
      kept('4.56.2', { 'attention.mask': true, 'attention.groupsMasked': true, ...values });
    const scores = BATCH * HEADS * TOKENS * TOKENS * 4;
    // One sample has no copies of queries and keys, which a product folds into one dimension with the heads.
    const folded = 2 * BATCH * TOKENS * HEADS * 32 * 4;
    assert.ok(rows({ 'batch.paddingFree': true }) >= rows({}) + (BATCH - 1) * scores - folded);
    // A kernel that keeps them apart has no mask.
    const apart: RunValues = { 'attention.mask': false, 'attention.implementation': 'flash2' };
    assert.equal(rows({ ...apart, 'batch.paddingFree': true }), rows(apart));
  });
});
