import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { axolotl as dialect } from '../../../server/src/dialects/axolotl/axolotl';
import type { Versions } from '../../../server/src/run/versions';
import { assertStates, complaints, factOf, problemsOf, read, refused, stated } from './reading';

const axolotl = (text: string, known = {}) => read('axolotl', 'file:///run/config.yml', text, known);

// What a container's environment fills in, in a text that TypeScript would take for its own.
const at = (name: string) => `$\{${name}}`;

const FULL = `
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
val_set_size: 0.05
sequence_len: 8192
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
optimizer: paged_adamw_8bit
bf16: true
gradient_checkpointing: true
attn_implementation: flash_attention_2
deepspeed: deepspeed_configs/zero3.json
`;

const QLORA = `
base_model: mistralai/Mistral-7B-v0.1
datasets:
  - {path: a/b, type: alpaca}
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: "16"
lora_dropout: 0.05
lora_target_linear: true
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
bf16: auto
gradient_checkpointing: true
flash_attention: true
`;

const small = (more: string) => `base_model: a/b
datasets: [{path: c, type: alpaca}]
learning_rate: 0.0002
micro_batch_size: 1
gradient_accumulation_steps: 1
${more}
`;

/** What Axolotl 0.19 stops on, the smallest way to do it, and the key that is to blame. */
const REFUSED: readonly (readonly [code: string, more: string, at: string])[] = [
  ['quantized-without-adapter', 'load_in_4bit: true', 'load_in_4bit: true'],
  ['quantized-without-adapter', 'load_in_8bit: true', 'load_in_8bit: true'],
  ['qlora-without-4bit', 'adapter: qlora', 'adapter: qlora'],
  ['qlora-8bit', 'adapter: qlora\nload_in_8bit: true\nload_in_4bit: true', 'load_in_8bit: true'],
  ['two-batch-sizes', 'batch_size: 8', 'batch_size: 8'],
  ['packing-preference', 'rl: dpo\nsample_packing: true', 'sample_packing: true'],
  [
    'packing-twice',
    'batch_flattening: true\nsample_packing: true\nattn_implementation: flash_attention_2',
    'batch_flattening: true',
  ],
  [
    'optimizer-fsdp2',
    'optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp_config: {offload_params: false}',
    'optimizer: adamw_bnb_8bit',
  ],
  [
    'optimizer-fsdp-offload',
    'optimizer: adamw_bnb_8bit\nfsdp_config: {offload_params: true}',
    'optimizer: adamw_bnb_8bit',
  ],
  [
    'tensor-parallel-liger',
    'plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_fused_linear_cross_entropy: true\ntensor_parallel_size: 2',
    'liger_fused_linear_cross_entropy: true',
  ],
  [
    'tensor-parallel-liger',
    'plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rms_norm: true\ntensor_parallel_size: 2',
    'liger_rms_norm: true',
  ],
  ['tensor-parallel-8bit', 'optimizer: adamw_bnb_8bit\ntensor_parallel_size: 2', 'optimizer: adamw_bnb_8bit'],
  ['context-parallel-attention', 'context_parallel_size: 2', 'context_parallel_size: 2'],
  [
    'context-parallel-attention',
    'sequence_parallel_degree: 2\nsdp_attention: true',
    'sequence_parallel_degree: 2',
  ],
  [
    'context-parallel-attention',
    'context_parallel_size: 2\nattn_implementation: flash_attention_3',
    'context_parallel_size: 2',
  ],
  [
    'context-parallel-liger',
    'context_parallel_size: 2\nflash_attention: true\nrl: grpo\ntrl: {use_liger_loss: true}',
    'context_parallel_size: 2',
  ],
  ['two-shardings', 'deepspeed: z2.json\nfsdp: [full_shard]', 'deepspeed: z2.json'],
  ['muon-deepspeed', 'optimizer: muon\ndeepspeed: z2.json', 'optimizer: muon'],
  ['muon-fsdp1', 'optimizer: muon\nfsdp_config: {offload_params: false}', 'optimizer: muon'],
  ['q-galore-adapter', 'optimizer: q_galore_adamw8bit\nadapter: lora', 'optimizer: q_galore_adamw8bit'],
  ['q-galore-deepspeed', 'optimizer: q_galore_adamw8bit\ndeepspeed: z.json', 'optimizer: q_galore_adamw8bit'],
  ['offload-without-checkpointing', 'activation_offloading: true', 'activation_offloading: true'],
  ['selective-without-checkpointing', 'selective_checkpointing: true', 'selective_checkpointing: true'],
  ['deepcompile-without-deepspeed', 'deepcompile: true', 'deepcompile: true'],
  ['two-memory-limits', 'max_memory: {0: 20GiB}\ngpu_memory_limit: 20', 'gpu_memory_limit: 20'],
  ['missing-steps', 'streaming: true', 'streaming: true'],
  [
    'two-losses',
    'liger_fused_linear_cross_entropy: true\ncut_cross_entropy: true',
    'cut_cross_entropy: true',
  ],
  [
    'quantized-preference-fsdp2',
    'rl: dpo\nadapter: qlora\nload_in_4bit: true\nfsdp_version: 2\nfsdp_config: {offload_params: false}',
    'load_in_4bit: true',
  ],
  [
    'efficient-loading-4bit',
    'adapter: qlora\nload_in_4bit: true\nfsdp_version: 2\nfsdp_config: {cpu_ram_efficient_loading: true}',
    'load_in_4bit: true',
  ],
  ['kto-columns', 'rl: kto', 'rl: kto'],
  ['lora-kernel-8bit', 'adapter: lora\nload_in_8bit: true\nlora_mlp_kernel: true', 'lora_mlp_kernel: true'],
  [
    'lora-kernel-remote-code',
    'adapter: lora\ntrust_remote_code: true\nlora_o_kernel: true',
    'lora_o_kernel: true',
  ],
  ['quantized-experts', 'adapter: lora\nquantize_moe_experts: true', 'quantize_moe_experts: true'],
  [
    'parameters-dropout',
    'adapter: lora\nlora_target_parameters: [mlp.experts.down_proj]\nlora_dropout: 0.1',
    'lora_dropout: 0.1',
  ],
  ['removed-key', 'unsloth_lora_mlp: true', 'unsloth_lora_mlp: true'],
];

