import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { assertStates, complaints, factOf, problemsOf, read, refused, stated } from './reading';

const trl = (text: string, known = {}, name = 'config.yaml') =>
  read('trl', `file:///recipes/${name}`, text, known);

const SFT = `
model_name_or_path: mistralai/Mistral-7B-v0.1
model_revision: main
torch_dtype: bfloat16
attn_implementation: flash_attention_2
dataset_name: HuggingFaceH4/ultrachat_200k
max_length: 2048
packing: true
bf16: true
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
gradient_accumulation_steps: 1
per_device_train_batch_size: 16
learning_rate: 2.0e-05
lr_scheduler_type: cosine
num_train_epochs: 1
output_dir: data/zephyr
`;

const small = (more: string) => `model_name_or_path: a/b
dataset_name: c
learning_rate: 1.0e-5
output_dir: out
${more}
`;

const QLORA = small('use_peft: true\nload_in_4bit: true\nmax_length: 8\nbf16: true');

const REFUSED: readonly (readonly [code: string, more: string, at: string, name?: string])[] = [
  ['two-quantizations', 'use_peft: true\nload_in_8bit: true\nload_in_4bit: true', 'load_in_8bit: true'],
  ['quantized-without-adapter', 'load_in_4bit: true', 'load_in_4bit: true'],
  ['packing-without-length', 'packing: true\nmax_length: null', 'max_length: null', 'sft.yaml'],
  ['two-precisions', 'max_length: 8\nfp16: true\nbf16: true', 'fp16: true'],
  ['unknown-optimizer', 'max_length: 8\noptim: adamw_torch_fusd', 'optim: adamw_torch_fusd'],
  ['too-few-generations', 'num_generations: 1', 'num_generations: 1', 'grpo.yaml'],
  [
    'two-generation-sizes',
    'num_generations: 8\ngeneration_batch_size: 64\nsteps_per_generation: 2',
    'steps_per_generation: 2',
    'grpo.yaml',
  ],
  [
    'generation-groups',
    'num_generations: 14\ngeneration_batch_size: 64',
    'generation_batch_size: 64',
    'grpo.yaml',
  ],
  [
    'auto-batch-generation',
    'num_generations: 8\nauto_find_batch_size: true',
    'auto_find_batch_size: true',
    'grpo.yaml',
  ],
];

const ACCEPTED: readonly (readonly [more: string, name?: string])[] = [
  ['use_peft: true\nload_in_4bit: true'],
  ['packing: true\nmax_length: 1024', 'sft.yaml'],
  ['max_length: 8\nfp16: true\nbf16: false'],
  ['max_length: 8\noptim: adamw_torch_fused'],
  ['num_generations: 8\ngeneration_batch_size: 64', 'grpo.yaml'],
  ['num_generations: 2\nper_device_train_batch_size: 8', 'grpo.yaml'],
];

