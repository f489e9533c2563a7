import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const PROJECT = 'targets: { gpu: H100, gpus: 8 }\n';
const MEGATRON =
  'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer --vocab-size 32000';
const TRL =
  'torchrun --nproc_per_node 8 sft.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --max_length 2048 --output_dir o --bf16';
const SWIFT =
  'swift sft --model Qwen/Qwen2.5-7B --dataset a --max_length 2048 --per_device_train_batch_size 1 --torch_dtype bfloat16';
const FACTORY =
  'model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: a\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n';

async function answerOf(file: string, text: string) {
  const { analyze } = smallWorkspace({ 'oomlint.yaml': PROJECT, [file]: text });
  const { estimate, problems } = await analyze(file);
  return {
    verdict: estimate?.verdict,
    errors: problems.filter(({ code, severity }) => code === 'does-not-fit' && severity === 'error').length,
  };
}

/** Flags whose value no release takes: with `open` what they decide is decisive, so that there is no estimate. */
const UNTAKEN: readonly (readonly [command: string, flags: string, open: boolean])[] = [
  [MEGATRON, '--recompute-granularity foo', true],
  [MEGATRON, '--recompute-granularity full --recompute-method foo', false],
  [MEGATRON, '--fp8-format xyz', false],
  [MEGATRON, '--exp-avg-dtype fp7', false],
  [MEGATRON, '--main-grads-dtype int8', false],
  [MEGATRON, '--data-parallel-sharding-strategy foo', true],
  [MEGATRON, '--attention-backend foo', false],
  [MEGATRON, '--normalization foo', false],
  [MEGATRON, '--num-experts 8 --moe-layer-freq [1,x]', false],
  [MEGATRON, '--tensor-model-parallel-size 0', true],
  [TRL, '--fsdp full_shardy', true],
  [TRL, '--fsdp "full_shard offloady"', true],
  [TRL, '--torch_dtype float7', true],
  [SWIFT, '--train_type foo', true],
  [SWIFT, '--train_type full --fsdp foo', true],
  [SWIFT, '--quant_method bnb --quant_bits 1.5', true],
];

describe('a choice that no release takes', () => {
  for (const [command, flags, open] of UNTAKEN)
    it(`is not the default without a word: ${flags}`, async () => {
      const { verdict, errors } = await answerOf('run.sh', `${command} ${flags}\n`);
      if (open) assert.equal(verdict, undefined);
      assert.equal(errors, 0);
    });

  it('nor are bits that the method of quantization does not have, or a method that nobody has', async () => {
    assert.ok((await answerOf('a.yaml', `${FACTORY}quantization_bit: 4\n`)).verdict);
    assert.equal((await answerOf('a.yaml', `${FACTORY}quantization_bit: 5\n`)).verdict, undefined);
    const odd = `${FACTORY}quantization_bit: 4\nquantization_method: foo\n`;
    assert.equal((await answerOf('a.yaml', odd)).verdict, undefined);
  });

  it('nor a list in the place of the block of ZeRO', async () => {
    const zero = (block: string) =>
      `{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "optimizer": {"type": "AdamW"}, "zero_optimization": ${block}}`;
    const project = `${PROJECT}defaults: { model: meta-llama/Llama-3.1-8B, sequence: 2048 }\n`;
    const verdictOf = async (block: string) => {
      const { analyze } = smallWorkspace({ 'oomlint.yaml': project, 'ds.json': zero(block) });
      return (await analyze('ds.json')).estimate?.verdict;
    };
    assert.ok(await verdictOf('{"stage": 3}'));
    assert.equal(await verdictOf('[3]'), undefined);
  });

  it('words that releases take leave nothing open', async () => {
    assert.ok((await answerOf('run.sh', `${TRL} --fsdp "full_shard auto_wrap"\n`)).verdict);
    assert.ok((await answerOf('run.sh', `${SWIFT} --train_type lora\n`)).verdict);
  });
});