/** Like the refused ones, but for what makes them wrong. */
const ACCEPTED: readonly string[] = [
  'adapter: qlora\nload_in_4bit: true',
  'adapter: lora\nload_in_8bit: true',
  'rl: dpo\nsample_packing: false',
  'batch_flattening: auto\nsample_packing: true',
  // `check_fsdp_deepspeed` looks at `fsdp` alone.
  'deepspeed: z2.json\nfsdp_config: {offload_params: false}',
  'optimizer: adamw_torch_8bit\nfsdp_version: 2\nfsdp_config: {offload_params: true}',
  'optimizer: adamw_bnb_8bit\nfsdp_config: {offload_params: false}',
  'optimizer: muon\nfsdp_version: 2\nfsdp_config: {offload_params: false}',
  'activation_offloading: true\ngradient_checkpointing: true',
  'selective_checkpointing: true\ngradient_checkpointing: true',
  'streaming: true\nmax_steps: 100',
  'streaming: true\nmax_steps: -1',
  'optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp: [full_shard]',
  'cut_cross_entropy: true',
  'rl: kto\nremove_unused_columns: false',
  'adapter: lora\nload_in_8bit: true\nlora_mlp_kernel: false',
  'adapter: lora\nload_in_8bit: true\nquantize_moe_experts: true\nlora_target_modules: [q_proj]',
  'max_memory: {0: 20GiB}',
  'adapter: lora\nload_in_8bit: true\nload_in_4bit: true',
  'deepspeed:\nfsdp:\nfsdp_config:',
];

