import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const FLAGS = `algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=512 \\
  actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
  actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=1\n`;
const analyze = (start: string, files: Record<string, string> = {}, flags = FLAGS) =>
  smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100}\n',
    ...files,
    'examples/run.sh': `${start} ${flags}`,
  }).analyze('examples/run.sh');
const noteOf = ({ resolved }: Awaited<ReturnType<typeof analyze>>, field: 'batch.packed' | 'parallel.data') =>
  resolved.origins[field]?.note ?? '';
const unread = ({ unread: left = [] }: Awaited<ReturnType<typeof analyze>>) => left.map(({ text }) => text);

const SPLIT = `import hydra

@hydra.main(config_path="config", config_name="ppo_trainer_split", version_base=None)
def main(config):
    pass
`;
const YAML = `actor_rollout_ref:
  model: {path: ~/models/x, enable_gradient_checkpointing: false, use_remove_padding: False}
  actor: {strategy: fsdp, ppo_mini_batch_size: 256, ppo_micro_batch_size_per_gpu: null, use_dynamic_bsz: False}
  rollout: {name: vllm, gpu_memory_utilization: 0.5, tensor_model_parallel_size: 4}
critic: {ppo_micro_batch_size_per_gpu: null}
algorithm: {adv_estimator: gae}
trainer: {n_gpus_per_node: 8, nnodes: 1}
`;

