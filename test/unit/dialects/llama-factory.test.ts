import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { findModel } from '../../../server/src/model/catalog';
import type { Versions } from '../../../server/src/run/versions';
import { assertStates, complaints, problemsOf, read, refused, stated } from './reading';

const factory = (text: string, known = {}) => read('llama-factory', 'file:///run/sft.yaml', text, known);

const LORA = `
### model
model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
trust_remote_code: true
### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 2048
### output
output_dir: saves/llama3-8b/lora/sft
### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
bf16: true
`;

const small = (more: string, type = 'lora', stage = 'sft') => `model_name_or_path: a/b
stage: ${stage}
do_train: true
finetuning_type: ${type}
dataset: identity
template: default
output_dir: out
${more}
`;

/** What LLaMA-Factory 0.9 stops on: keys, method, stage, and the line to blame. */
const REFUSED: readonly (readonly [code: string, more: string, at: string, type?: string, stage?: string])[] =
  [
    ['quantized-without-adapter', 'quantization_bit: 4', 'quantization_bit: 4', 'full'],
    ['quantized-without-adapter', 'quantization_bit: 8', 'quantization_bit: 8', 'freeze'],
    ['pissa-quantized', 'quantization_bit: 4\npissa_init: true', 'pissa_init: true'],
    ['adapter-without-lora', 'adapter_name_or_path: a', 'adapter_name_or_path: a', 'full'],
    ['low-rank-optimizer-deepspeed', 'use_galore: true\ndeepspeed: z.json', 'deepspeed: z.json', 'full'],
    ['low-rank-optimizer-lora', 'use_galore: true', 'use_galore: true'],
    ['low-rank-optimizer-lora', 'use_badam: true', 'use_badam: true'],
    ['two-low-rank-optimizers', 'use_galore: true\nuse_apollo: true', 'use_apollo: true', 'full'],
    ['neat-packing-stage', 'neat_packing: true', 'neat_packing: true', 'lora', 'pt'],
    ['missing-reward-model', '', 'stage: ppo', 'lora', 'ppo'],
    ['lora-only', 'use_dora: true', 'use_dora: true', 'full'],
    ['lora-only', 'loraplus_lr_ratio: 16', 'loraplus_lr_ratio: 16', 'full'],
    ['pissa-reference', 'pissa_init: true', 'pissa_init: true', 'lora', 'kto'],
    ['pissa-reference', 'pissa_init: true', 'pissa_init: true', 'lora', 'dpo'],
    ['llama-pro-full', 'use_llama_pro: true', 'use_llama_pro: true', 'full'],
    [
      'label-smoothing-loss',
      'pref_loss: orpo\ndpo_label_smoothing: 0.1',
      'dpo_label_smoothing: 0.1',
      'lora',
      'dpo',
    ],
    ['resize-quantized', 'quantization_bit: 4\nresize_vocab: true', 'resize_vocab: true'],
    ['missing-steps', 'streaming: true', 'streaming: true'],
  ];

const ACCEPTED: readonly (readonly [more: string, type?: string, stage?: string])[] = [
  ['quantization_bit: 4'],
  ['quantization_bit:', 'full'],
  ['pissa_init: true'],
  ['use_galore: true', 'full'],
  ['use_galore: false\nuse_badam: false'],
  ['neat_packing: true'],
  ['reward_model: a/r\nreward_model_type: full', 'lora', 'ppo'],
  ['use_dora: true'],
  ['pissa_init: true\npref_loss: orpo', 'lora', 'dpo'],
  ['use_llama_pro: true\nfreeze_trainable_layers: 8', 'freeze'],
  ['dpo_label_smoothing: 0.1', 'lora', 'dpo'],
  ['streaming: true\nmax_steps: 100'],
];

describe('LLaMA Pro in LLaMA-Factory', () => {
  it('keeps adapters off the frozen tower and projector of a multimodal model', () => {
    const excluded = (more: string, id = 'Qwen/Qwen2.5-VL-7B-Instruct') => {
      const document = parseConfig('file:///run/sft.yaml', `${LORA}${more}`);
      const reading = detectDialect(document)?.read(document, {
        known: {},
        versions: {},
        model: findModel(id),
      });
      return reading ? stated(reading, 'lora.exclude') : assert.fail();
    };
    assert.match(excluded('') ?? '', /visual.* default$/);
    assert.equal(excluded('freeze_vision_tower: false\n'), undefined);
    assert.equal(excluded('', 'Qwen/Qwen2.5-7B'), undefined);
  });

  const pro = (type: string) =>
    factory(
      `${LORA.replace('finetuning_type: lora', `finetuning_type: ${type}`)}use_llama_pro: true\nfreeze_trainable_layers: 8\n`,
    );

  it('trains the layers that its script added to the model, or adapters in them', () => {
    for (const type of ['freeze', 'lora'])
      assertStates(pro(type), {
        'method.kind': `${type} file`,
        'method.trainableLayers': '8 file',
        'method.spreadLayers': 'true file',
        'method.newLayers': undefined,
      });
  });
});