describe('activation offloading of Axolotl', () => {
  const of = (more: string) => {
    const text = `base_model: a/b\ndatasets: []\ngradient_checkpointing: true\n${more}`;
    const reading = read('axolotl', 'file:///w/a.yaml', text);
    const fields = [
      'activations.checkpointing',
      'activations.offload',
      'activations.offloadOverlap',
    ] as const;
    return fields.map((field) => stated(reading, field)?.split(' ')[0] ?? '-').join(' ');
  };

  it('takes the place of checkpointing with adapters, not without', () => {
    assert.equal(of(''), 'full - -');
    assert.equal(of('adapter: lora\nactivation_offloading: true\n'), 'none true true');
    assert.equal(of('adapter: lora\nactivation_offloading: legacy\n'), 'none true false');
    assert.equal(of('adapter: lora\nactivation_offloading: disk\n'), 'none true true');
    assert.equal(of('adapter: lora\nactivation_offloading: hidden_states\n'), 'full true -');
    assert.equal(of('activation_offloading: legacy\n'), 'full true -');
    assert.equal(of('adapter: lora\nactivation_offloading: false\n'), 'full false -');
  });
});

describe('layers that stay in 16 bits beside quantized ones', () => {
  const unmodelled = (more: string, type: string) => {
    const text = `base_model: a/b\ndatasets: []\n${more}`;
    const model = { config: { model_type: type } };
    const reading = dialect.read(parseConfig('file:///w/a.yaml', text), { known: {}, model });
    return [stated(reading, 'features.unmodelled'), stated(reading, 'quantization.skippedParts')];
  };
  const four = 'adapter: qlora\nload_in_4bit: true\n';
  const skipping = (names: string) => `${four}bnb_config_kwargs: {llm_int8_skip_modules: ${names}}\n`;

  it('are reported where they are not counted: Falcon-H1, and Jamba in 8 bits', () => {
    assert.deepEqual(unmodelled(four, 'llama'), [undefined, undefined]);
    assert.deepEqual(unmodelled(four, 'jamba'), [undefined, undefined]);
    assert.deepEqual(unmodelled('adapter: lora\nload_in_8bit: true\n', 'jamba'), [
      'partial-quantization default',
      undefined,
    ]);
    assert.deepEqual(unmodelled(four, 'falcon_h1'), ['partial-quantization default', undefined]);
  });

  it('are counted where they are towers, reported where a person names others', () => {
    assert.deepEqual(unmodelled(skipping('[lm_head]'), 'llama'), [undefined, undefined]);
    assert.deepEqual(unmodelled(skipping('[model.vision_tower, lm_head]'), 'llava'), [
      undefined,
      'vision_tower file',
    ]);
    assert.deepEqual(unmodelled(skipping('[visual, mlp]'), 'qwen2_vl'), [
      'partial-quantization file',
      'visual file',
    ]);
  });
});

describe('the chunked loss of Axolotl', () => {
  it('compiles each chunk of the logits, which are there as a whole', () => {
    const text = 'base_model: a/b\ndatasets: []\nchunked_cross_entropy: true\n';
    const reading = read('axolotl', 'file:///w/a.yaml', text);
    assert.equal(stated(reading, 'loss.implementation'), 'compiled-chunks file');
  });
});

describe('images of Axolotl', () => {
  const images = (text: string, config: Record<string, unknown>) =>
    stated(
      dialect.read(parseConfig('file:///w/a.yaml', text), { known: {}, model: { config } }),
      'batch.images',
    );

  it('are shown where a processor is named; else the tokenizer makes samples of text', () => {
    const run = 'base_model: a/b\ndatasets: []\n';
    assert.equal(images(run, { vision_config: {} }), '0 default');
    assert.equal(images(`${run}processor_type: AutoProcessor\n`, { vision_config: {} }), undefined);
    assert.equal(images(run, {}), undefined);
  });
});

