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

  const VERL = (type: string) =>
    `actor_rollout_ref: {model: {path: Qwen/Qwen2.5-7B}, actor: {strategy: fsdp, fsdp_config: {model_dtype: ${type}}, ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 2}, rollout: {name: vllm}}
trainer: {n_gpus_per_node: 8, nnodes: 1}
data: {max_prompt_length: 512, max_response_length: 1024, train_batch_size: 64}
`;
  const NEMO = (type: string) =>
    `trainer: {devices: 8, num_nodes: 1, precision: ${type}}
exp_manager: {name: gpt}
model: {micro_batch_size: 2, global_batch_size: 64, tensor_model_parallel_size: 2, encoder_seq_length: 2048, num_layers: 24, hidden_size: 2048, ffn_hidden_size: 8192, num_attention_heads: 16, megatron_amp_O2: true, override_vocab_size: 50304}
`;
  const AUTOMODEL = (type: string, size: string) =>
    `recipe: {_target_: nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction}
step_scheduler: {global_batch_size: 64, local_batch_size: 8, max_steps: 100}
model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.2-1B, torch_dtype: ${type}}
distributed: {_target_: nemo_automodel.components.distributed.fsdp2.FSDP2Manager, dp_size: none, tp_size: ${size}, cp_size: 1}
dataset: {_target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset, seq_length: 512}
optimizer: {_target_: torch.optim.Adam, lr: 1e-5}
`;
  const TITAN = (degree: string) =>
    `[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = ${degree}\n`;
  const PATTERN = (modules: string) =>
    `base_model: meta-llama/Llama-3.1-8B\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 4096\nmicro_batch_size: 1\nadapter: lora\nlora_r: 16\nlora_target_modules: ${modules}\nbf16: true\n`;
  const long = Array.from({ length: 1200 }, (_, index) => `layer${index}`).join('|');
  const FILES: readonly (readonly [what: string, file: string, taken: string, untaken: string])[] = [
    ['the type of verl', 'a.yaml', VERL('bf16'), VERL('zzz_other')],
    ['the precision of NeMo', 'a.yaml', NEMO('bf16'), NEMO('zzz_other')],
    ['the type of Automodel', 'a.yaml', AUTOMODEL('bfloat16', 'none'), AUTOMODEL('zzz_other', 'none')],
    ['a size of Automodel that is a list', 'a.yaml', AUTOMODEL('bfloat16', '1'), AUTOMODEL('bfloat16', '[]')],
    ['a degree of torchtitan that is a word', 'a.toml', TITAN('-1'), TITAN('"all"')],
    ['a pattern that ends early', 'a.yaml', PATTERN('".*mlp.(gate|up)_proj"'), PATTERN('".*mlp.(gate|up"')],
    ['a pattern that is too long', 'a.yaml', PATTERN('".*(q|v)_proj"'), PATTERN(`".*(${long})"`)],
  ];
  for (const [what, file, taken, untaken] of FILES)
    it(`is not the default: ${what}`, async () => {
      assert.ok((await answerOf(file, taken)).verdict);
      assert.deepEqual(await answerOf(file, untaken), { verdict: undefined, errors: 0 });
    });

  it("nor is a plugin's optimizer of ms-swift the one of the Trainer", async () => {
    const full = SWIFT.replace('swift sft', 'NPROC_PER_NODE=8 swift sft --train_type full --deepspeed zero3');
    const verdictOf = async (flags: string) => (await answerOf('run.sh', `${full} ${flags}\n`)).verdict;
    assert.equal(await verdictOf('--optimizer default'), 'fits');
    assert.equal(await verdictOf('--optimizer foo'), 'fits');
    const { analyze } = smallWorkspace({ 'oomlint.yaml': PROJECT, 'run.sh': `${full} --optimizer foo\n` });
    assert.ok((await analyze('run.sh')).unread?.some(({ fields }) => fields?.includes('optimizer.name')));
    const known = smallWorkspace({ 'oomlint.yaml': PROJECT, 'run.sh': `${full} --optimizer muon\n` });
    assert.equal((await known.analyze('run.sh')).resolved.values['optimizer.name'], 'muon');
  });

  it("but T0's lengths of source and target count", async () => {
    const text =
      'trainer: {devices: 8, num_nodes: 1, precision: bf16}\nexp_manager: {name: megatron_t0}\nmodel: {restore_from_path: t5.nemo, tensor_model_parallel_size: 2, data: {train_ds: {micro_batch_size: 4, global_batch_size: 64, max_src_seq_length: 512, max_tgt_seq_length: 128}}}\n';
    const { analyze } = smallWorkspace({ 'oomlint.yaml': PROJECT, 'a.yaml': text });
    const { resolved, unread } = await analyze('a.yaml');
    const { values } = resolved;
    assert.deepEqual(
      [values['batch.sequence'], values['batch.targetSequence'], values['batch.micro'], unread],
      [512, 128, 4, undefined],
    );
  });

  it('words that releases take leave nothing open', async () => {
    assert.ok((await answerOf('run.sh', `${TRL} --fsdp "full_shard auto_wrap"\n`)).verdict);
    assert.ok((await answerOf('run.sh', `${SWIFT} --train_type lora\n`)).verdict);
  });
});
