import assert from 'node:assert/strict';
import { assertStates, complaints, factOf, problemsOf, read, refused } from './reading';

const trainer = (text: string, known = {}, name = 'args.json') =>
  read('hf-training-arguments', `file:///run/${name}`, text, known);

const small = (more: string) => `per_device_train_batch_size: 4
output_dir: out
learning_rate: 2.0e-5
${more}
`;
const yaml = (more: string, known = {}) => trainer(small(more), known, 'args.yaml');

describe('arguments of a script whose code is not read', () => {
  const undecided = (more: string) =>
    (yaml(more).unread ?? []).flatMap(({ text, fields }) => (fields ? [`${text} ${fields}`] : []));

  it('that are about adapters leave open what is trained', () => {
    assert.deepEqual(undecided('lora_rank: 64\nlora_alpha: 16'), ['lora_rank method.kind']);
    assert.deepEqual(undecided('lora_r: 8'), ['lora_r method.kind']);
    assert.deepEqual(undecided('freeze_backbone: true'), ['freeze_backbone method.kind']);
    assert.deepEqual(undecided('tuning_method: bitfit'), ['tuning_method method.kind']);
    assert.deepEqual(undecided('adapter_path: out\nfreeze_backbone: false\nlora_rank: 0'), []);
  });

  it('that name DeepSpeed settings by a word of the script leave their stage open', () => {
    assert.deepEqual(undecided('deepspeed: zero2'), ['deepspeed: zero2 zero.stage']);
    assert.deepEqual(yaml('deepspeed: zero2').links, []);
    assert.deepEqual(
      yaml('deepspeed: configs/zero2').links.map(({ path }) => path),
      ['configs/zero2'],
    );
  });

  it('that are about fewer bits leave open how weights are held', () => {
    assert.deepEqual(undecided('quantization_bit: 4'), ['quantization_bit quantization.kind']);
    assert.deepEqual(undecided('quantization_bit: 16\nuse_8bit_adam: true'), []);
  });

  it('leave open the rank where a switch is on and none is given', () => {
    assert.deepEqual(undecided('use_lora: true'), ['use_lora lora.rank,lora.alpha']);
    assert.deepEqual(undecided('use_lora: true\nlora_r: 16'), ['use_lora lora.alpha']);
    assert.deepEqual(undecided('use_lora: true\nlora_r: 16\nlora_alpha: 16'), []);
  });

  it('say what is trained where a switch or a mode does', () => {
    assert.deepEqual(undecided('use_lora: true\nlora_rank: 64\nlora_alpha: 64'), []);
    assert.deepEqual(undecided('use_lora: false\nlora_rank: 64'), []);
    assertStates(yaml('train_mode: lora\nlora_rank: 64'), {
      'method.kind': 'lora file',
      'lora.rank': '64 file',
    });
    assertStates(yaml('train_mode: qlora'), { 'method.kind': 'lora file', 'quantization.kind': 'nf4 file' });
    assertStates(yaml('train_mode: full\nlora_rank: 64'), { 'method.kind': 'full file' });
    assert.deepEqual(undecided('train_mode: full\nlora_rank: 64'), []);
  });
});

