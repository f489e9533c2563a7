import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { launchScript } from '../../../server/src/dialects/launch-script';
import { assertStates, problemsOf, read, stated } from './reading';

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
    assertStates(reading, {
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
    assertStates(instruct('use_lora: true\nlora_rank: 32\nuse_8bit_optimizer: true\nuse_qlora: true'), {
      'method.kind': 'lora file',
      'lora.rank': '32 file',
      'lora.alpha': '16 default',
      'lora.dropout': '0.1 default',
      'optimizer.name': 'adamw-8bit file',
      'quantization.kind': 'nf4 file',
    });
    assertStates(instruct('dpo_loss_type: dpo_norm\ndpo_beta: 5'), {
      'method.objective': 'dpo file',
      'method.precomputedReference': 'true file',
    });
    assertStates(instruct('dpo_loss_type: simpo'), { 'method.objective': 'simpo file' });
  });

  it('takes blanks as absent, and sees slips of the keyboard', () => {
    assertStates(instruct('use_lora:\nlora_rank:\npacking:'), {
      'method.kind': 'full default',
      'batch.packed': 'false default',
    });
    const [slip] = problemsOf(instruct('gradient_checkpointng: true'));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_checkpointing']);
  });
});

describe("open-instruct's GRPO", () => {
  const script = (flags: string, known = {}) =>
    read(
      'launch-script',
      'file:///w/run.sh',
      `uv run python open_instruct/grpo_fast.py --model_name_or_path Qwen/Qwen3-8B ${flags}\n`,
      known,
    );

  it('trains packed rows under DeepSpeed, with its reference, vLLM on other GPUs', () => {
    const reading = script(
      `--num_learners_per_node 8 8 --pack_length 4096 --response_length 2048 --max_prompt_token_length 2048
       --num_unique_prompts_rollout 32 --num_samples_per_prompt_rollout 16 --deepspeed_stage 3`.replace(
        /\s+/g,
        ' ',
      ),
      { 'hardware.gpus': 16 },
    );
    const expected = {
      framework: 'open-instruct default',
      'model.id': 'Qwen/Qwen3-8B file',
      'method.objective': 'grpo default',
      'batch.micro': '1 default',
      'batch.sequence': '4096 file',
      'batch.packed': 'true default',
      // 512 samples of 4096 tokens are one row each, over 16 GPUs.
      'batch.accumulation': '32 inferred',
      'hardware.gpus': '16 file',
      'hardware.nodes': '2 file',
      'parallel.data': 'zero default',
      'zero.stage': '3 file',
      'zero.hpzPartition': '8 default',
      'precision.scheme': 'deepspeed default',
      'precision.gradientAccumulation': 'fp32 default',
      'activations.checkpointing': 'full default',
      'method.referenceModel': 'true default',
      'rollout.engine': 'vllm-server default',
      'optimizer.implementation': 'fused default',
    } as const;
    for (const [field, value] of Object.entries(expected))
      assert.equal(stated(reading, field as never), value, field);
    assert.deepEqual(reading.problems, []);
  });

  it('generates on the GPU that trains where there is one', () => {
    const reading = script(
      '--single_gpu_mode --vllm_gpu_memory_utilization 0.3 --load_ref_policy false --beta 0.0',
    );
    assert.equal(stated(reading, 'rollout.engine'), 'vllm-colocate file');
    assert.equal(stated(reading, 'hardware.reservedFraction'), '0.3 file');
    assert.equal(stated(reading, 'method.referenceModel'), 'false file');
    assert.equal(stated(reading, 'hardware.gpus'), '1 default');
    assert.deepEqual(reading.problems, []);
  });

  it('reports what the script refuses', () => {
    const codes = (flags: string) => script(flags).problems.map(({ code }) => code);
    assert.deepEqual(codes('--pack_length 1024 --response_length 2048'), ['pack-too-short']);
    assert.deepEqual(codes('--sequence_parallel_size 2 --deepspeed_stage 2'), ['sequence-parallel-stage']);
    assert.deepEqual(codes('--load_ref_policy false'), ['penalty-without-reference']);
  });
});

describe("open-instruct's trainers on OLMo-core", () => {
  it('are not taken for the Trainer, whose flags they share', () => {
    for (const name of ['dpo', 'grpo']) {
      const text = `torchrun --nproc_per_node=8 open_instruct/${name}.py --model_name_or_path gpt2 --per_device_train_batch_size 16 --max_seq_length 16384\n`;
      const document = parseConfig('file:///w/run.sh', text);
      const reading = launchScript.read(document, { known: {} });
      assert.equal(reading.joinsOnly, true, name);
      assert.deepEqual(
        reading.facts.filter(({ field }) => /^(?:batch|model)\./.test(field)),
        [],
        name,
      );
    }
  });
});