describe('the LoRA kernels of Axolotl', () => {
  const parts = (more: string, known = {}) => {
    const text = `base_model: a/b\ndatasets: []\nadapter: lora\n${more}`;
    return stated(read('axolotl', 'file:///w/a.yaml', text, known), 'kernels.lora');
  };

  it('are on where nothing is stated of them, but for what they do not work with', () => {
    assert.equal(parts(''), 'mlp,qkv,output default');
    assert.equal(parts('lora_dropout: 0.1\n'), 'mlp,qkv,output default');
    assert.equal(parts('rl: dpo\n'), undefined);
    assert.equal(parts('load_in_8bit: true\n'), undefined);
    assert.equal(parts('trust_remote_code: true\n'), undefined);
    assert.equal(parts('', { 'hardware.gpus': 8, 'parallel.data': 'fsdp1' }), undefined);
    assert.equal(parts('', { 'hardware.gpus': 8, 'parallel.data': 'fsdp2' }), 'mlp,qkv,output default');
  });

  it('are those that are asked for where one is', () => {
    assert.equal(parts('lora_mlp_kernel: true\nlora_qkv_kernel: false\n'), 'mlp file');
    assert.equal(parts('lora_mlp_kernel: false\n'), ' file');
  });
});

describe('Axolotl', () => {
  it('reads a full fine-tune', () => {
    const reading = axolotl(FULL);
    assertStates(reading, {
      framework: 'axolotl default',
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'method.kind': 'full default',
      'batch.micro': '2 file',
      'batch.accumulation': '4 file',
      'batch.sequence': '8192 file',
      'batch.packed': 'true file',
      'precision.compute': 'bf16 file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'deepspeed file',
      'parallel.data': 'zero file',
      'optimizer.name': 'paged-adamw-8bit file',
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'true default',
      'attention.implementation': 'flash2 file',
      'evaluation.enabled': 'true file',
      'quantization.kind': undefined,
    });
    assert.deepEqual(
      reading.links.map(({ path, role }) => `${role} ${path}`),
      ['deepspeed deepspeed_configs/zero3.json'],
    );
    assert.deepEqual(problemsOf(reading), []);
    assert.equal(factOf(reading, 'batch.micro')?.origin.key, 'micro_batch_size');
    assert.equal(factOf(reading, 'batch.micro')?.origin.location?.range.start.line, 8);
  });

  it('reads QLoRA with quoted numbers, `auto` and the old name of attention', () => {
    const reading = axolotl(QLORA);
    assertStates(reading, {
      'method.kind': 'lora file',
      'lora.rank': '32 file',
      'lora.alpha': '16 file',
      'lora.dropout': '0.05 file',
      'lora.targets': 'all-linear file',
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true default',
      'quantization.storage': 'bf16 default',
      'quantization.prepared': 'false default',
      'precision.compute': 'bf16 default',
      'precision.scheme': 'autocast default',
      'parallel.data': 'ddp default',
      'attention.implementation': 'flash2 file',
      'optimizer.name': 'adamw default',
      'optimizer.implementation': 'fused default',
    });
    assert.deepEqual(complaints(reading, QLORA, 'hint'), ['deprecated-key: flash_attention: true']);
    assert.deepEqual(problemsOf(reading, 'error', 'warning'), []);
  });

  it('takes the arguments of bitsandbytes', () => {
    const reading = axolotl(
      small(
        'adapter: qlora\nload_in_4bit: true\nbnb_config_kwargs:\n  bnb_4bit_quant_type: fp4\n  bnb_4bit_use_double_quant: false\n  bnb_4bit_quant_storage: uint8',
      ),
    );
    assertStates(reading, {
      'quantization.kind': 'fp4 file',
      'quantization.double': 'false file',
      'quantization.storage': 'uint8 file',
    });
  });

  it('reads both versions of FSDP, with and without the prefix', () => {
    const second = axolotl(
      small(
        'fsdp_version: 2\nfsdp_config:\n  offload_params: true\n  reshard_after_forward: false\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP',
      ),
    );
    assertStates(second, {
      'parallel.data': 'fsdp2 file',
      'fsdp.strategy': 'grad-op file',
      'fsdp.wrap': 'layer file',
      'offload.parameters': 'cpu file',
      'offload.optimizer': 'cpu file',
      // Axolotl's `fsdp2_prepare_model` casts nothing, and wraps nothing but layers.
      'precision.masterWeights': 'bf16 default',
      'fsdp.separateEnds': 'false default',
    });
    const adapted = axolotl(small('adapter: lora\nfsdp_version: 2\nfsdp_config: {offload_params: false}'));
    assertStates(adapted, { 'precision.masterWeights': 'fp32 default' });
    const first = axolotl(
      small(
        'bf16: true\nfsdp: [full_shard, auto_wrap]\nfsdp_config:\n  fsdp_offload_params: false\n  fsdp_use_orig_params: false',
      ),
    );
    assertStates(first, {
      'parallel.data': 'fsdp1 file',
      'fsdp.strategy': 'full file',
      'fsdp.wrap': 'layer file',
      'fsdp.useOriginalParameters': 'false file',
      'offload.parameters': undefined,
      'precision.scheme': 'fsdp file',
    });
  });

  it('derives accumulation from a whole batch, rounded down', () => {
    const reading = axolotl(
      'base_model: a/b\ndatasets: []\nadapter: lora\nmicro_batch_size: 3\nbatch_size: 10\n',
    );
    assertStates(reading, { 'batch.micro': '3 file', 'batch.accumulation': '3 file' });
    assert.deepEqual(refused(reading), []);
  });

  it('knows where a reference model is kept, and how it is checkpointed', () => {
    const dpo = axolotl(small('rl: dpo\ngradient_checkpointing: true'));
    assertStates(dpo, {
      'method.objective': 'dpo file',
      'method.referenceModel': 'true default',
      'activations.reentrant': 'false default',
    });
    assertStates(axolotl(small('rl: dpo\nadapter: lora')), { 'method.referenceModel': 'false default' });
    assertStates(axolotl(small('rl: orpo')), {
      'method.objective': 'orpo file',
      'method.referenceModel': 'false default',
    });
    assertStates(
      axolotl(small('gradient_checkpointing: true\ngradient_checkpointing_kwargs: {use_reentrant: false}')),
      {
        'activations.reentrant': 'false file',
      },
    );
    assertStates(axolotl(small('reward_model: true')), { 'method.objective': 'reward file' });
  });

  it('takes blanks and nulls as absent', () => {
    const reading = axolotl(
      small(
        'adapter:\nlora_r:\nsequence_len:\noptimizer:\ndeepspeed:\nfsdp:\nfsdp_config:\nbf16:\nload_in_4bit:',
      ),
    );
    assertStates(reading, {
      'method.kind': 'full default',
      'batch.sequence': '512 default',
      'optimizer.name': 'adamw default',
      'parallel.data': 'ddp default',
      'precision.compute': 'bf16 default',
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('refuses nothing that the environment fills in', () => {
    const reading = axolotl(
      `base_model: ${at('MODEL')}\ndatasets: []\nadapter: lora\nmax_memory: ${at('A')}\ngpu_memory_limit: ${at('B')}\n`,
    );
    assert.deepEqual(refused(reading), []);
  });

  for (const [code, more, at] of REFUSED)
    it(`stops at ${code} (${at})`, () => {
      const text = small(more);
      assert.deepEqual(complaints(axolotl(text), text, 'error'), [`${code}: ${at}`]);
    });

  /** By the wheels on PyPI: releases that refuse, and the nearest ones that do not. */
  const SINCE: readonly [code: string, more: string, refuses: string[], takes: string[]][] = [
    [
      'efficient-loading-4bit',
      'adapter: qlora\nload_in_4bit: true\nfsdp_version: 2\nfsdp_config: {cpu_ram_efficient_loading: true}',
      ['0.19.0', '0.21.0'],
      ['0.18.0', '0.12.2'],
    ],
    [
      'optimizer-fsdp2',
      'optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp_config: {offload_params: false}',
      ['0.12.2', '0.21.0'],
      ['0.11.0'],
    ],
    [
      'optimizer-fsdp-offload',
      'optimizer: adamw_8bit\nfsdp: [full_shard]\nfsdp_config: {fsdp_offload_params: true}',
      ['0.5.2', '0.19.0'],
      ['0.20.0'],
    ],
    ['selective-without-checkpointing', 'selective_checkpointing: true', ['0.18.0'], ['0.17.0']],
    ['two-losses', 'cut_cross_entropy: true\nchunked_cross_entropy: true', ['0.13.1'], ['0.12.2']],
    ['tensor-parallel-8bit', 'optimizer: adamw_8bit\ntensor_parallel_size: 2', ['0.12.0'], ['0.11.0']],
    [
      'context-parallel-attention',
      'context_parallel_size: 2\nattn_implementation: flash_attention_3',
      ['0.19.0'],
      ['0.17.0'],
    ],
    ['kto-columns', 'rl: kto', ['0.6.0'], ['0.5.2']],
    ['missing-steps', 'streaming: true', ['0.13.1'], ['0.12.2']],
    ['missing-steps', 'pretraining_dataset: a/b', ['0.5.2', '0.21.0'], []],
    ['q-galore-adapter', 'optimizer: q_galore_adamw8bit\nadapter: lora', ['0.17.0'], ['0.16.1']],
  ];
  it('refuses what the release at hand refuses, and is not sure of one that nobody names', () => {
    for (const [code, more, refuses, takes] of SINCE) {
      const at = (versions: Versions) => {
        const reading = read('axolotl', 'file:///run/config.yml', small(more), {}, versions);
        return reading.problems.filter((problem) => problem.code === code);
      };
      const locked = (version: string) => at({ axolotl: { version, source: 'locked' } });
      for (const version of refuses) {
        assert.deepEqual(
          locked(version).map(({ severity }) => severity),
          ['error'],
          `${code} ${version}`,
        );
      }
      for (const version of takes) assert.deepEqual(locked(version), [], `${code} ${version}`);
      if (takes.length === 0) continue;
      const [unsure] = at({});
      assert.equal(unsure?.severity, 'warning', code);
      assert.match(unsure?.message ?? '', /Axolotl 0\.19.* is assumed: no file names the version\.$/);
    }
  });

  it('adapts parameters alone where it names no modules', () => {
    const experts = 'adapter: lora\nlora_target_parameters: [mlp.experts.down_proj]';
    const reading = axolotl(small(experts));
    assert.deepEqual(factOf(reading, 'lora.targets')?.value, ['mlp.experts.down_proj']);
    const beside = axolotl(small(`${experts}\nlora_target_modules: [q_proj]`));
    assert.deepEqual(factOf(beside, 'lora.targets')?.value, ['q_proj']);
  });

  it('refuses a whole batch alone', () => {
    const text = 'base_model: a/b\ndatasets: []\nadapter: lora\nbatch_size: 8\n';
    assert.deepEqual(complaints(axolotl(text), text, 'error'), ['missing-batch-size: batch_size: 8']);
    // Either of the others has a default.
    for (const key of ['micro_batch_size', 'gradient_accumulation_steps'])
      assert.deepEqual(refused(axolotl(`base_model: a/b\ndatasets: []\nadapter: lora\n${key}: 8\n`)), []);
  });

  for (const more of ACCEPTED)
    it(`takes ${more.replaceAll('\n', ', ')}`, () => assert.deepEqual(refused(axolotl(small(more))), []));

  it('names keys without effect', () => {
    const text = small('lora_r: 8\nlora_alpha: 16\nlora_target_linear: true\npeft_use_dora: true');
    assert.deepEqual(complaints(axolotl(text), text, 'warning'), ['dead-key: lora_r: 8']);
    const [dead] = problemsOf(axolotl(text)).filter(({ code }) => code === 'dead-key');
    assert.equal(
      dead?.message,
      'Without `adapter` all weights are trained, and these have no effect: `lora_r`, `lora_alpha`, `lora_target_linear`, `peft_use_dora`.',
    );
    const four = small('adapter: lora\nload_in_4bit: true');
    assert.deepEqual(complaints(axolotl(four), four, 'warning'), ['dead-key: load_in_4bit: true']);
    assertStates(axolotl(four), { 'quantization.kind': undefined });
  });

  it('sees slips of the keyboard, and leaves keys of plugins alone', () => {
    const [slip, ...more] = problemsOf(axolotl(small('sequnce_len: 4096\nmy_plugin_setting: 1')));
    assert.equal(slip?.code, 'unknown-key');
    assert.equal(slip.data?.replacement, 'sequence_len');
    assert.deepEqual(more, []);
  });
});