describe("launches of verl's trainers and of others", () => {
  it('takes the defaults of a config that the code of another script names', async () => {
    const run = await analyze('python3 main_ppo_split.py', {
      'examples/main_ppo_split.py': SPLIT,
      'examples/config/ppo_trainer_split.yaml': YAML,
    });
    const { values, origins } = run.resolved;
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-7B-Instruct');
    assert.equal(values['batch.packed'], false);
    assert.equal(values['activations.checkpointing'], 'none');
    assert.equal(values['rollout.tensor'], 4);
    assert.equal(origins['batch.packed']?.kind, 'linked-file');
    assert.equal(run.estimate?.verdict, 'unknown');
    assert.deepEqual(unread(run), ['main_ppo_split.py']);
  });

  it('states defaults of verl as borrowed where such a config is not here', async () => {
    for (const start of [
      'python3 main_ppo_split.py',
      'python3 -m recipe.spin.main_spin',
      'python -m my.trainer',
    ]) {
      const run = await analyze(start);
      assert.match(noteOf(run, 'batch.packed'), /taken from verl's own config/, start);
      assert.equal(run.estimate?.verdict, 'unknown', start);
    }
    const named = await analyze(
      'python3 -m verl.trainer.main_ppo --config-path=/conf --config-name=own_grpo',
    );
    assert.match(noteOf(named, 'batch.packed'), /taken from verl's own config: that of `own_grpo`/);
    assert.deepEqual(unread(named), ['own_grpo.yaml']);
    // Nobody states whether adapters train, nor what is checkpointed or offloaded.
    assert.equal(named.estimate?.verdict ?? 'unknown', 'unknown');
    assert.ok(named.resolved.unknown.some(({ field }) => field === 'method.kind'));
    assert.ok(!isOwnTrainer(named));
  });

  it('knows the configs of verl itself by their names', async () => {
    for (const start of [
      'python3 -m verl.trainer.main_ppo',
      'python3 verl/trainer/main_ppo.py',
      'python3 -m verl.trainer.main_ppo --config-path=./config --config-name=ppo_trainer.yaml',
      'python3 -m recipe.dapo.main_dapo',
    ]) {
      const run = await analyze(start);
      assert.match(noteOf(run, 'batch.packed'), /^verl default/, start);
      assert.deepEqual(unread(run), [], start);
      assert.notEqual(run.estimate?.verdict, 'unknown', start);
    }
    const core = await analyze(
      "python3 -m verl.trainer.main_ppo --config-path=config --config-name='ppo_megatron_trainer.yaml'",
    );
    assert.equal(core.resolved.values['model.code'], 'megatron');
    assert.deepEqual(unread(core), []);
  });

  it("takes the defaults of verl's own config where the repository holds it", async () => {
    const run = await analyze('python3 -m verl.trainer.main_ppo', {
      'verl/trainer/config/ppo_trainer.yaml': `defaults:
  - actor@actor_rollout_ref.actor: dp_actor
  - _self_
actor_rollout_ref:
  model: {path: ~/models/x, use_remove_padding: false}
  rollout: {name: vllm, n: 1, tensor_model_parallel_size: 8}
data: {max_prompt_length: 512, max_response_length: 512}
algorithm: {adv_estimator: gae}
trainer: {n_gpus_per_node: 8, nnodes: 1}
`,
      'verl/trainer/config/actor/dp_actor.yaml':
        'strategy: fsdp2\nppo_mini_batch_size: 64\nuse_dynamic_bsz: ${oc.select:actor_rollout_ref.nowhere,false}\n',
    });
    const { values } = run.resolved;
    assert.equal(values['batch.packed'], false);
    assert.equal(values['rollout.tensor'], 8);
    assert.equal(values['parallel.data'], 'fsdp2');
    assert.equal(values['batch.global'], 64);
    assert.equal(values['batch.micro'], 4);
  });

  it('finds a folder that is named by where the launch starts, and leaves what its parts state in blocks of their own to the whole', async () => {
    const run = await analyze(
      'CONFIG_PATH="$(pwd)/examples/config"\npython3 -m verl.trainer.main_ppo --config-path="$CONFIG_PATH" --config-name=multiturn',
      {
        'examples/config/multiturn.yaml': `${YAML}defaults: [critic@critic: dense, _self_]\n`,
        'examples/config/critic/dense.yaml':
          'cliprange_value: 0.5\nmodel: {enable_gradient_checkpointing: true}\nppo_max_token_len_per_gpu: 32768\n',
      },
    );
    assert.equal(run.resolved.values['rollout.tensor'], 4);
    assert.equal(run.resolved.values['activations.checkpointing'], 'none');
    assert.deepEqual(unread(run), []);
  });

  it('takes the defaults of the release in use', async () => {
    const of = async (release: string, flags = '') => {
      const run = await analyze(`python3 -m verl.trainer.main_ppo ${flags}`, {
        'requirements.txt': `verl==${release}\n`,
      });
      const { values } = run.resolved;
      return [
        values['batch.packed'],
        values['batch.paddingFree'],
        values['loss.implementation'],
        values['rollout.tensor'],
      ];
    };
    assert.deepEqual(await of('0.3.0.post1'), [false, false, 'native', 2]);
    assert.deepEqual(await of('0.6.1'), [false, false, 'in-place', 2]);
    assert.deepEqual(await of('0.7.0'), [true, true, 'in-place', 2]);
    const core = '--config-name=ppo_megatron_trainer';
    assert.equal((await of('0.5.0', core))[3], 1);
    assert.equal((await of('0.6.1', core))[3], 2);
  });

  it("knows what fine-tuning's two trainers assume", async () => {
    const sft = (module: string, flags: string) =>
      analyze(`torchrun --nproc_per_node=8 -m verl.trainer.${module}`, {}, `${flags} data.max_length=2048\n`);
    const older = (await sft('fsdp_sft_trainer', 'model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct')).resolved
      .values;
    assert.equal(older['batch.packed'], false);
    assert.equal(older['parallel.data'], 'fsdp2');
    assert.equal(older['loss.implementation'], 'native');
    assert.equal(older['batch.micro'], 4);
    assert.equal(older['batch.sequence'], 2048);
    const newer = (await sft('sft_trainer', 'model.path=Qwen/Qwen2.5-7B-Instruct')).resolved.values;
    assert.equal(newer['batch.packed'], true);
    assert.equal(newer['batch.sequence'], 8192);
    assert.equal(newer['batch.micro'], 1);
  });
});

const isOwnTrainer = ({ resolved }: Awaited<ReturnType<typeof analyze>>) =>
  resolved.values['features.unmodelled']?.includes('own-trainer') === true;