describe('TRL', () => {
  it('recomputes activations of models that old releases quantized, whatever the arguments ask for', () => {
    const checkpointing = (version: string, more = '', name?: string) =>
      stated(
        trl(`${QLORA}\ngradient_checkpointing: false${more}`, { 'version.trl': version }, name),
        'activations.checkpointing',
      );
    assert.equal(checkpointing('0.4.7'), 'full file');
    assert.equal(checkpointing('0.7.1'), 'full file');
    assert.equal(checkpointing('0.7.2'), 'none file');
    assert.equal(checkpointing('0.7.1', '', 'orpo.yaml'), 'none file');
    assert.equal(stated(trl(QLORA, { 'version.trl': '0.4.7' }), 'activations.checkpointing'), 'full default');
    assert.equal(checkpointing('0.4.7', '', 'reward.yaml'), 'none file');
    assert.equal(checkpointing('0.5.0', '', 'reward.yaml'), 'full file');
    // The name of the model states what its weights are.
    const stored = trl(QLORA.replace('load_in_4bit: true\n', ''), {
      'version.trl': '0.4.7',
      'quantization.kind': 'nf4',
    });
    assert.equal(stated(stored, 'activations.checkpointing'), 'full default');
    const plain = trl(small('use_peft: true\ngradient_checkpointing: false\nmax_length: 8'), {
      'version.trl': '0.4.7',
    });
    assert.equal(stated(plain, 'activations.checkpointing'), 'none file');
  });

  it('knows what becomes of the weights beside quantized ones', () => {
    const preparation = (known: Parameters<typeof trl>[1], text = QLORA) => {
      const reading = trl(text, known);
      const reported = ['quantization.prepared', 'quantization.recast', 'lora.dtype'] as const;
      return reported.map((path) => stated(reading, path));
    };
    assert.deepEqual(preparation({}), [undefined, 'true default', undefined]);
    assert.deepEqual(preparation({ 'version.trl': '0.25.1' }), [undefined, 'true default', undefined]);
    assert.deepEqual(preparation({ 'version.trl': '0.26.0' }), ['false default', undefined, 'bf16 default']);
    assert.deepEqual(preparation({ 'parallel.data': 'fsdp1' }), ['false default', undefined, undefined]);
    const none = [undefined, undefined, undefined];
    // `bf16` was off until 0.19 where nothing asks for it.
    const unasked = QLORA.replace(/bf16: true\n?/, '');
    assert.deepEqual(preparation({ 'version.trl': '0.18.2' }, unasked), none);
    assert.deepEqual(preparation({ 'version.trl': '0.19.0' }, unasked), [
      undefined,
      'true default',
      undefined,
    ]);
    assert.deepEqual(preparation({}, QLORA.replace('bf16', 'fp16')), none);
    assert.deepEqual(preparation({}, QLORA.replace('load_in_4bit', 'load_in_8bit')), none);
  });

  it('leaves them as they are in each trainer since a release of its own', () => {
    const made = (name: string, version: string) => {
      const reading = trl(QLORA, { 'version.trl': version }, `${name}.yaml`);
      const reported = ['quantization.prepared', 'quantization.recast', 'lora.dtype'] as const;
      return reported.map((path) => stated(reading, path)).join(' ');
    };
    const [recast, left, bare] = [' true default ', 'false default  bf16 default', 'false default  '];
    const releases: readonly (readonly [name: string, old: string, fresh: string, before: string])[] = [
      ['sft', '0.25.1', '0.26.0', recast],
      ['reward', '0.25.1', '0.26.0', recast],
      ['rloo', '0.26.2', '0.27.0', recast],
      ['dpo', '0.28.0', '0.29.0', recast],
      ['kto', '1.3.0', '1.4.0', recast],
    ];
    for (const [name, old, fresh, before] of releases)
      assert.deepEqual([made(name, old), made(name, fresh)], [before, left], name);
    for (const name of ['orpo', 'cpo']) assert.equal(made(name, '1.16.0'), recast, name);
    // Casts came after preparation, and at first took the adapters along.
    const along = ' true default bf16 default';
    assert.deepEqual(
      ['0.4.7', '0.7.4', '0.7.5', '0.8.6', '0.9.2'].map((version) => made('sft', version)),
      ['  ', '  ', along, along, recast],
    );
    assert.deepEqual(
      ['0.4.7', '0.5.0', '0.7.7', '0.7.8', '0.9.2'].map((version) => made('dpo', version)),
      [bare, '  ', '  ', along, recast],
    );
    assert.deepEqual(
      ['0.4.7', '0.5.0', '0.8.6'].map((version) => made('reward', version)),
      [bare, '  ', '  '],
    );
    assert.equal(made('kto', '0.8.0'), along);
    assert.deepEqual(
      ['0.21.0', '0.22.2', '0.26.0'].map((version) => made('grpo', version)),
      [bare, recast, left],
    );
    assert.equal(made('reward', '0.21.0'), '  ');
  });

  it('reads a supervised recipe', () => {
    const reading = trl(SFT, {}, 'zephyr/sft/config_full.yaml');
    assertStates(reading, {
      framework: 'trl default',
      'model.id': 'mistralai/Mistral-7B-v0.1 file',
      'method.objective': 'lm inferred',
      'method.kind': 'full default',
      'batch.micro': '16 file',
      'batch.accumulation': '1 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'true file',
      'precision.weights': 'bf16 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'false file',
      'attention.implementation': 'flash2 file',
      'optimizer.name': 'adamw default',
      'parallel.data': 'ddp default',
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('takes the defaults of TRL, not those of the Trainer', () => {
    assertStates(trl(small('max_seq_length: 4096\npacking:')), {
      'batch.micro': '8 default',
      'batch.sequence': '4096 file',
      'activations.checkpointing': 'full default',
      'precision.compute': 'bf16 default',
      'batch.packed': 'false default',
    });
  });

  it('reads QLoRA', () => {
    const reading = trl(
      small(
        'use_peft: true\nload_in_4bit: true\nlora_r: 128\nlora_alpha: 128\nlora_dropout: 0.05\nlora_target_modules: [q_proj, v_proj]',
      ),
    );
    assertStates(reading, {
      'method.kind': 'lora file',
      'lora.rank': '128 file',
      'lora.targets': 'q_proj,v_proj file',
      'quantization.kind': 'nf4 file',
    });
    assert.deepEqual(refused(reading), []);
  });

  it('finds the trainer in the path and in the keys', () => {
    const objective = (more: string, name?: string) =>
      factOf(trl(small(more), {}, name), 'method.objective')?.value;
    assert.equal(objective('beta: 0.1\nmax_length: 8', 'zephyr/dpo/config.yaml'), 'dpo');
    assert.equal(objective('beta: 0.1\nmax_length: 8', 'gemma-orpo.yaml'), 'orpo');
    assert.equal(objective('gamma_beta_ratio: 0.5\nmax_length: 8'), 'simpo');
    assert.equal(objective('num_generations: 4\nbeta: 0.0'), 'grpo');
    assert.equal(objective('desirable_weight: 1.0\nbeta: 0.1'), 'kto');
    assert.equal(objective('center_rewards_coefficient: 0.01\nmax_length: 8'), 'reward');
    assert.equal(objective('max_length: 8\npacking: false'), 'lm');
  });

  it('keeps a reference model where the loss compares and no adapter can be switched off', () => {
    const name = 'dpo.yaml';
    const reference = (more: string, file = name) =>
      factOf(trl(small(more), {}, file), 'method.referenceModel')?.value;
    assert.equal(reference('beta: 0.1\nmax_length: 8'), true);
    assert.equal(reference('beta: 0.1\nuse_peft: true'), false);
    assert.equal(reference('beta: 0.1\nmax_length: 8\nprecompute_ref_log_probs: true'), false);
    assert.equal(reference('beta: 0.1\nmax_length: 8', 'orpo.yaml'), false);
    assert.equal(reference('num_generations: 8\nbeta: 0.0', 'grpo.yaml'), false);
    assert.equal(reference('num_generations: 8\nbeta: 0.04', 'grpo.yaml'), true);
    assert.equal(reference('num_generations: 8\nmax_prompt_length: 8', 'grpo.yaml'), false);
    assert.equal(reference('beta: 0.1\nmax_length: 8', 'kto.yaml'), true);
  });

  it('adds prompt and completion, with the defaults of the version', () => {
    const name = 'grpo.yaml';
    assertStates(
      trl(small('num_generations: 8\nmax_prompt_length: 512\nmax_completion_length: 1024'), {}, name),
      {
        'batch.sequence': '1536 file',
        'rollout.completion': '1024 file',
        'rollout.engine': 'transformers default',
      },
    );
    const unstated = small('num_generations: 8\nbeta: 0.0');
    assertStates(trl(unstated, { 'version.trl': '0.24' }, name), { 'rollout.completion': '256 default' });
    assertStates(trl(unstated, { 'version.trl': '1.16' }, name), { 'rollout.completion': '512 default' });
    assertStates(trl(small('num_generations: 8\nuse_vllm: false\nuse_peft: false'), {}, name), {
      'rollout.engine': 'transformers file',
      'method.kind': 'full file',
    });
    const vllm = small('num_generations: 8\nuse_vllm: true');
    assertStates(trl(vllm, { 'version.trl': '0.24' }, name), { 'rollout.engine': 'vllm-server file' });
    assertStates(trl(vllm, { 'version.trl': '1.16' }, name), {
      'rollout.engine': 'vllm-colocate file',
      'hardware.reservedFraction': '0.3 default',
    });
  });

  it('takes blanks and nulls as absent', () => {
    const reading = trl(small('packing:\nlora_r:\nuse_peft:\ntorch_dtype: null\noptim:\nbf16:'));
    assertStates(reading, { 'method.kind': 'full default', 'optimizer.name': 'adamw default' });
    assert.deepEqual(refused(reading), []);
  });

  for (const [code, more, at, name] of REFUSED)
    it(`stops at ${code} (${at})`, () => {
      const text = small(more);
      assert.deepEqual(complaints(trl(text, {}, name), text, 'error'), [`${code}: ${at}`]);
    });

  for (const [more, name] of ACCEPTED)
    it(`takes ${more.replaceAll('\n', ', ')}`, () =>
      assert.deepEqual(refused(trl(small(more), {}, name)), []));

  it('names keys without effect, and lengths without limit', () => {
    const text = small('lora_r: 8\nlora_alpha: 16\nuse_dora: true\nmax_length: null');
    assert.deepEqual(complaints(trl(text), text, 'warning'), [
      'dead-key: lora_r: 8',
      'missing-length-cap: max_length: null',
    ]);
  });

  it('sees slips of the keyboard, and leaves arguments of scripts alone', () => {
    const [slip, ...more] = problemsOf(
      trl(small('max_length: 8\ngradient_acumulation_steps: 4\nmy_script_argument: 1')),
    );
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_accumulation_steps']);
    assert.deepEqual(more, []);
  });
});

describe('models beside the trained one', () => {
  const reported = (text: string) => {
    const { facts } = read('trl', 'file:///w/recipe.yaml', text);
    const of = (field: string) => facts.find((fact) => fact.field === field)?.value;
    return [of('method.frozenParameters'), of('method.frozenModels')];
  };
  const base =
    'model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\nmax_length: 512\nlearning_rate: 1.0e-5\n';

  it('are counted by their names', () => {
    assert.deepEqual(reported(`${base}lmbda: 0.5\nteacher_model_name_or_path: Qwen/Qwen2.5-14B-Instruct\n`), [
      14_770_033_664,
      undefined,
    ]);
  });

  it('teach in GOLD, too, which may generate one completion of a prompt', () => {
    const text = `${base}lmbda: 0.5\nteacher_model_name_or_path: Qwen/Qwen2.5-14B\nnum_generations: 1\n`;
    const { facts, problems } = read('trl', 'file:///w/gold.yaml', text);
    assert.equal(facts.find(({ field }) => field === 'method.objective')?.value, 'distillation');
    assert.deepEqual(
      problems.map(({ code }) => code).filter((code) => code === 'too-few-generations'),
      [],
    );
  });

  it('teach: what is compared, and by which model', () => {
    const teach = (more: string, version = '0.24') => {
      const { facts } = read(
        'trl',
        'file:///w/gkd.yaml',
        `${base}teacher_model_name_or_path: Qwen/Qwen2.5-14B\n${more}`,
        {
          'version.trl': version,
        },
      );
      const of = (field: string) => facts.find((fact) => fact.field === field)?.value;
      return [of('method.teacher'), of('loss.divergence'), of('loss.implementation'), of('rollout.engine')];
    };
    const teacher = 'Qwen/Qwen2.5-14B';
    assert.deepEqual(teach('lmbda: 0.5\n'), [teacher, 'mixture', undefined, 'transformers']);
    assert.deepEqual(teach('lmbda: 0\nbeta: 0\n'), [teacher, 'forward', undefined, 'none']);
    assert.deepEqual(teach('lmbda: 0\nseq_kd: true\nbeta: 1.0\n'), [
      teacher,
      'reverse',
      undefined,
      'transformers',
    ]);
    assert.deepEqual(teach('use_liger_kernel: true\n'), [teacher, 'mixture', 'liger', 'transformers']);
    // Gone since 1.13.
    assert.deepEqual(teach('use_liger_kernel: true\n', '1.13'), [
      teacher,
      'mixture',
      undefined,
      'transformers',
    ]);
  });

  it('are as large as it where nobody knows them', () => {
    assert.deepEqual(reported(`${base}lmbda: 0.5\nteacher_model_name_or_path: our/own-teacher\n`), [
      undefined,
      1,
    ]);
  });
});

describe('a file of a script that makes a GRPOConfig of it', () => {
  const GROUPS = `model_name: LiquidAI/LFM2-350M
default_goal: Complete the task.
learning_rate: 5.0e-6
per_device_train_batch_size: 1
num_generations: 4
generation_batch_size: 4
max_completion_length: 32
use_vllm: true
vllm_mode: colocate
`;
  const dialectOf = (text: string) => detectDialect(parseConfig('file:///w/configs/run.yaml', text))?.id;
  const known = { 'version.trl': '0.25.1', 'version.transformers': '4.57.3', 'version.torch': '2.9.1' };

  it('is found by the words that only such configs have', () => {
    assert.equal(dialectOf(GROUPS), 'trl');
    assert.equal(dialectOf(GROUPS.replace(/^(?:num|gener|max|use|vllm).*\n/gm, '')), 'hf-training-arguments');
    for (const other of ['base_model: a/b', 'model: a/b', 'rlhf_type: grpo\nmodel: a/b'])
      assert.notEqual(dialectOf(GROUPS.replace('model_name: LiquidAI/LFM2-350M', other)), 'trl', other);
  });

  it('has the objective and the defaults of its release, and code that is not read', () => {
    const reading = trl(GROUPS, known);
    assertStates(reading, {
      'model.id': 'LiquidAI/LFM2-350M file',
      'method.objective': 'grpo inferred',
      'rollout.completion': '32 file',
      'precision.compute': 'bf16 default',
      'activations.checkpointing': 'full default',
    });
    assert.deepEqual(
      (reading.unread ?? []).map(({ kind, text }) => `${kind} ${text}`),
      ['script model_name'],
    );
    assert.deepEqual(problemsOf(reading, 'error', 'warning'), []);
  });
});
