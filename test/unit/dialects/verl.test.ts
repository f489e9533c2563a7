import assert from 'node:assert/strict';
import type { Versions } from '../../../server/src/run/versions';
import { smallWorkspace } from '../workspace/small-workspace';
import { read } from './reading';

const analyze = (path: string, text: string, more: Record<string, string> = {}) =>
  smallWorkspace({ 'oomlint.yaml': 'targets: {gpu: H100}\n', ...more, [path]: text }).analyze(path);
const codes = ({ problems }: { problems: readonly { code: string }[] }) => problems.map(({ code }) => code);

const GRPO = `set -x
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_batch_size=1024 \\
    data.max_prompt_length=512 \\
    data.max_response_length=1024 \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.model.enable_gradient_checkpointing=True \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8 \\
    actor_rollout_ref.actor.use_kl_loss=True \\
    actor_rollout_ref.actor.entropy_coeff=0 \\
    actor_rollout_ref.actor.fsdp_config.param_offload=False \\
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \\
    actor_rollout_ref.rollout.n=5 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=1 "$@"
`;
/** Parameters of Qwen2.5-7B as its card counts them. */
const QWEN_7B = 7_615_616_512;

describe('verl', () => {
  it('does not know whether an engine that is to stay sleeps where no file names the release', async () => {
    const stays = GRPO.replace(
      'rollout.n=5',
      'rollout.n=5 actor_rollout_ref.rollout.free_cache_engine=False',
    );
    const judged = async (files: Record<string, string> = {}) => {
      const { analyze } = smallWorkspace({ 'run.sh': `# oomlint: gpu=H100-SXM5-80GB\n${stays}`, ...files });
      const { resolved } = await analyze('run.sh');
      return [resolved.values['rollout.sleep'], resolved.origins['rollout.sleep']?.orElse];
    };
    // The estimate is over both.
    assert.deepEqual(await judged(), [false, 'true']);
    assert.deepEqual(await judged({ 'requirements.txt': 'verl==0.3.0.post1\n' }), [false, 'true']);
    assert.deepEqual(await judged({ 'requirements.txt': 'verl==0.5.0\n' }), [false, undefined]);
  });

  it('reads a launch of GRPO', async () => {
    const { resolved, dialect, estimate } = await analyze('run.sh', GRPO);
    const { values } = resolved;
    assert.equal(dialect.id, 'launch-script');
    assert.equal(values.framework, 'verl');
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-7B-Instruct');
    assert.equal(values['method.objective'], 'grpo');
    assert.equal(values['method.valueModel'], false);
    assert.equal(values['method.referenceModel'], false);
    assert.equal(values['batch.micro'], 8);
    assert.equal(values['batch.sequence'], 1536);
    assert.equal(values['batch.global'], 1280);
    assert.equal(values['batch.accumulation'], 20);
    assert.equal(values['hardware.gpus'], 8);
    assert.equal(values['parallel.data'], 'fsdp1');
    assert.equal(values['precision.weights'], 'fp32');
    assert.equal(values['precision.compute'], 'bf16');
    assert.equal(values['activations.checkpointing'], 'full');
    assert.equal(values['rollout.engine'], 'vllm-colocate');
    assert.equal(values['rollout.sleep'], true);
    assert.equal(values['rollout.tensor'], 2);
    assert.match(resolved.origins['rollout.tensor']?.note ?? '', /^verl default/);
    assert.equal(values['hardware.reservedFraction'], 0.6);
    assert.equal(values['loss.implementation'], 'in-place');
    // 20 micro batches, each of which reduces its gradients: none lie whole.
    assert.equal(values['fsdp.syncEachBatch'], true);
    assert.ok(estimate);
    const peak = (category: string) => estimate.parts.find((part) => part.category === category)?.bytes ?? 0;
    // fp32 shards and two fp32 moments over eight GPUs, beside padding of the flat weights.
    assert.ok(Math.abs(peak('weights') / ((4 * QWEN_7B) / 8) - 1) < 0.001);
    assert.ok(Math.abs(peak('optimizer-states') / ((8 * QWEN_7B) / 8) - 1) < 0.001);
  });

  it('keeps states on the GPU while it trains, wherever they wait while others use it', async () => {
    const offloaded = GRPO.replace('param_offload=False', 'param_offload=True').replace(
      'optimizer_offload=False',
      'optimizer_offload=True',
    );
    const [plain, away] = [await analyze('run.sh', GRPO), await analyze('run.sh', offloaded)];
    assert.equal(away.resolved.values['rollout.offload'], 'all');
    assert.equal(away.resolved.values['offload.optimizer'], 'none');
    const of = ({ estimate }: typeof away, moment: string) =>
      Math.max(
        ...(estimate?.timeline.filter((point) => point.moment === moment).map(({ bytes }) => bytes) ?? []),
      );
    assert.equal(of(away, 'optimizer-step'), of(plain, 'optimizer-step'));
    // 12 bytes for each weight of an eighth of the model.
    const gone = of(plain, 'generation') - of(away, 'generation');
    assert.ok(Math.abs(gone / ((12 * QWEN_7B) / 8) - 1) < 0.001, String(gone));
  });

  it('fills rows by tokens, shared by the GPUs of Ulysses', async () => {
    const script = GRPO.replace(
      'actor_rollout_ref.actor.use_kl_loss=True',
      'actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24000 actor_rollout_ref.actor.ulysses_sequence_parallel_size=2',
    );
    const { values } = (await analyze('run.sh', script)).resolved;
    assert.equal(values['batch.micro'], 1);
    assert.equal(values['batch.sequence'], 48_000);
    assert.equal(values['parallel.ulysses'], 2);
  });

  it('reads FSDP 2, LoRA and whole offload', async () => {
    const script = GRPO.replace(
      'actor_rollout_ref.actor.use_kl_loss=True',
      'actor_rollout_ref.actor.strategy=fsdp2 actor_rollout_ref.actor.fsdp_config.offload_policy=True actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.model.lora_alpha=32 actor_rollout_ref.actor.entropy_coeff=0.001 actor_rollout_ref.actor.fsdp_config.fsdp_size=4',
    ).replace('actor_rollout_ref.actor.entropy_coeff=0 ', '');
    const { values } = (await analyze('run.sh', script)).resolved;
    assert.equal(values['parallel.data'], 'fsdp2');
    assert.equal(values['offload.optimizer'], 'cpu');
    assert.equal(values['method.kind'], 'lora');
    assert.equal(values['lora.rank'], 32);
    assert.equal(values['parallel.replicate'], 2);
    assert.equal(values['loss.implementation'], 'native');
  });

  it('reads Megatron as what trains', async () => {
    const script = `python3 -m verl.trainer.main_ppo --config-path=config --config-name='ppo_megatron_trainer.yaml' \\
  algorithm.adv_estimator=grpo data.max_prompt_length=1024 data.max_response_length=1024 \\
  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 actor_rollout_ref.actor.ppo_mini_batch_size=64 \\
  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \\
  actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \\
  +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full \\
  +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform \\
  +actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1 \\
  actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=2
`;
    const { resolved, estimate, problems } = await analyze('run.sh', script);
    const { values } = resolved;
    assert.equal(values['model.code'], 'megatron');
    assert.equal(values['precision.scheme'], 'megatron');
    assert.equal(values['parallel.tensor'], 4);
    assert.equal(values['parallel.pipeline'], 2);
    assert.equal(values['parallel.sequence'], true);
    assert.equal(values['parallel.distributedOptimizer'], true);
    assert.equal(values['activations.checkpointing'], 'full');
    assert.equal(values['hardware.gpus'], 16);
    assert.ok(estimate);
    // The config is part of the package.
    assert.ok(!codes({ problems }).includes('missing-file'));
  });

  it('is sure that a run does not fit only where one longest sample is too large', async () => {
    // 160 samples of 1536 tokens are 246 k tokens, and as many logits of 152 k words; responses are shorter for the most part.
    const many = GRPO.replace('ppo_micro_batch_size_per_gpu=8', 'ppo_micro_batch_size_per_gpu=160');
    const { estimate } = await analyze('run.sh', many);
    assert.equal(estimate?.verdict, 'tight');
    const one = await analyze('run.sh', GRPO.replace('per_gpu=8 ', 'per_gpu=1 '));
    assert.equal(estimate?.peak.lowerBytes, one.estimate?.peak.lowerBytes);
    const padded = many.replace(
      'model.enable',
      'model.use_remove_padding=False actor_rollout_ref.model.enable',
    );
    assert.equal((await analyze('run.sh', padded)).estimate?.verdict, 'exceeds');
  });

  it('reads a config of its own, and a launch over it', async () => {
    const config = `actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct}
  actor:
    strategy: fsdp2
    ppo_mini_batch_size: 64
    ppo_micro_batch_size_per_gpu: 4
  rollout: {name: vllm, n: 8}
data: {max_prompt_length: 1024, max_response_length: 3072}
algorithm: {adv_estimator: grpo}
trainer: {n_gpus_per_node: 8, nnodes: 2}
`;
    const alone = await analyze('config/grpo.yaml', config);
    assert.equal(alone.dialect.id, 'verl');
    assert.equal(alone.resolved.values['hardware.gpus'], 16);
    assert.equal(alone.resolved.values['batch.sequence'], 4096);
    const launched = await analyze(
      'run.sh',
      'python3 -m verl.trainer.main_ppo --config-path=/repo/config --config-name=grpo trainer.nnodes=4\n',
      { 'config/grpo.yaml': config },
    );
    assert.equal(launched.resolved.values['hardware.gpus'], 32);
    assert.equal(launched.resolved.values['batch.micro'], 4);
  });

  it('reads supervised fine-tuning', async () => {
    const { values } = (
      await analyze(
        'sft.sh',
        `torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.sft_trainer \\
  data.train_batch_size=128 data.max_length=4096 data.use_dynamic_bsz=True data.max_token_len_per_gpu=16384 \\
  model.path=Qwen/Qwen2.5-7B-Instruct engine.strategy=fsdp2 optim.lr=1e-5\n`,
      )
    ).resolved;
    assert.equal(values['hardware.gpus'], 8);
    assert.equal(values['parallel.data'], 'fsdp2');
    assert.equal(values['batch.sequence'], 16_384);
    assert.equal(values['batch.global'], 128);
    assert.equal(values['method.objective'], 'lm');
  });

  it('reports what verl refuses', async () => {
    const config = `actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct, use_remove_padding: false}
  actor: {ulysses_sequence_parallel_size: 2, ppo_micro_batch_size: 8, ppo_micro_batch_size_per_gpu: 8}
`;
    const found = codes(await analyze('x.yaml', config));
    assert.ok(found.includes('two-micro-batches'));
    assert.ok(found.includes('ulysses-with-padding'));
  });

  it('takes both sizes where batches go by tokens, and padded rows beside Ulysses under engines other than FSDP', async () => {
    const found = async (actor: string) =>
      codes(
        await analyze(
          'x.yaml',
          `actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct, use_remove_padding: false}
  actor: {${actor}}
`,
        ),
      ).filter((code) => code === 'two-micro-batches' || code === 'ulysses-with-padding');
    const sizes = 'ppo_micro_batch_size: 8, ppo_micro_batch_size_per_gpu: 8';
    assert.deepEqual(await found(`${sizes}, use_dynamic_bsz: true`), []);
    assert.deepEqual(await found(`${sizes}, use_dynamic_bsz: false`), ['two-micro-batches']);
    assert.deepEqual(await found('strategy: megatron, ulysses_sequence_parallel_size: 2'), []);
  });

  it('refuses Ulysses over padded rows in the releases that check', () => {
    const rl = (actor: string) => `actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct, use_remove_padding: false}
  actor: {${actor}, ppo_micro_batch_size_per_gpu: 8}
`;
    const severities = (text: string, versions: Versions) =>
      read('verl', 'file:///x.yaml', text, {}, versions).problems.flatMap((problem) =>
        problem.code === 'ulysses-with-padding' ? [problem.severity] : [],
      );
    // `trainer/ppo/ray_trainer.py` of 0.4.1 and 0.5.0, `workers/engine/fsdp/transformer_impl.py` of 0.7.0 and 0.8.0.
    for (const [text, from, before] of [
      [rl('strategy: fsdp2, ulysses_sequence_parallel_size: 2'), '0.5.0', '0.4.1'],
      [rl('fsdp_config: {ulysses_sequence_parallel_size: 2}'), '0.8.0', '0.7.0'],
    ] as const) {
      const release = (version: string) => ({ verl: { version, source: 'stated' as const } });
      assert.deepEqual(severities(text, release(from)), ['error']);
      assert.deepEqual(severities(text, release(before)), []);
      assert.deepEqual(severities(text, {}), ['warning']);
    }
    assert.deepEqual(severities(rl('ulysses_sequence_parallel_size: 2'), {}), ['error']);
  });
});
