import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const GRPO = `grpo:
  num_prompts_per_step: 64
  num_generations_per_prompt: 32
  max_num_steps: 30
  reward_shaping: {enabled: true, overlong_buffer_length: 128, max_response_length: 2048}
policy:
  model_name: Qwen/Qwen2.5-7B
  train_global_batch_size: 512
  train_micro_batch_size: 1
  max_total_sequence_length: 4096
  dtensor_cfg: {enabled: true, tensor_parallel_size: 2, activation_checkpointing: true}
  megatron_cfg: {enabled: false, freeze_moe_router: true, own_recompute_parts: true}
  generation:
    backend: vllm
    colocated: {enabled: true}
    vllm_cfg: {tensor_parallel_size: 4, gpu_memory_utilization: 0.6, max_num_seqs: 64}
    trtllm_cfg: {max_batch_size: 8}
cluster: {gpus_per_node: 8, num_nodes: 1}
`;
const analysisOf = (text: string) =>
  smallWorkspace({ 'oomlint.yaml': 'targets: {gpu: H100}\n', 'grpo.yaml': text }).analyze('grpo.yaml');

describe('keys of NeMo-RL', () => {
  it('are those of its releases, and what stands in a block that is switched off decides nothing', async () => {
    const { unread = [] } = await analysisOf(GRPO);
    assert.deepEqual(
      unread.map(({ text }) => text),
      [],
    );
    const on = await analysisOf(
      GRPO.replace(
        'activation_checkpointing: true}',
        'activation_checkpointing: true, own_recompute_parts: 2}',
      ),
    );
    assert.deepEqual(
      on.unread?.map(({ text }) => text),
      ['policy.dtensor_cfg.own_recompute_parts'],
    );
  });

  it('state on how many GPUs a copy generates', async () => {
    assert.equal((await analysisOf(GRPO)).resolved.values['rollout.tensor'], 4);
  });
});

describe('the length of a run of NeMo-RL', () => {
  const stepsOf = async (text: string) => (await analysisOf(text)).resolved.values['schedule.steps'];

  it('counts the optimizer steps of each of its steps', async () => {
    assert.equal(await stepsOf(GRPO), 30 * 4);
    assert.equal(
      await stepsOf(GRPO.replace('train_global_batch_size: 512', 'train_global_batch_size: 2048')),
      30,
    );
    const distillation = GRPO.replace('grpo:', 'distillation:').replace(
      'num_prompts_per_step: 64\n  num_generations_per_prompt: 32',
      'num_prompts_per_step: 1024',
    );
    assert.equal(await stepsOf(distillation), 30 * 2);
    assert.equal(await stepsOf(GRPO.replace('grpo:', 'ppo:\n  ppo_epochs: 2')), 30 * 4 * 2);
    assert.equal(await stepsOf(GRPO.replace('grpo:', 'sft:')), 30);
  });

  it('is not known where passes over the data end it', async () => {
    assert.equal(await stepsOf(GRPO.replace('max_num_steps: 30', 'max_num_steps: 1000000')), undefined);
    assert.equal(
      await stepsOf(GRPO.replace('grpo:', 'rm:').replace('max_num_steps: 30', 'max_num_steps: -1')),
      undefined,
    );
  });

  it('name linear layers as Megatron does where Megatron trains', async () => {
    const peft = (names: string) =>
      GRPO.replace('dtensor_cfg: {enabled: true', 'dtensor_cfg: {enabled: false').replace(
        /megatron_cfg: .*/,
        `megatron_cfg: {enabled: true, peft: {enabled: true, dim: 16, alpha: 32, target_modules: [${names}]}}`,
      );
    const trained = async (text: string) => {
      const { problems, estimate } = await analysisOf(text);
      assert.deepEqual(
        problems.filter(({ severity }) => severity !== 'information'),
        [],
      );
      return estimate?.model.trainableParameters;
    };
    // 28 layers, rank 16: q and o of 3584, k and v of 3584 to 512, gate, up and down of 3584 and 18944.
    const attention = 2 * 7168 + 2 * 4096;
    const mlp = 3 * (3584 + 18944);
    assert.equal(
      await trained(peft('linear_qkv, linear_proj, linear_fc1, linear_fc2')),
      28 * 16 * (attention + mlp),
    );
    assert.equal(await trained(peft('linear_qkv, linear_proj')), 28 * 16 * attention);
  });
});
