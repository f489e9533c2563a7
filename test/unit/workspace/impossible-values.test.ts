import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const TARGETS = { 'oomlint.yaml': 'targets: { gpu: H100, gpus: 8 }\n' };
const AXOLOTL =
  'base_model: meta-llama/Llama-3.1-8B\nadapter: lora\nlora_target_linear: true\nlora_r: 8\nsequence_len: 2048\nmicro_batch_size: 1\ndatasets: []\n';
const DEEPSPEED = (rows: object) =>
  JSON.stringify(
    { zero_optimization: { stage: 2 }, bf16: { enabled: true }, train_micro_batch_size_per_gpu: 1, ...rows },
    undefined,
    1,
  );

/** A config, the line that it gets, and what the line is about. */
const BAD: readonly (readonly [file: string, text: string, word: string])[] = [
  ...[
    'lora_r: -8',
    'gradient_accumulation_steps: -4',
    'gradient_accumulation_steps: "-4"',
    'tensor_parallel_size: -2',
    'context_parallel_size: -2',
    'dp_replicate_size: -3',
  ].map((line) => {
    const key = line.slice(0, line.indexOf(':'));
    const rest = AXOLOTL.split('\n').filter((other) => !other.startsWith(`${key}:`));
    return ['axolotl.yaml', `${line}\n${rest.join('\n')}`, key] as const;
  }),
  ['ds.json', DEEPSPEED({ tensor_parallel: { autotp_size: -4 } }), 'autotp_size'],
  ['ds.json', DEEPSPEED({ sequence_parallel_size: -2 }), 'sequence_parallel_size'],
  ['ds.json', DEEPSPEED({ train_micro_batch_size_per_gpu: 1e30 }), 'train_micro_batch_size_per_gpu'],
  ['ds.json', DEEPSPEED({ gradient_accumulation_steps: 0 }), 'gradient_accumulation_steps'],
  [
    'accelerate.yaml',
    'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: -3\n',
    'num_machines',
  ],
  [
    'litgpt.yaml',
    'checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B\nprecision: bf16-true\ndevices: 8\nnum_nodes: -1\nlora_r: 8\ndata: {}\ntrain:\n  micro_batch_size: 1\n  max_seq_length: 512\n',
    'num_nodes',
  ],
  [
    'torchtune.yaml',
    'model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_rank: -8\n  lora_attn_modules: [q_proj]\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 512\nbatch_size: 1\n',
    'lora_rank',
  ],
  [
    'run.oomlint.yaml',
    'run:\n  model: meta-llama/Llama-3.1-8B\n  method: { kind: qlora }\n  batch: { micro: 1, sequence: 512 }\n',
    'kind',
  ],
  ['directive.yaml', `${AXOLOTL}# oomlint: accumulation=-4\n`, 'oomlint'],
];

describe('values that no run can have', () => {
  for (const [file, text, word] of BAD)
    it(`${file}: ${word} is reported, and nothing is estimated in its place`, async () => {
      const { analyze } = smallWorkspace({ ...TARGETS, [file]: text });
      const { estimate, problems, resolved } = await analyze(file);
      assert.equal(estimate, undefined);
      assert.ok(resolved.unknown.length > 0);
      const line = text.split('\n').findIndex((written) => written.includes(word));
      const found = problems.filter(
        ({ range, severity }) =>
          range.start.line === line && (severity === 'error' || severity === 'warning'),
      );
      assert.equal(found.length, 1, JSON.stringify(problems, undefined, 1));
    });

  it('are no complaint where a framework takes them for none', async () => {
    for (const [file, text] of [
      ['axolotl.yaml', `${AXOLOTL}max_steps: -1\n`],
      [
        'ds.json',
        DEEPSPEED({ zero_optimization: { stage: 3, mics_shard_size: -1, zero_hpz_partition_size: 1 } }),
      ],
      ['ds.json', DEEPSPEED({ zero_optimization: { stage: 3, sub_group_size: 0 } })],
      ['ds.json', DEEPSPEED({ tensor_parallel: { autotp_size: 0 } })],
    ] as const) {
      const { problems } = await smallWorkspace({ ...TARGETS, [file]: text }).analyze(file);
      assert.deepEqual(
        problems.filter(({ code }) => code === 'bad-value'),
        [],
      );
    }
  });

  it('but a stronger statement settles what a weaker one cannot mean', async () => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': 'targets: { gpu: H100, gpus: 8 }\ndefaults: { lora.rank: -8 }\n',
      'a.yaml': AXOLOTL,
    });
    assert.ok((await analyze('a.yaml')).estimate);
  });
});

describe('a version of FSDP that there is not', () => {
  const WRAPS = 'auto_wrap_policy: TRANSFORMER_BASED_WRAP, transformer_layer_cls_to_wrap: LlamaDecoderLayer';
  const TRL =
    'model_name_or_path: meta-llama/Llama-3.1-8B\ndataset_name: d\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 1\nmax_length: 512\noutput_dir: o\nbf16: true\nfsdp: full_shard auto_wrap\n';
  const written = (version: number): Readonly<Record<string, Readonly<Record<string, string>>>> => ({
    'Axolotl, beside the block': {
      'a.yaml': `${AXOLOTL}fsdp_version: ${version}\nfsdp_config: {${WRAPS}}\n`,
    },
    'Axolotl, in the block': { 'a.yaml': `${AXOLOTL}fsdp_config: {fsdp_version: ${version}, ${WRAPS}}\n` },
    'TRL, in the block': { 'a.yaml': `${TRL}fsdp_config: {version: ${version}}\n` },
    'TRL, in a file': {
      'a.yaml': `${TRL}fsdp_config: fsdp.json\n`,
      'fsdp.json': `{"version": ${version}, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}`,
    },
    Accelerate: {
      'a.yaml': TRL.replace(/fsdp:.*\n/, ''),
      'acc.yaml': `compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config: {fsdp_version: ${version}, fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP}\n`,
      'run.sh': 'accelerate launch --config_file acc.yaml sft.py --config a.yaml\n',
    },
  });
  for (const [name, files] of Object.entries(written(-7)))
    it(`${name}: no estimate, and why`, async () => {
      const { estimate, resolved } = await smallWorkspace({ ...TARGETS, ...files }).analyze('a.yaml');
      assert.equal(estimate?.verdict, undefined);
      assert.ok(
        resolved.unknown.some(({ field }) => field === 'parallel.data'),
        JSON.stringify(resolved.unknown),
      );
    });
  for (const version of [1, 2])
    for (const [name, files] of Object.entries(written(version)))
      it(`${name}: ${version} is one`, async () => {
        const { estimate, resolved } = await smallWorkspace({ ...TARGETS, ...files }).analyze('a.yaml');
        assert.ok(estimate, JSON.stringify(resolved.unknown));
        assert.match(String(resolved.values['parallel.data']), /^fsdp/);
      });
});
