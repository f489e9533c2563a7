import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

async function read(path: string, text: string) {
  const files = { 'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n', [path]: text };
  const analysis = await smallWorkspace(files).analyze(path);
  return {
    layers: analysis.model?.config.num_hidden_layers ?? analysis.model?.config.n_layer,
    changes: analysis.resolved.values['model.changes'],
    values: analysis.resolved.values,
    left: (analysis.reading.unread ?? []).map(({ text: what }) => what),
    analysis,
  };
}

const QWEN = 'Qwen/Qwen3-30B-A3B';

/** A config of each family with these fields over those of the model. */
const CONFIGS: Readonly<Record<string, (fields: string) => readonly [path: string, text: string]>> = {
  axolotl: (fields) => [
    'train.yaml',
    `base_model: ${QWEN}\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 1024\nmicro_batch_size: 1\nbf16: true\noverrides_of_model_config: {${fields}}\n`,
  ],
  verl: (fields) => [
    'train.yaml',
    `actor_rollout_ref:\n  model: {path: ${QWEN}, override_config: {${fields}}}\n  actor: {ppo_micro_batch_size_per_gpu: 1, strategy: fsdp}\n  rollout: {name: vllm}\nalgorithm: {adv_estimator: grpo}\ntrainer: {n_gpus_per_node: 8, nnodes: 1}\n`,
  ],
  'verl, below': (fields) => [
    'train.yaml',
    `actor_rollout_ref:\n  model: {path: ${QWEN}, override_config: {model_config: {${fields}}}}\n  actor: {ppo_micro_batch_size_per_gpu: 1, strategy: fsdp}\n  rollout: {name: vllm}\nalgorithm: {adv_estimator: grpo}\ntrainer: {n_gpus_per_node: 8, nnodes: 1}\n`,
  ],
  'llm-foundry': (fields) => [
    'train.yaml',
    `max_seq_len: 1024\nglobal_train_batch_size: 8\ndevice_train_microbatch_size: 1\nprecision: amp_bf16\nmax_duration: 10ba\nmodel: {name: hf_causal_lm, pretrained_model_name_or_path: ${QWEN}, config_overrides: {${fields}}}\nfsdp_config: {sharding_strategy: FULL_SHARD}\noptimizer: {name: decoupled_adamw}\n`,
  ],
  'nemo-rl': (fields) => [
    'train.yaml',
    `policy:\n  model_name: ${QWEN}\n  train_global_batch_size: 8\n  train_micro_batch_size: 1\n  max_total_sequence_length: 1024\n  precision: bfloat16\n  hf_config_overrides: {${fields}}\n  dtensor_cfg: {enabled: true, tensor_parallel_size: 1}\nsft: {max_num_steps: 10}\ncluster: {gpus_per_node: 8, num_nodes: 1}\n`,
  ],
  automodel: (fields) => [
    'train.yaml',
    `step_scheduler: {local_batch_size: 1, global_batch_size: 8}\nmodel:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_config\n  config: {pretrained_model_name_or_path: ${QWEN}, ${fields}}\noptimizer: {_target_: torch.optim.AdamW}\n`,
  ],
};

describe('fields of the config of a model that a run replaces', () => {
  for (const [family, config] of Object.entries(CONFIGS)) {
    it(`are those of the model that is counted in ${family}`, async () => {
      const { layers, changes, left } = await read(
        ...config('num_hidden_layers: 4, router_aux_loss_coef: 0.0, rope_scaling: {factor: 2.0}'),
      );
      assert.equal(layers, 4);
      assert.deepEqual(changes, { num_hidden_layers: 4 });
      assert.deepEqual(left, []);
    });

    it(`are counted as not understood in ${family} where nobody knows what they make`, async () => {
      const { left, analysis } = await read(...config('num_flux_gates: 4'));
      assert.ok(
        left.some((text) => text.endsWith('num_flux_gates')),
        left.join(),
      );
      assert.equal(analysis.estimate?.verdict ?? 'unknown', 'unknown');
    });
  }

  it('are counted in a launch, too, whose config is not here', async () => {
    const launch = (field: string) =>
      `python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=${QWEN} +actor_rollout_ref.model.override_config.${field}=4 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 trainer.n_gpus_per_node=8 trainer.nnodes=1\n`;
    assert.equal((await read('train.sh', launch('num_hidden_layers'))).layers, 4);
    const { left } = await read('train.sh', launch('num_flux_gates'));
    assert.ok(left.some((text) => text.includes('num_flux_gates')));
  });

  it('are those that a trainer of TRL is given to load its model with', async () => {
    const { layers } = await read(
      'train.py',
      `from trl import SFTConfig, SFTTrainer
SFTTrainer(model="${QWEN}", args=SFTConfig(max_length=1024, model_init_kwargs={"num_hidden_layers": 4}), train_dataset=None).train()
`,
    );
    assert.equal(layers, 4);
  });

  it('are not changed by arguments of the call that loads the model, which are counted as not understood', async () => {
    const [path, text] = CONFIGS.axolotl?.('') ?? ['', ''];
    const { changes, left } = await read(
      path,
      `${text}model_kwargs: {num_hidden_layers: 4, use_cache: false}\n`,
    );
    assert.equal(changes, undefined);
    assert.deepEqual(left, ['model_kwargs.num_hidden_layers']);
  });
});

describe('a model that a script of transformers makes anew', () => {
  const launch = (flags: string) =>
    `torchrun --nproc_per_node 8 run_clm.py ${flags} --tokenizer_name gpt2 --dataset_name wikitext --per_device_train_batch_size 2 --do_train --output_dir out --bf16\n`;

  it('is of the class with its defaults, but for those that are overridden', async () => {
    const { analysis, layers, values } = await read(
      'train.sh',
      launch(
        '--model_type gpt2 --config_overrides n_embd=1024,n_head=16,n_layer=48,scale_attn_weights=false',
      ),
    );
    assert.equal(layers, 48);
    assert.equal(values['precision.weights'], 'fp32');
    assert.equal(values['loading.newWeights'], true);
    assert.equal(analysis.model?.config.n_embd, 1024);
    const plain = await read('train.sh', launch('--model_type gpt2'));
    assert.ok(plain.analysis.model);
  });

  it('is that of the config which is named', async () => {
    const { analysis, values } = await read('train.sh', launch('--config_name Qwen/Qwen2.5-0.5B'));
    assert.equal(analysis.model?.id, 'Qwen/Qwen2.5-0.5B');
    assert.equal(values['loading.newWeights'], true);
  });

  it('is not known where another config goes over a model that is named', async () => {
    const { left } = await read(
      'train.sh',
      launch('--model_name_or_path gpt2 --config_name Qwen/Qwen2.5-0.5B'),
    );
    assert.equal(left.length, 1);
  });
});
