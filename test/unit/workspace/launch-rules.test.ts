import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/** What the families of configs stop on, at the words of a launch. */
async function refused(files: Readonly<Record<string, string>>, path = 'run.sh') {
  const { problems } = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100}\n',
    ...files,
  }).analyze(path);
  const text = files[path] ?? '';
  return problems
    .filter(({ severity }) => severity === 'error')
    .map(({ code, range }) => `${code}: ${text.slice(range.start.character, range.end.character)}`);
}

const OLMO = `run_name: x
model: {d_model: 512, n_heads: 8, n_layers: 8, mlp_ratio: 8, max_sequence_length: 2048, vocab_size: 50280, embedding_size: 50304, init_device: meta, flash_attention: true, rope: true}
optimizer: {name: adamw}
tokenizer: {identifier: x}
save_folder: s
max_duration: 10
global_train_batch_size: 64
device_train_microbatch_size: 2
precision: amp_bf16
fsdp: {wrapping_strategy: by_block, precision: mixed}
`;
const FOUNDRY = `max_seq_len: 2048
model: {name: mpt_causal_lm, init_device: meta, d_model: 512, n_heads: 8, n_layers: 4, vocab_size: 50368, max_seq_len: 2048}
tokenizer: {name: EleutherAI/gpt-neox-20b}
optimizer: {name: decoupled_adamw, lr: 1e-4}
global_train_batch_size: 64
device_train_microbatch_size: 2
max_duration: 10ba
precision: amp_bf16
train_loader: {name: text, dataset: {local: a}}
fsdp_config: {sharding_strategy: FULL_SHARD}
`;
const NEMO_RL =
  'policy: {model_name: Qwen/Qwen2.5-7B, train_global_batch_size: 64, train_micro_batch_size: 1, max_total_sequence_length: 512, dynamic_batching: {enabled: true}, sequence_packing: {enabled: false}}\ngrpo: {num_prompts_per_step: 8}\ncluster: {gpus_per_node: 8, num_nodes: 1}\n';
const AUTOMODEL =
  'recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler: {global_batch_size: 32, local_batch_size: 4}\nmodel: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: Qwen/Qwen2.5-7B}\ndistributed: {strategy: fsdp2, tp_size: 1, cp_size: 1}\noptimizer: {_target_: torch.optim.AdamW, lr: 1e-5}\n';
const NEMO = `name: gpt
trainer: {devices: 8, num_nodes: 1, precision: bf16}
model:
  micro_batch_size: 2
  global_batch_size: 64
  tensor_model_parallel_size: 1
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 4
  hidden_size: 512
  num_attention_heads: 8
  optim: {name: fused_adam}
`;

describe('values that a launch puts over a config', () => {
  const OLMO_RUN = 'torchrun --nproc_per_node=8 scripts/train.py configs/a.yaml --run_name=y --save_folder=z';
  const table: readonly (readonly [name: string, files: Record<string, string>, run: string, bad: string])[] =
    [
      ['OLMo', { 'configs/a.yaml': OLMO }, `${OLMO_RUN} --global_train_batch_size=`, '63'],
      [
        'llm-foundry',
        { 'a.yaml': FOUNDRY },
        'composer -n 8 train/train.py a.yaml global_train_batch_size=',
        '63',
      ],
      [
        'NeMo Automodel',
        { 'a.yaml': AUTOMODEL },
        'automodel --nproc-per-node 8 a.yaml --step_scheduler.global_batch_size ',
        '33',
      ],
      [
        'NeMo',
        { 'conf/gpt.yaml': NEMO },
        'python megatron_gpt_pretraining.py --config-path=conf --config-name=gpt trainer.accumulate_grad_batches=',
        '4',
      ],
    ];
  for (const [name, files, run, bad] of table)
    it(`meet the rules of ${name} there`, async () => {
      const [found, ...others] = await refused({ ...files, 'run.sh': `${run}${bad}\n` });
      assert.match(found ?? '', new RegExp(`: ${bad}$`));
      assert.deepEqual(others, []);
      // Of a value that is given twice the last counts: one message.
      const flag = run.split(/\s(?=\S+[= ]?$)/).at(-1) ?? '';
      assert.deepEqual(await refused({ ...files, 'run.sh': `${run}${bad} ${flag}${bad}\n` }), [found]);
      const [config = ''] = Object.keys(files);
      assert.deepEqual(await refused({ ...files, 'run.sh': `${run}${bad}\n` }, config), []);
    });

  it('meet them together with the rest of the config', async () => {
    const run = 'uv run examples/run_grpo.py --config c.yaml policy.sequence_packing.enabled=';
    const both = (value: string, config = NEMO_RL) =>
      refused({ 'c.yaml': config, 'run.sh': `${run}${value} policy.dynamic_batching.enabled=true\n` });
    assert.deepEqual(await both('true'), ['packing-with-dynamic-batches: true']);
    assert.deepEqual(await both('false'), []);
  });

  it("meet verl's, whose own config is seldom there", async () => {
    const run =
      'python3 -m verl.trainer.main_ppo --config-path=conf --config-name=c actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.actor.ppo_micro_batch_size=8 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8\n';
    assert.deepEqual(await refused({ 'run.sh': run }), ['two-micro-batches: 8']);
    const tokens = 'actor_rollout_ref: {actor: {use_dynamic_bsz: true}}\n';
    assert.deepEqual(
      await refused({
        'conf/c.yaml': tokens,
        'run.sh': run.replace('-m verl.trainer.main_ppo', 'main_ppo.py'),
      }),
      [],
    );
  });

  it('hide no other value of the line that is none', async () => {
    const found = await refused({
      'a.yaml': FOUNDRY,
      'run.sh': 'composer -n 8 train/train.py a.yaml global_train_batch_size=63 max_seq_len=abc\n',
    });
    assert.deepEqual(found, ['batch-not-divisible: 63', 'bad-value: abc']);
  });
});
