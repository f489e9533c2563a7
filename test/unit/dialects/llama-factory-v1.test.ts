import assert from 'node:assert/strict';
import { assertStates, complaints, problemsOf, read, refused } from './reading';

const v1 = (text: string, known = {}, name = 'train_sft.yaml') =>
  read('llama-factory-v1', `file:///examples/v1/${name}`, text, known);

const FULL = `
model: Qwen/Qwen3-0.6B
model_class: llm
kernel_config: {name: auto}
quant_config: null
dist_config:
  name: fsdp2
  dcp_path: null
train_dataset: data/v1_sft_demo.yaml
output_dir: outputs/test_fsdp2
micro_batch_size: 2
cutoff_len: 4096
learning_rate: 1.0e-4
max_steps: 10
`;

const QLORA = `
model: Qwen/Qwen3-4B
model_class: llm
peft_config: {name: lora, r: 16, lora_alpha: 32, target_modules: all}
quant_config: {name: bnb, quantization_bit: 4}
dist_config: {name: deepspeed, config_file: examples/deepspeed/ds_z3_config.json}
train_dataset: data/v1_sft_demo.yaml
global_batch_size: 64
micro_batch_size: "2"
flash_attn: flash_attention_2
batching_strategy: padding_free
`;

describe('LLaMA-Factory v1', () => {
  it('reads a full fine-tune under FSDP 2', () => {
    const reading = v1(FULL);
    assertStates(reading, {
      'model.id': 'Qwen/Qwen3-0.6B file',
      'method.kind': 'full default',
      'batch.micro': '2 file',
      'batch.accumulation': '1 default',
      'batch.sequence': '4096 file',
      'batch.packed': 'false default',
      'parallel.data': 'fsdp2 file',
      'precision.weights': 'fp32 default',
      'precision.compute': 'bf16 default',
      'precision.scheme': 'fsdp default',
      'precision.reduce': 'fp32 default',
      'activations.checkpointing': 'full default',
      'activations.reentrant': 'false default',
      'attention.implementation': 'sdpa default',
      'optimizer.name': 'adamw default',
      'schedule.steps': '10 file',
      'quantization.kind': undefined,
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads QLoRA under DeepSpeed', () => {
    const reading = v1(QLORA, { 'hardware.gpus': 8 });
    assertStates(reading, {
      'method.kind': 'lora file',
      'lora.rank': '16 file',
      'lora.dropout': '0.05 default',
      'lora.targets': 'all-linear file',
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true default',
      'quantization.storage': 'fp16 default',
      'parallel.data': 'zero file',
      'batch.micro': '2 file',
      'batch.global': '64 file',
      'batch.accumulation': '4 inferred',
      'batch.packed': 'true file',
      'attention.implementation': 'flash2 file',
    });
    assert.deepEqual(
      reading.links.map(({ role, path }) => [role, path]),
      [['deepspeed', 'examples/deepspeed/ds_z3_config.json']],
    );
  });

  it('keeps a reference for DPO, which the name of the file tells', () => {
    assertStates(v1(FULL, {}, 'train_full_dpo.yaml'), {
      'method.objective': 'dpo inferred',
      'method.referenceModel': 'true inferred',
    });
    assertStates(v1(QLORA, {}, 'train_lora_dpo.yaml'), { 'method.referenceModel': 'false inferred' });
  });

  it('lowers no precision without FSDP, and reads offload, Muon and Ulysses', () => {
    assertStates(v1(FULL.replace('name: fsdp2', 'name:')), {
      'parallel.data': 'ddp default',
      'precision.compute': 'fp32 default',
      'precision.scheme': 'native default',
    });
    assertStates(
      v1(
        `${FULL.replace('name: fsdp2', 'name: fsdp2\n  offload_params: true\n  reshard_after_forward: false')}cp_size: 2\noptim_config: {name: muon}\nbf16: false\n`,
      ),
      {
        'offload.parameters': 'cpu file',
        'fsdp.strategy': 'grad-op file',
        'parallel.ulysses': '2 file',
        'optimizer.name': 'muon file',
        'precision.compute': 'fp32 file',
      },
    );
  });

  it('stops at batches that do not divide, and at dynamic batches without steps', () => {
    assert.deepEqual(complaints(v1(QLORA, { 'hardware.gpus': 24 }), QLORA, 'error'), [
      'batch-not-divisible: global_batch_size: 64',
    ]);
    assert.deepEqual(refused(v1(QLORA, { 'hardware.gpus': 8 })), []);
    const dynamic = QLORA.replace('padding_free', 'dynamic_batching');
    assert.deepEqual(complaints(v1(dynamic), dynamic, 'error'), [
      'missing-steps: batching_strategy: dynamic_batching',
    ]);
    assert.deepEqual(refused(v1(`${dynamic}max_steps: 5\n`)), []);
  });

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(v1(`${FULL}micro_batch_sizes: 2\n`));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'micro_batch_size']);
  });
});