describe('LLaMA-Factory', () => {
  it('reads LoRA', () => {
    const reading = factory(LORA);
    assertStates(reading, {
      'model.id': 'meta-llama/Meta-Llama-3-8B-Instruct file',
      'method.kind': 'lora file',
      'method.objective': 'lm file',
      'lora.rank': '8 file',
      'lora.alpha': '16 default',
      'lora.dropout': '0 default',
      'lora.targets': 'all-linear file',
      'lora.dtype': 'fp32 default',
      'batch.micro': '1 file',
      'batch.accumulation': '8 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'false default',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'precision.weights': 'bf16 default',
      'activations.checkpointing': 'full default',
      'optimizer.name': 'adamw default',
      'parallel.data': 'ddp default',
      'method.referenceModel': 'false default',
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads a full fine-tune under DeepSpeed', () => {
    const reading = factory(
      small(
        'deepspeed: examples/deepspeed/ds_z3_config.json\nbf16: true\nper_device_train_batch_size: "2"',
        'full',
      ),
    );
    assertStates(reading, {
      'method.kind': 'full file',
      'batch.micro': '2 file',
      'parallel.data': 'zero file',
      'precision.scheme': 'deepspeed file',
      'precision.weights': 'bf16 file',
      'batch.accumulation': '1 default',
    });
    assert.deepEqual(
      reading.links.map(({ role, path }) => [role, path]),
      [['deepspeed', 'examples/deepspeed/ds_z3_config.json']],
    );
  });

  it('upcasts what is trained whole, unless asked not to', () => {
    assertStates(factory(small('bf16: true', 'full')), { 'precision.weights': 'fp32 default' });
    assertStates(factory(small('pure_bf16: true', 'full')), {
      'precision.weights': 'bf16 file',
      'precision.scheme': 'native default',
    });
    assertStates(factory(small('pure_bf16: true')), { 'lora.dtype': 'bf16 file' });
  });

  it('reads quantized bases of every kind', () => {
    assertStates(factory(small('quantization_bit: 4')), {
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true default',
    });
    assertStates(factory(small('quantization_bit: 4\ndouble_quantization: false\nquantization_type: fp4')), {
      'quantization.kind': 'fp4 file',
      'quantization.double': 'false file',
    });
    assertStates(factory(small('quantization_bit: 8')), { 'quantization.kind': 'int8 file' });
    assertStates(factory(small('quantization_bit: 3\nquantization_method: hqq')), {
      'quantization.kind': 'hqq file',
      'quantization.bits': '3 file',
    });
    assertStates(factory(small('quantization_bit: 4\nquantization_method: bnb')), {
      'quantization.kind': 'nf4 file',
    });
  });

  it('keeps a reference where the stage compares and no adapter can be switched off', () => {
    assertStates(factory(small('', 'full', 'dpo')), {
      'method.objective': 'dpo file',
      'method.referenceModel': 'true default',
    });
    assertStates(factory(small('', 'lora', 'dpo')), { 'method.referenceModel': 'false default' });
    assertStates(factory(small('pref_loss: simpo', 'full', 'dpo')), {
      'method.objective': 'simpo file',
      'method.referenceModel': 'false default',
    });
    assertStates(factory(small('ref_model: a/c', 'lora', 'kto')), {
      'method.objective': 'kto file',
      'method.referenceModel': 'true file',
    });
    assertStates(factory(small('', 'lora', 'rm')), { 'method.objective': 'reward file' });
    assertStates(factory(small('', 'full', 'pt')), {
      'method.objective': 'lm file',
      'batch.packed': 'true default',
    });
  });

  it('reads optimizers that have switches of their own', () => {
    assertStates(factory(small('use_galore: true\ngalore_rank: 128\ngalore_layerwise: true', 'full')), {
      'optimizer.name': 'galore-adamw file',
      'optimizer.rank': '128 file',
      'optimizer.inBackward': 'true file',
    });
    assertStates(factory(small('use_apollo: true', 'full')), {
      'optimizer.name': 'apollo-adamw file',
      'optimizer.rank': '16 default',
    });
    assertStates(factory(small('use_adam_mini: true', 'full')), { 'optimizer.name': 'adam-mini file' });
    assertStates(factory(small('optim: adamw_8bit', 'full')), { 'optimizer.name': 'adamw-8bit file' });
  });

  it('reads no checkpoint where it trains from scratch', () => {
    assertStates(factory(small('train_from_scratch: true', 'full')), { 'loading.newWeights': 'true file' });
  });

  it('takes blanks as absent', () => {
    const reading = factory(small('lora_rank:\ncutoff_len: null\ndeepspeed:\nquantization_bit:\nbf16:'));
    assertStates(reading, {
      'lora.rank': '8 default',
      'batch.sequence': '2048 default',
      'parallel.data': 'ddp default',
      'quantization.kind': undefined,
    });
    assert.deepEqual(refused(reading), []);
  });

  for (const [code, more, at, type, stage] of REFUSED)
    it(`stops at ${code} (${at}, ${type ?? 'lora'}, ${stage ?? 'sft'})`, () => {
      const text = small(more, type, stage);
      assert.deepEqual(complaints(factory(text), text, 'error'), [`${code}: ${at}`]);
    });

  it('refuses what a release refuses, and warns where nobody names the release', () => {
    const third = { 'parallel.data': 'zero', 'zero.stage': 3 } as const;
    const severities = (more: string, versions: Versions, type?: string) =>
      read('llama-factory', 'file:///run/sft.yaml', small(more, type), third, versions)
        .problems.filter(({ severity }) => severity !== 'information' && severity !== 'hint')
        .map(({ code, severity }) => `${code} ${severity}`);
    // First releases that refuse (messages searched for in the repository at each tag), and the last before them.
    for (const [code, more, from, before, type] of [
      ['unsloth-zero3', 'use_unsloth: true', '0.8.0', '0.7.1'],
      ['pure-bf16-zero3', 'pure_bf16: true', '0.8.0', '0.7.1'],
      ['pissa-zero3', 'pissa_init: true', '0.8.3', '0.8.2'],
      ['generate-zero3', 'predict_with_generate: true', '0.9.0', '0.8.3'],
      ['resize-quantized', 'quantization_bit: 4\nresize_vocab: true', '0.7.0', '0.6.3'],
      ['adapter-without-lora', 'adapter_name_or_path: saved', '0.5.2', '0.5.0', 'full'],
      ['lora-only', 'use_dora: true', '0.8.3', '0.8.2', 'full'],
      ['lora-only', 'use_rslora: true', '0.8.3', '0.8.2', 'full'],
      ['lora-only', 'pissa_init: true', '0.8.3', '0.8.2', 'full'],
      ['lora-only', 'loraplus_lr_ratio: 16', '0.6.3', '0.6.2', 'full'],
      ['low-rank-optimizer-lora', 'use_badam: true', '0.8.0', '0.7.1'],
      ['two-low-rank-optimizers', 'use_galore: true\nuse_badam: true', '0.7.1', '0.7.0', 'full'],
    ] as const) {
      const release = (version: string) => ({ llamafactory: { version, source: 'stated' as const } });
      assert.ok(severities(more, release(from), type).includes(`${code} error`), code);
      assert.ok(!severities(more, release(before), type).some((found) => found.startsWith(code)), code);
      assert.ok(severities(more, {}, type).includes(`${code} warning`), code);
    }
    // Every release that has the key refuses.
    for (const [code, more, type] of [
      ['llama-pro-full', 'use_llama_pro: true', 'full'],
      ['low-rank-optimizer-deepspeed', 'use_galore: true\ndeepspeed: z.json', 'full'],
      ['low-rank-optimizer-lora', 'use_galore: true'],
      ['two-low-rank-optimizers', 'use_galore: true\nuse_apollo: true', 'full'],
      ['quantized-without-adapter', 'quantization_bit: 4', 'full'],
      ['fp8-quantized', 'fp8: true\nquantization_bit: 4'],
      ['pissa-quantized', 'pissa_init: true\nquantization_bit: 4'],
    ] as const)
      assert.ok(severities(more, {}, type).includes(`${code} error`), code);
  });

  it('stops at what ZeRO-3 and several GPUs exclude', () => {
    const third = { 'parallel.data': 'zero', 'zero.stage': 3 };
    for (const [code, more] of [
      ['pissa-zero3', 'pissa_init: true'],
      ['pure-bf16-zero3', 'pure_bf16: true'],
      ['unsloth-zero3', 'use_unsloth: true'],
      ['generate-zero3', 'predict_with_generate: true'],
    ] as const) {
      assert.deepEqual(refused(factory(small(more), third)), [code]);
      assert.deepEqual(refused(factory(small(more))), [], more);
    }
    const layerwise = small('use_galore: true\ngalore_layerwise: true', 'full');
    assert.deepEqual(refused(factory(layerwise, { 'hardware.gpus': 2 })), ['layerwise-distributed']);
    assert.deepEqual(refused(factory(layerwise, { 'hardware.gpus': 1 })), []);
  });

  for (const [more, type, stage] of ACCEPTED)
    it(`takes ${more.replaceAll('\n', ', ')} (${type ?? 'lora'}, ${stage ?? 'sft'})`, () =>
      assert.deepEqual(refused(factory(small(more, type, stage))), []));

  it('names keys without effect', () => {
    const text = small('lora_rank: 8\nlora_alpha: 16\nlora_dropout: 0.1\nlora_target: all', 'full');
    assert.deepEqual(complaints(factory(text), text, 'warning'), ['dead-key: lora_rank: 8']);
    assert.match(
      problemsOf(factory(text))
        .map(({ message }) => message)
        .join('\n'),
      /With `finetuning_type: full` these have no effect: `lora_rank`, `lora_alpha`, `lora_dropout`, `lora_target`\./,
    );
  });

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(factory(small('cutof_len: 4096')));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'cutoff_len']);
  });
});
