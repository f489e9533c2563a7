import assert from 'node:assert/strict';
import type { Category } from '../../../server/src/results/estimate';
import { smallWorkspace } from '../workspace/small-workspace';

const PPO = `python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=gae \\
    data.max_prompt_length=512 data.max_response_length=512 \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.gpu_memory_utilization=0.1 \\
    critic.model.path=Qwen/Qwen2.5-7B-Instruct \\
    critic.ppo_micro_batch_size_per_gpu=4 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=1
`;
const analyze = (more = '', files: Record<string, string> = {}) =>
  smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100}\n',
    ...files,
    'run.sh': PPO.replace('trainer.nnodes=1', `trainer.nnodes=1 ${more}`),
  }).analyze('run.sh');
type Analysed = Awaited<ReturnType<typeof analyze>>;
const part = ({ estimate }: Analysed, category: Category) =>
  estimate?.parts.find((each) => each.category === category)?.bytes ?? 0;
const atGeneration = ({ estimate }: Analysed) =>
  estimate?.timeline.find(({ moment }) => moment === 'generation')?.bytes ?? 0;
const OFF = 'param_offload=True critic.model.fsdp_config.optimizer_offload=True';
/** Parameters of Qwen2.5-7B as its card counts them; a head of 152,064 words is not the critic's. */
const POLICY = 7_615_616_512;
const CRITIC = POLICY - 152_064 * 3584;

describe("verl's critic", () => {
  it('holds weights and states of both models, gradients of one', async () => {
    const run = await analyze();
    const { values } = run.resolved;
    assert.equal(values['method.objective'], 'ppo');
    assert.equal(values['method.valueModel'], true);
    const step = values['method.valueStep'];
    // The critic pads until 0.8, and its checkpointing is the policy's.
    assert.deepEqual(step, {});
    const near = (bytes: number, wanted: number) =>
      assert.ok(Math.abs(bytes / wanted - 1) < 0.005, String(bytes / wanted));
    near(part(run, 'weights'), (4 * (POLICY + CRITIC)) / 8);
    near(part(run, 'optimizer-states'), (8 * (POLICY + CRITIC)) / 8);
    assert.equal(run.estimate?.model.totalParameters, POLICY);
    const at = run.estimate?.timeline.filter(({ moment }) => moment === 'optimizer-step') ?? [];
    for (const { parts } of at)
      assert.ok((parts.find(({ category }) => category === 'gradients')?.bytes ?? 0) < (4.01 * POLICY) / 8);
  });

  it('is walked through its own step, and the larger counts', async () => {
    const plain = await analyze();
    const whole = await analyze('critic.model.enable_gradient_checkpointing=False');
    assert.deepEqual(whole.resolved.values['method.valueStep'], { 'activations.checkpointing': 'none' });
    assert.equal(whole.resolved.values['activations.checkpointing'], 'full');
    assert.equal(whole.resolved.origins['method.valueStep']?.kind, 'file');
    assert.ok(part(whole, 'activations') > 5 * part(plain, 'activations'));
    assert.ok(whole.estimate?.notes.some((note) => note.includes('value model needs the most')));
    assert.ok(!plain.estimate?.notes.some((note) => note.includes('value model needs the most')));
    // What is generated does not hang on how the critic trains.
    assert.equal(atGeneration(whole), atGeneration(plain));
  });

  it('has micro batches of its own, by samples and by tokens', async () => {
    const samples = await analyze('critic.ppo_micro_batch_size_per_gpu=64');
    assert.deepEqual(samples.resolved.values['method.valueStep'], { 'batch.micro': 64 });
    const tokens = await analyze('critic.use_dynamic_bsz=True critic.ppo_max_token_len_per_gpu=98304');
    assert.deepEqual(tokens.resolved.values['method.valueStep'], {
      'batch.micro': 1,
      'batch.sequence': 98_304,
    });
    for (const run of [samples, tokens])
      assert.ok(run.estimate?.notes.some((note) => note.includes('value model needs the most')));
    // What the policy does by tokens the critic does, too, with twice as many.
    const both = await analyze('actor_rollout_ref.actor.use_dynamic_bsz=True');
    assert.deepEqual(both.resolved.values['method.valueStep'], { 'batch.sequence': 32_768 });
  });

  it('is away while the policy trains and vLLM generates, and on the GPU in its own step', async () => {
    const plain = await analyze();
    const away = await analyze(`critic.model.fsdp_config.${OFF}`);
    assert.equal(away.resolved.values['method.valueModel'], true);
    assert.equal(away.resolved.values['method.valueOffload'], 'all');
    assert.ok(Math.abs((atGeneration(plain) - atGeneration(away)) / ((12 * CRITIC) / 8) - 1) < 0.01);
    // Its own step has both models, as the policy stays: no less than with both on the GPU.
    assert.equal(part(away, 'weights'), part(plain, 'weights'));
    const both = await analyze(
      `critic.model.fsdp_config.${OFF} actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`,
    );
    assert.ok(part(both, 'optimizer-states') < (8.1 * POLICY) / 8);
    // The critic stays where only the policy waits for vLLM.
    const alone = await analyze(
      'actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True',
    );
    assert.ok(Math.abs((atGeneration(plain) - atGeneration(alone)) / ((12 * POLICY) / 8) - 1) < 0.01);
  });

  it('trains in full beside a policy of adapters', async () => {
    const run = await analyze('actor_rollout_ref.model.lora_rank=16');
    assert.equal(run.resolved.values['method.kind'], 'lora');
    assert.deepEqual(run.resolved.values['method.valueStep'], { 'method.kind': 'full' });
    assert.ok(part(run, 'optimizer-states') > (7.9 * CRITIC) / 8);
  });

  it('leaves the verdict open where it is another model, or a reward model lies beside it', async () => {
    const other = await analyze('critic.model.path=Qwen/Qwen2.5-0.5B-Instruct');
    assert.equal(other.estimate?.verdict, 'unknown');
    const same = await analyze('critic.model.path=~/models/Qwen2.5-7B-Instruct');
    assert.notEqual(same.estimate?.verdict, 'unknown');
    const scored = await analyze(
      'reward_model.enable=True reward_model.model.path=sfairXC/FsfairX-LLaMA3-RM-v0.1',
    );
    assert.deepEqual(scored.resolved.values['features.unmodelled'], ['reward-model']);
    const away = await analyze('reward_model.enable=True reward_model.model.fsdp_config.param_offload=True');
    assert.deepEqual(away.resolved.values['features.unmodelled'], []);
  });

  it('pads in releases before 0.8', async () => {
    const of = async (release: string) => {
      const { values } = (await analyze('', { 'requirements.txt': `verl==${release}\n` })).resolved;
      return [values['batch.packed'], values['method.valueStep']];
    };
    assert.deepEqual(await of('0.6.1'), [false, {}]);
    assert.deepEqual(await of('0.7.0'), [true, { 'batch.packed': false, 'batch.paddingFree': false }]);
    assert.deepEqual(await of('0.8.0'), [true, {}]);
  });

  it('is split as the policy is under Megatron', async () => {
    const run = await analyze(
      'actor_rollout_ref.actor.strategy=megatron critic.strategy=megatron actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 critic.megatron.tensor_model_parallel_size=2',
    );
    assert.equal(run.resolved.values['parallel.tensor'], 4);
    // One process holds both, and the policy has split it by then.
    assert.deepEqual(run.resolved.values['method.valueStep'], {});
    assert.equal(run.resolved.values['batch.packed'], true);
    assert.ok(run.estimate);
  });
});
