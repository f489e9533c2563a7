import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { factOf, read } from './reading';

const FAMILIES: Readonly<Record<string, string>> = {
  'a.yaml': 'llama-factory',
  'b.yaml': 'axolotl',
  'ds.json': 'deepspeed',
  't.toml': 'torchtitan',
  'm.yaml': 'llm-foundry',
  'pretrain.yaml': 'litgpt',
  'n.yaml': 'nanotron',
};
const readingOf = (file: string, text: string) => read(FAMILIES[file] ?? '', `file:///${file}`, text);

const LLAMA_FACTORY =
  'model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\n';
const AXOLOTL =
  'base_model: Qwen/Qwen2.5-7B\ndatasets: [{path: x, type: alpaca}]\nadapter: lora\nmicro_batch_size: 1\n';
const TITAN = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n';
const FOUNDRY =
  'global_train_batch_size: 8\nmax_seq_len: 2048\nmodel: {name: mpt_causal_lm}\nmax_duration: 10ba\nfsdp_config: {}\ntrain_loader:\n  name: text\n';
const DEEPSPEED = '"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}';
const stage3 = (more: string) => `{${DEEPSPEED}, "zero_optimization": {"stage": 3, ${more}}}`;

const nanotron = (more: string) =>
  `parallelism: {dp: 1, tp: 2, pp: 1, ${more}}\ntokens: {sequence_length: 64, micro_batch_size: 1}\n`;

/** File, its text, and the feature that a key of it brings in; undefined where the key is off. */
const CASES: readonly (readonly [uri: string, text: string, feature: string | undefined])[] = [
  ['a.yaml', `${LLAMA_FACTORY}use_badam: true\n`, 'block-training'],
  ['a.yaml', `${LLAMA_FACTORY}use_badam: false\n`, undefined],
  ['a.yaml', `${LLAMA_FACTORY}use_kt: true\n`, 'experts-on-host'],
  ['a.yaml', `${LLAMA_FACTORY}use_asft_loss: true\n`, 'reference-model'],
  ['a.yaml', `${LLAMA_FACTORY}mixture_of_depths: convert\n`, 'mixture-of-depths'],
  ['a.yaml', `${LLAMA_FACTORY}tensor_model_parallel_size: 4\n`, 'megatron-backend'],
  ['a.yaml', `${LLAMA_FACTORY}tensor_model_parallel_size: 1\n`, undefined],
  ['a.yaml', `${LLAMA_FACTORY}use_distributed_optimizer: true\n`, 'megatron-backend'],
  [
    'ds.json',
    `{${DEEPSPEED}, "compression_training": {"layer_reduction": {"enabled": true}}}`,
    'compression',
  ],
  ['ds.json', `{${DEEPSPEED}, "compression_training": {"layer_reduction": {"enabled": false}}}`, undefined],
  ['ds.json', `{${DEEPSPEED}, "sparse_attention": {"mode": "fixed", "block": 16}}`, 'sparse-attention'],
  ['ds.json', `{${DEEPSPEED}, "hybrid_engine": {"enabled": true}}`, 'rollout-buffers'],
  ['ds.json', `{${DEEPSPEED}, "msamp": {"enabled": true, "opt_level": "O2"}}`, 'fp8-training'],
  ['ds.json', stage3('"zero_quantized_weights": true'), 'quantized-communication'],
  ['ds.json', stage3('"zero_quantized_weights": false'), undefined],
  [
    'ds.json',
    stage3('"offload_optimizer": {"device": "cpu"}, "zenflow": {"topk_ratio": 0.1}'),
    'partial-offload',
  ],
  ['b.yaml', `${AXOLOTL}layer_offloading: true\n`, 'layer-offload'],
  ['b.yaml', `${AXOLOTL}tiled_mlp: true\n`, 'tiled-mlp'],
  ['n.yaml', nanotron('tp_mode: REDUCE_SCATTER, tp_recompute_allgather: false'), 'kept-gathers'],
  ['n.yaml', nanotron('tp_mode: REDUCE_SCATTER, tp_recompute_allgather: true'), undefined],
  ['n.yaml', nanotron('tp_mode: ALL_REDUCE, tp_recompute_allgather: false'), undefined],
];

