import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/** `No available memory for the cache blocks` (vLLM 0.12.0, `v1/core/kv_cache_utils.py`): its share holds the weights first. */
describe('the share of vLLM on the GPUs that train', () => {
  const judged = async (files: Record<string, string>, name = 'a.yaml', gpus = 1) => {
    const { estimate, problems } = await smallWorkspace({
      'oomlint.yaml': `gpu: H100-SXM5-80GB\ngpus: ${gpus}\nsequence: 512\n`,
      ...files,
    }).analyze(name);
    const problem = problems.find(({ code }) => code === 'engine-share');
    return { problem, outcome: [problem?.severity, estimate !== undefined] };
  };
  const trl = (more: string, model = 'Qwen/Qwen2.5-14B-Instruct') =>
    `model_name_or_path: ${model}\nnum_generations: 8\nmax_completion_length: 256\nper_device_train_batch_size: 8\nbf16: true\nuse_peft: true\nuse_vllm: true\nvllm_mode: colocate\n${more}`;

  it('is an error where it does not hold the weights, which leaves no estimate', async () => {
    const { problem, outcome } = await judged({ 'a.yaml': trl('vllm_gpu_memory_utilization: 0.3\n') });
    assert.deepEqual(outcome, ['error', false]);
    // 14.77 billion weights of two bytes beside 0.3 of 79.1 GiB.
    assert.match(problem?.message ?? '', /27\.5 GiB.*23\.\d GiB/);
    assert.equal(problem?.range.start.line, 8);
    assert.equal(problem?.data?.share, 0.4);
  });

  it('is a warning where the share is a default of the framework', async () => {
    const { problem, outcome } = await judged({ 'a.yaml': trl('') });
    assert.deepEqual(outcome, ['warning', false]);
    assert.equal(problem?.data?.share, undefined);
  });

  it('holds a part of the weights where GPUs share them', async () => {
    const shared = trl('vllm_gpu_memory_utilization: 0.3\nvllm_tensor_parallel_size: 4\n');
    assert.deepEqual((await judged({ 'a.yaml': shared }, 'a.yaml', 4)).outcome, [undefined, true]);
  });

  it('is none where the weights are fewer, quantized, on other GPUs, or many experts', async () => {
    const share = 'vllm_gpu_memory_utilization: 0.3\n';
    for (const text of [
      trl(share, 'Qwen/Qwen2.5-7B-Instruct'),
      trl(`${share}load_in_4bit: true\n`),
      trl(share).replace('colocate', 'server'),
      trl('vllm_gpu_memory_utilization: 0.5\n'),
      trl('vllm_gpu_memory_utilization: 0.6\nlora_target_modules: [q_proj]\n', 'Qwen/Qwen3-30B-A3B'),
    ])
      assert.deepEqual((await judged({ 'a.yaml': text })).outcome, [undefined, true], text);
  });

  it('is asked of every family whose engine shares the GPUs', async () => {
    const axolotl = (more = '') =>
      `base_model: Qwen/Qwen2.5-14B-Instruct\nrl: grpo\nadapter: lora\nlora_r: 8\nlora_target_linear: true\nmicro_batch_size: 1\nsequence_len: 512\nbf16: true\ntrl:\n  use_vllm: true\n  vllm_mode: colocate\nvllm:\n  gpu_memory_utilization: 0.3\n${more}`;
    assert.equal((await judged({ 'a.yaml': axolotl() })).outcome[0], 'error');
    assert.equal(
      (await judged({ 'a.yaml': axolotl('  tensor_parallel_size: 2\n') }, 'a.yaml', 2)).outcome[0],
      undefined,
    );
    const swift = (more = '') =>
      `swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-14B-Instruct --tuner_type lora --torch_dtype bfloat16 --num_generations 8 --per_device_train_batch_size 8 --max_length 512 --max_completion_length 256 --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.3 ${more}\n`;
    assert.equal((await judged({ 'a.sh': swift() }, 'a.sh')).outcome[0], 'error');
    // Words that may be any flags may be another share.
    const { outcome, problem } = await judged({ 'a.sh': swift('"$@"') }, 'a.sh');
    assert.deepEqual(outcome, ['warning', false]);
    assert.match(problem?.message ?? '', /Not understood: `\$@`/);
    const engine = `--vllm_engine_kwargs '{"quantization": "fp8"}'`;
    assert.equal((await judged({ 'a.sh': swift(engine) }, 'a.sh')).outcome[0], undefined);
    assert.equal(
      (await judged({ 'a.sh': `NPROC_PER_NODE=2 ${swift('--vllm_tensor_parallel_size 2')}` }, 'a.sh'))
        .outcome[0],
      undefined,
    );
    const verl = (more = '') =>
      `python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-14B-Instruct data.train_batch_size=8 data.max_prompt_length=256 data.max_response_length=256 actor_rollout_ref.actor.ppo_mini_batch_size=8 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.gpu_memory_utilization=0.3 algorithm.adv_estimator=grpo trainer.n_gpus_per_node=8 trainer.nnodes=1 ${more}\n`;
    assert.equal((await judged({ 'a.sh': verl() }, 'a.sh')).outcome[0], 'error');
    const smaller = 'actor_rollout_ref.rollout.quantization=fp8';
    assert.equal((await judged({ 'a.sh': verl(smaller) }, 'a.sh')).outcome[0], undefined);
  });
});
