import assert from 'node:assert/strict';
import { assertSays, problemsOf, read } from './reading';

const instruct = (more: string) =>
  read(
    'open-instruct',
    'file:///configs/train_configs/sft/default.yaml',
    `model_name_or_path: meta-llama/Llama-3.1-8B
use_flash_attn: true
tokenizer_name: meta-llama/Llama-3.1-8B
use_slow_tokenizer: true
max_seq_length: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 16
learning_rate: 5.0e-06
num_train_epochs: 2
output_dir: /output/
with_tracking: true
checkpointing_steps: epoch
${more}
`,
  );

describe('open-instruct', () => {
  it('reads a full fine-tune', () => {
    const reading = instruct('gradient_checkpointing: true');
    assertSays(reading, {
      framework: 'open-instruct default',
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'method.kind': 'full default',
      'batch.micro': '1 file',
      'batch.accumulation': '16 file',
      'batch.sequence': '4096 file',
      'activations.checkpointing': 'full file',
      'attention.implementation': 'flash2 file',
      'precision.weights': 'bf16 default',
      'precision.scheme': 'autocast default',
      'optimizer.name': 'adamw default',
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads LoRA, 8-bit states and preferences', () => {
    assertSays(instruct('use_lora: true\nlora_rank: 32\nuse_8bit_optimizer: true\nuse_qlora: true'), {
      'method.kind': 'lora file',
      'lora.rank': '32 file',
      'lora.alpha': '16 default',
      'lora.dropout': '0.1 default',
      'optimizer.name': 'adamw-8bit file',
      'quantization.kind': 'nf4 file',
    });
    assertSays(instruct('dpo_loss_type: dpo_norm\ndpo_beta: 5'), {
      'method.objective': 'dpo file',
      'method.precomputedReference': 'true file',
    });
    assertSays(instruct('dpo_loss_type: simpo'), { 'method.objective': 'simpo file' });
  });

  it('takes blanks as absent, and sees slips of the keyboard', () => {
    assertSays(instruct('use_lora:\nlora_rank:\npacking:'), {
      'method.kind': 'full default',
      'batch.packed': 'false default',
    });
    const [slip] = problemsOf(instruct('gradient_checkpointng: true'));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_checkpointing']);
  });
});
