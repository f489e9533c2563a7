import assert from 'node:assert/strict';
import { ROOT, smallWorkspace } from './small-workspace';

/* One message for one fault. */

async function reported(file: string, text: string, files: Readonly<Record<string, string>> = {}) {
  const { analyze } = smallWorkspace({ ...files, [file]: text });
  const { problems } = await analyze(file);
  return problems.filter(({ code }) => code !== 'unknown-fields');
}

const codesOf = (problems: readonly { readonly code: string; readonly severity: string }[]) =>
  problems.map(({ code, severity }) => `${code} ${severity}`);

describe('one message for one fault', () => {
  const deepspeed = (more: string) =>
    `{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, ${more}}`;

  it('is the refusal, where a refused key is an old spelling as well', async () => {
    for (const [more, code, word] of [
      [
        '"optimizer": {"type": "AdamW", "params": {"max_grad_norm": 1.0}}',
        'max-grad-norm',
        'gradient_clipping',
      ],
      [
        '"curriculum_learning": {"enabled": true}',
        'removed-key',
        'data_efficiency.data_sampling.curriculum_learning',
      ],
      ['"amp": {"enabled": false}', 'removed-key', 'bf16'],
    ] as const) {
      const problems = await reported('ds.json', deepspeed(more));
      assert.deepEqual(codesOf(problems), [`${code} warning`], more);
      assert.ok(problems[0]?.message.includes(`\`${word}\``), problems[0]?.message);
    }
  });

  it('is the hint, where a release is known that takes the key', async () => {
    const files = { 'requirements.txt': 'deepspeed==0.18.0\n' };
    const problems = await reported('ds.json', deepspeed('"curriculum_learning": {"enabled": true}'), files);
    assert.deepEqual(codesOf(problems), ['deprecated-key hint']);
  });

  it('is that of the switch, where it leaves several keys without effect', async () => {
    const peft = 'lora_r: 16\nlora_alpha: 32\nlora_dropout: 0.05\nlora_target_modules: all-linear\n';
    for (const [file, text] of [
      [
        't.yaml',
        `model_name_or_path: gpt2\nmax_length: 512\nuse_peft: false\n${peft}per_device_train_batch_size: 1\n`,
      ],
      [
        'a.yaml',
        `base_model: gpt2\nsequence_len: 512\ndatasets: []\n${peft}micro_batch_size: 1\noptimizer: adamw_torch\n`,
      ],
      [
        'l.yaml',
        'model_name_or_path: gpt2\nstage: sft\ndo_train: true\nfinetuning_type: full\nlora_rank: 8\nlora_alpha: 16\ncutoff_len: 512\n',
      ],
    ] as const) {
      const dead = (await reported(file, text)).filter(({ code }) => code === 'dead-key');
      assert.equal(dead.length, 1, file);
      for (const [, key] of text.matchAll(/^(lora_(?:r|alpha|rank|target_modules)):/gm))
        assert.ok(dead[0]?.message.includes(`\`${key}\``), `${file}: ${key} in ${dead[0]?.message}`);
    }
  });

  it('is that a template is to be filled in', async () => {
    for (const values of [
      ['${MICRO}', '{{ bf16 }}', '<LR>'],
      ['$MICRO', '{{bf16}}', '${LR}'],
      ['MICRO_BATCH', 'USE_BF16', 'LEARNING_RATE'],
    ]) {
      const [micro, bf16, rate] = values;
      const text = `{
  "train_micro_batch_size_per_gpu": ${micro},
  "bf16": {"enabled": ${bf16}},
  "zero_optimization": {"stage": 2},
  "optimizer": {"type": "AdamW", "params": {"lr": ${rate}}}
}`;
      const problems = await reported('ds.json', text);
      assert.deepEqual(codesOf(problems), ['placeholder information'], text);
      assert.ok(problems[0]?.message.includes(`${micro}`), problems[0]?.message);
    }
    const broken = await reported(
      'ds.json',
      '{"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": tru}, "x": {{}',
    );
    assert.ok(
      broken.some(({ severity }) => severity === 'error'),
      'a slip stays one',
    );
  });

  it('stays in each file for those who open it', async () => {
    const { analyze } = smallWorkspace(RUN);
    for (const file of Object.keys(RUN)) {
      const { problems } = await analyze(file);
      assert.ok(
        problems.some(({ code }) => code === 'does-not-fit'),
        `${ROOT}/${file}`,
      );
    }
  });
});

const RUN = {
  'run.sh':
    '# oomlint: gpu=A100-SXM4-80GB\naccelerate launch --num_processes 2 -m axolotl.cli.train ax.yaml\n',
  'ax.yaml':
    'base_model: meta-llama/Llama-3.1-70B\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 8\noptimizer: adamw_torch\nbf16: true\ngradient_checkpointing: true\ndeepspeed: z2.json\n',
  'z2.json':
    '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}',
};
