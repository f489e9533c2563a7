import assert from 'node:assert/strict';
import { assertStates, complaints, factOf, problemsOf, read, refused } from './reading';

const nanotron = (text: string) => read('nanotron', 'file:///examples/config_llama.yaml', text);

const LLAMA = `
general: {project: debug, run: tiny, seed: 42}
model:
  dtype: bfloat16
  make_vocab_size_divisible_by: 128
  init_method: {std: 0.025}
  model_config:
    is_llama_config: true
    hidden_size: 2048
    intermediate_size: 8192
    num_hidden_layers: 16
    num_attention_heads: 32
    num_key_value_heads: 8
    vocab_size: 50257
    max_position_embeddings: 4096
    tie_word_embeddings: true
optimizer:
  accumulate_grad_in_fp32: true
  clip_grad: 1.0
  zero_stage: 1
  optimizer_factory:
    name: adamW
    torch_adam_is_fused: true
parallelism:
  dp: 4
  tp: 2
  pp: 2
  pp_engine: 1f1b
  tp_mode: REDUCE_SCATTER
  tp_linear_async_communication: true
tokens:
  micro_batch_size: 2
  batch_accumulation_per_replica: 8
  sequence_length: 2048
  train_steps: 1000
  val_check_interval: -1
`;

describe('nanotron', () => {
  it('reads the size of the buckets that are reduced', () => {
    const stated = LLAMA.replace('model:\n', 'model:\n  ddp_bucket_cap_mb: 40\n');
    assert.notEqual(stated, LLAMA);
    assertStates(nanotron(stated), { 'ddp.bucketCap': `${40 * 2 ** 20} file` });
  });

  it('reads a config, and counts the GPUs', () => {
    const reading = nanotron(LLAMA);
    assertStates(reading, {
      'hardware.gpus': '16 file',
      'parallel.tensor': '2 file',
      'parallel.pipeline': '2 file',
      'parallel.pipelineSchedule': '1f1b file',
      'parallel.sequence': 'true file',
      'parallel.data': 'ddp default',
      'parallel.distributedOptimizer': 'true file',
      'precision.weights': 'bf16 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'megatron default',
      'precision.gradientAccumulation': 'fp32 file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused file',
      'batch.micro': '2 file',
      'batch.accumulation': '8 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'true default',
      'schedule.steps': '1000 file',
      'evaluation.enabled': 'false file',
      'activations.checkpointing': 'none default',
      'loss.implementation': 'vocab-parallel default',
    });
    assert.deepEqual(problemsOf(reading), []);
    const config = factOf(reading, 'model.config')?.value as Readonly<Record<string, unknown>>;
    // 50257 words, padded to a multiple of 128 on each of 2 GPUs.
    assert.deepEqual([config.model_type, config.vocab_size], ['llama', 50_432]);
  });

  it('has defaults of its own', () => {
    assertStates(
      nanotron(
        'model: {model_config: {hidden_size: 8}}\nparallelism: {dp: 1, tp: 1, pp: 1}\ntokens: {sequence_length: 8}\n',
      ),
      {
        'hardware.gpus': '1 file',
        'parallel.pipelineSchedule': 'gpipe default',
        'parallel.context': '1 default',
        'parallel.sequence': 'false default',
        'optimizer.name': 'adamw default',
        'precision.scheme': 'native default',
      },
    );
  });

  it('reads experts in the names of Qwen', () => {
    const reading = nanotron(
      LLAMA.replace(
        'is_llama_config: true',
        'is_qwen2_config: true\n    moe_config: {num_experts: 8, top_k: 2, moe_intermediate_size: 1024}',
      ),
    );
    const config = factOf(reading, 'model.config')?.value as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [config.model_type, config.num_experts, config.num_experts_per_tok, config.moe_intermediate_size],
      ['qwen3_moe', 8, 2, 1024],
    );
  });

  it('estimates no model whose sizes have names of their own', () => {
    const reading = nanotron(LLAMA.replace('is_llama_config', 'is_starcoder2_config'));
    assert.equal(factOf(reading, 'model.config'), undefined);
    assert.deepEqual(
      (reading.unread ?? []).map(({ kind, text }) => [kind, text]),
      [['refused', 'is_starcoder2_config']],
    );
  });

  it('recomputes whole layers where asked to', () => {
    assertStates(nanotron(LLAMA.replace('  tp: 2\n', '  tp: 2\n  recompute_layer: true\n')), {
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'true default',
    });
  });

  it('stops at heads that cannot be shared', () => {
    for (const [code, from, to] of [
      ['heads-not-divisible', 'num_attention_heads: 32', 'num_attention_heads: 33'],
      ['too-few-kv-heads', 'num_key_value_heads: 8', 'num_key_value_heads: 1'],
      ['kv-heads-not-divisible', 'num_key_value_heads: 8', 'num_key_value_heads: 6'],
    ] as const) {
      const text = LLAMA.replace(from, to);
      assert.ok(complaints(nanotron(text), text, 'error').includes(`${code}: ${to}`), code);
    }
    assert.deepEqual(refused(nanotron(LLAMA)), []);
  });
});