describe('HF TrainingArguments', () => {
  it('are compiled by a mode or by a backend that fuses operations, whatever the switch states', () => {
    const compiled = (more: string) => {
      const reading = yaml(more);
      const left = (reading.unread ?? []).flatMap(({ fields = [] }) => fields);
      return [factOf(reading, 'kernels.compile')?.value, ...left];
    };
    assert.deepEqual(compiled('torch_compile: true'), [true]);
    assert.deepEqual(compiled('torch_compile: false\ntorch_compile_mode: default'), [true]);
    assert.deepEqual(compiled('torch_compile_backend: inductor'), [true]);
    assert.deepEqual(compiled('torch_compile: true\ntorch_compile_backend: eager'), [false]);
    assert.deepEqual(compiled('torch_compile_backend: aot_eager'), [undefined, 'kernels.compile']);
  });

  it('multiplies in TF32 where the file states it', () => {
    assertStates(yaml('tf32: true'), { 'kernels.tf32': 'true file' });
    assert.equal(factOf(yaml(''), 'kernels.tf32'), undefined);
  });

  it("takes Unsloth's word for checkpointing, which scripts of a project's own pass on", () => {
    const reading = yaml('gradient_checkpointing: unsloth');
    assertStates(reading, { 'activations.checkpointing': 'full file' });
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      [],
    );
  });

  it('reads JSON', () => {
    const text = JSON.stringify({
      model_name_or_path: 'meta-llama/Llama-3.1-8B',
      output_dir: 'out',
      per_device_train_batch_size: 2,
      gradient_accumulation_steps: '8',
      bf16: true,
      gradient_checkpointing: true,
      optim: 'adamw_torch_fused',
      max_steps: 500,
      deepspeed: 'ds_z3.json',
      torch_dtype: 'bfloat16',
    });
    const reading = trainer(text);
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'batch.micro': '2 file',
      'batch.accumulation': '8 file',
      'precision.compute': 'bf16 file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'deepspeed file',
      'parallel.data': 'zero file',
      'activations.checkpointing': 'full file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused file',
      'schedule.steps': '500 file',
    });
    assert.deepEqual(
      reading.links.map(({ role, path }) => [role, path]),
      [['deepspeed', 'ds_z3.json']],
    );
    assert.deepEqual(refused(reading), []);
  });

  it('takes -1 steps for none, as the Trainer does, and understands it', () => {
    const args = 'per_device_train_batch_size: 2\noutput_dir: out\n';
    for (const steps of ['-1', '0']) {
      const reading = trainer(`${args}max_steps: ${steps}\n`, {}, 'steps.yaml');
      assertStates(reading, { 'schedule.steps': undefined });
      assert.equal(reading.unread, undefined);
    }
    assert.equal(trainer(`${args}max_steps: many\n`, {}, 'steps.yaml').unread?.length, 1);
  });

  it("takes DeepSpeed's settings where the file's name would stand", () => {
    const args = 'per_device_train_batch_size: 2\noutput_dir: out\nbf16: true\n';
    const block =
      'deepspeed:\n  bf16: {enabled: true}\n  zero_optimization:\n    stage: 3\n    offload_optimizer:\n      device: cpu\n';
    const reading = trainer(`${args}${block}`, {}, 'inline.yaml');
    assertStates(reading, {
      'parallel.data': 'zero file',
      'zero.stage': '3 file',
      'offload.optimizer': 'cpu file',
      'precision.scheme': 'deepspeed file',
    });
    assert.deepEqual([reading.links, refused(reading)], [[], []]);
  });

  it('reads arguments that a script nests', () => {
    const reading = trainer(
      'training_args:\n  per_device_train_batch_size: 3\n  output_dir: out\n  fp16: true\n',
      {},
      'nested.yaml',
    );
    assertStates(reading, { 'batch.micro': '3 file', 'precision.compute': 'fp16 file' });
    assert.equal(factOf(reading, 'batch.micro')?.origin.key, 'training_args.per_device_train_batch_size');
  });

  it('takes the old names of keys', () => {
    const text = 'per_gpu_train_batch_size: 4\noutput_dir: o\nevaluation_strategy: steps\nadafactor: true\n';
    const reading = trainer(text, {}, 'old.yaml');
    assertStates(reading, {
      'batch.micro': '4 file',
      'evaluation.enabled': 'true file',
      'optimizer.name': 'adafactor file',
    });
    assert.deepEqual(
      complaints(trainer(text, { 'version.transformers': '4.45' }, 'old.yaml'), text, 'hint'),
      [
        'deprecated-key: per_gpu_train_batch_size: 4',
        'deprecated-key: evaluation_strategy: steps',
        'deprecated-key: adafactor: true',
      ],
    );
  });

  it('has the defaults of the Trainer, by version', () => {
    assertStates(yaml('', { 'version.torch': '2.6', 'version.transformers': '4.57' }), {
      'batch.accumulation': '1 default',
      'optimizer.implementation': 'foreach default',
      'activations.checkpointing': 'none default',
      'activations.reentrant': 'true default',
      'evaluation.batch': '8 default',
      'parallel.data': 'ddp default',
    });
    assertStates(yaml('', { 'version.torch': '2.8', 'version.transformers': '5.0' }), {
      'optimizer.implementation': 'fused default',
      'activations.reentrant': 'false default',
    });
  });

  it('takes FSDP 2 for the default from transformers 5.10', () => {
    const text = 'fsdp: true\nfsdp_config: {cpu_offload: true}';
    assertStates(yaml(text, { 'version.transformers': '5.10' }), {
      'parallel.data': 'fsdp2 file',
      'fsdp.wrap': 'layer default',
      'offload.parameters': 'cpu file',
    });
    assertStates(yaml(text, { 'version.transformers': '5.9' }), {
      'parallel.data': 'fsdp1 file',
      'fsdp.wrap': 'none default',
      'offload.parameters': undefined,
    });
    assertStates(yaml('fsdp: full_shard\nfsdp_config: {version: 1}', { 'version.transformers': '5.10' }), {
      'parallel.data': 'fsdp1 file',
    });
  });

  it('reads FSDP and parallelism', () => {
    assertStates(yaml('bf16: true\nfsdp: full_shard auto_wrap offload'), {
      'parallel.data': 'fsdp1 file',
      'fsdp.strategy': 'full file',
      'offload.parameters': 'cpu file',
      'precision.scheme': 'fsdp file',
      'precision.masterWeights': 'fp32 file',
    });
    assertStates(yaml('parallelism_config: {tp_size: 2, cp_size: 4}'), {
      'parallel.tensor': '2 file',
      'parallel.context': '4 file',
    });
  });

  for (const [code, more, at] of [
    ['two-precisions', 'fp16: true\nbf16: true', 'fp16: true'],
    ['fsdp1-strategy', 'fsdp: hybrid_shard', 'fsdp: hybrid_shard'],
    ['two-shardings', 'fsdp: full_shard\ndeepspeed: z.json', 'fsdp: full_shard'],
    ['unknown-optimizer', 'optim: adamw_trch', 'optim: adamw_trch'],
  ] as const)
    it(`stops at ${code}`, () => {
      const text = small(more);
      assert.deepEqual(complaints(yaml(more), text, 'error'), [`${code}: ${at}`]);
    });

  for (const more of [
    'fp16: false\nbf16: true',
    'fsdp: full_shard offload',
    'fsdp: ""\ndeepspeed: z.json',
    'gradient_checkpointing: true\nfsdp: full_shard\nfsdp_config: {activation_checkpointing: false}',
  ])
    it(`takes ${more.replaceAll('\n', ', ')}`, () => assert.deepEqual(refused(yaml(more)), []));

  it('refuses an optimizer that the release which is named has no more', () => {
    const of = (version: string, oldest?: string) => {
      const known = { version, source: 'pinned' as const, ...(oldest === undefined ? {} : { oldest }) };
      const { problems } = read(
        'hf-training-arguments',
        'file:///w/sft.yaml',
        small('optim: adamw_hf'),
        {},
        {
          transformers: known,
        },
      );
      return problems.flatMap(({ code, severity, data }) =>
        code === 'unknown-optimizer' ? [`${severity} ${String(data?.replacement)}`] : [],
      );
    };
    assert.deepEqual(of('5.23.0'), ['error adamw_torch']);
    assert.deepEqual(of('4.50.3'), ['error adamw_torch']);
    assert.deepEqual(of('4.49.0'), []);
    assert.deepEqual(of('5.23.0', '4.31.0'), [], 'a release of the range knows it');
  });

  it('refuses an optimizer and a scheduler that the releases which are named do not have yet', () => {
    const of = (text: string, versions: Readonly<Record<string, string>>, oldest?: string) => {
      const known = Object.fromEntries(
        Object.entries(versions).map(([name, version]) => [
          name,
          { version, source: 'pinned' as const, ...(oldest === undefined ? {} : { oldest }) },
        ]),
      );
      const { problems } = read('hf-training-arguments', 'file:///w/sft.yaml', small(text), {}, known);
      return problems.flatMap(({ code, severity, message }) =>
        code === 'unknown-optimizer' || code === 'argument-release' ? [`${severity} ${message}`] : [],
      );
    };
    assert.deepEqual(of('optim: apollo_adamw', { transformers: '4.46.3' }), [
      'error transformers knows the optimizer "apollo_adamw" since version 4.49.',
    ]);
    assert.deepEqual(of('optim: apollo_adamw', { transformers: '4.49.0' }), []);
    assert.deepEqual(of('optim: apollo_adamw', { transformers: '4.49.0' }, '4.40.0'), [], 'one of the range');
    assert.deepEqual(of('optim: apollo_adamw', {}), [], 'nobody names a release');
    assert.deepEqual(of('optim: adamw_apex_fused', { transformers: '5.7.0' }), []);
    assert.equal(of('optim: adamw_apex_fused', { transformers: '5.8.1' }).length, 1);
    assert.deepEqual(of('lr_scheduler_type: warmup_stable_decay', { transformers: '4.40.2' }), [
      'error transformers knows the scheduler "warmup_stable_decay" since version 4.41.',
    ]);
    assert.deepEqual(of('lr_scheduler_type: cosine', { transformers: '4.40.2' }), []);
    assert.deepEqual(of('optim: paged_ademamix_8bit', { transformers: '4.45.2', bitsandbytes: '0.43.3' }), [
      'error bitsandbytes has what the optimizer "paged_ademamix_8bit" needs since version 0.44.',
    ]);
    assert.deepEqual(of('optim: paged_ademamix_8bit', { bitsandbytes: '0.44.1' }), []);
  });

  it('refuses checkpointing twice, by either name', () => {
    for (const name of ['gradient_checkpointing', 'activation_checkpointing']) {
      const twice = `${name}: true\nfsdp: full_shard\nfsdp_config: {activation_checkpointing: true}`;
      assert.deepEqual(refused(yaml(twice)), ['checkpointing-twice']);
    }
  });

  // `training_args.py` of 5.9.0 and 5.10.0, and `trainer.py` of 4.33.0 and 4.34.0, compared.
  it('refuses words of FSDP where the release does', () => {
    const of = (more: string, version?: string) => {
      const versions = version === undefined ? {} : { transformers: { version, source: 'pinned' as const } };
      const { problems } = read('hf-training-arguments', 'file:///w/sft.yaml', small(more), {}, versions);
      return problems.flatMap(({ code, severity }) =>
        severity === 'error' || severity === 'warning' ? [`${severity} ${code}`] : [],
      );
    };
    const policies = 'fsdp: full_shard\nfsdp_config: {min_num_params: 10, transformer_layer_cls_to_wrap: A}';
    for (const [code, more] of [
      ['fsdp-offload-alone', 'fsdp: offload'],
      ['two-fsdp-strategies', 'fsdp: full_shard shard_grad_op'],
      ['two-wrap-policies', policies],
    ] as const) {
      assert.deepEqual(of(more, '5.9.0'), [`error ${code}`]);
      assert.deepEqual(of(more, '5.10.0'), []);
    }
    assert.deepEqual(of('fsdp: hybrid_shard', '5.10.0'), ['error fsdp1-strategy']);
    assert.deepEqual(of('fsdp: hybrid_shard', '5.9.0'), []);
    assert.deepEqual(of('fsdp: hybrid_shard\nfsdp_config: {version: 1}', '5.10.0'), []);
    assert.deepEqual(of('fsdp: hybrid_shard\nfsdp_config: fsdp.json', '5.10.0'), []);
    const twice =
      'gradient_checkpointing: true\nfsdp: full_shard\nfsdp_config: {activation_checkpointing: true}';
    assert.deepEqual(of(twice, '4.34.0'), ['error checkpointing-twice']);
    assert.deepEqual(of(twice, '4.33.0'), []);
  });

  it('takes the first of two strategies where both are taken', () => {
    assertStates(yaml('fsdp: shard_grad_op full_shard'), { 'fsdp.strategy': 'grad-op file' });
    assertStates(yaml('fsdp: full_shard shard_grad_op'), { 'fsdp.strategy': 'full file' });
  });

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(yaml('gradient_checkpointin: true'));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_checkpointing']);
  });
});