const featuresOf = (uri: string, text: string) => factOf(readingOf(uri, text), 'features.unmodelled')?.value;

/** Keys that decided nothing here, and what they state. */
const DECIDING: readonly (readonly [uri: string, text: string, field: FieldPath, value: string | number])[] =
  [
    ['a.yaml', `${LLAMA_FACTORY}fp8: true\n`, 'precision.fp8', 'torchao'],
    ['a.yaml', `${LLAMA_FACTORY}fp8: true\nfp8_backend: te\n`, 'precision.fp8', 'transformer-engine'],
    ['b.yaml', `${AXOLOTL}fp8: true\n`, 'precision.fp8', 'torchao'],
    ['b.yaml', `${AXOLOTL}use_ray: true\nray_num_workers: 4\n`, 'hardware.gpus', 4],
    ['t.toml', `${TITAN}[float8]\nenable_float8_linear = true\n`, 'precision.fp8', 'torchao'],
    ['m.yaml', `${FOUNDRY}  dataset: {max_seq_len: 1024}\n`, 'batch.sequence', 1024],
  ];

describe('keys that decide memory', () => {
  for (const [uri, text, field, value] of DECIDING)
    it(`${text.trim().split('\n').at(-1)}: ${field} is ${value}`, () => {
      assert.deepEqual(factOf(readingOf(uri, text), field)?.value, value);
    });

  it('leave the model of litgpt open that is spelled out, and parts that are frozen by name', () => {
    const left = (uri: string, text: string) =>
      (readingOf(uri, text).unread ?? []).map(({ fields }) => fields?.[0]);
    const litgpt = (more: string) =>
      `model_name: pythia-14m\n${more}out_dir: out\nprecision: bf16-mixed\ntrain:\n  micro_batch_size: 1\ndata: TinyStories\n`;
    assert.deepEqual(left('pretrain.yaml', litgpt('')), []);
    assert.deepEqual(left('pretrain.yaml', litgpt('model_config:\n  n_layer: 6\n')), ['model.id']);
    const frozen = LLAMA_FACTORY.replace('full', 'freeze');
    assert.deepEqual(left('a.yaml', `${frozen}freeze_trainable_modules: all\n`), []);
    assert.deepEqual(left('a.yaml', `${frozen}freeze_extra_modules: embed_tokens\n`), ['method.kind']);
  });
});

describe('flags of Megatron that bring in what is not modelled', () => {
  const GPT =
    'torchrun --nproc_per_node 8 train.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 8 --bf16';
  const CASES: readonly (readonly [flags: string, features: readonly string[] | undefined])[] = [
    ['--vision-model-type clip --language-model-type llama3_8b', ['vision-tower']],
    ['--vision-model-type internvit --freeze-LM --freeze-ViT', ['vision-tower', 'frozen-modules']],
    [
      '--model-provider llava_avlm --audio-encoder-model openai/whisper-base',
      ['model-of-the-script', 'sound-tower'],
    ],
    ['--model-provider mock', undefined],
    ['--freeze-all-layers', ['frozen-modules']],
  ];
  for (const [flags, features] of CASES)
    it(flags, () => {
      const reading = read('launch-script', 'file:///run.sh', `${GPT} ${flags}\n`);
      assert.deepEqual(factOf(reading, 'features.unmodelled')?.value, features);
    });
});

describe('keys that bring in what is not modelled', () => {
  for (const [uri, text, feature] of CASES) {
    const line = text.replace(LLAMA_FACTORY, '').replace(`{${DEEPSPEED}, `, '').trim().split('\n').at(-1);
    it(`${line}: ${feature ?? 'nothing'}`, () => {
      assert.deepEqual(featuresOf(uri, text), feature === undefined ? undefined : [feature]);
    });
  }

  it('are reported together', () => {
    const text = `${LLAMA_FACTORY}use_kt: true\nuse_asft_loss: true\n`;
    assert.deepEqual(featuresOf('a.yaml', text), ['experts-on-host', 'reference-model']);
  });
});
