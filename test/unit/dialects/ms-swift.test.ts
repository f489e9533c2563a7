import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { findModel } from '../../../server/src/model/catalog';
import type { FieldPath } from '../../../server/src/run/fields';
import type { Versions } from '../../../server/src/run/versions';
import { problemsOf, read, refused, stated } from './reading';

const swift = (text: string, known = {}) => read('ms-swift', 'file:///w/sft.yaml', text, known);
const script = (text: string, known = {}) => read('launch-script', 'file:///w/run.sh', text, known);

function golden(reading: ReturnType<typeof swift>, expected: Partial<Record<FieldPath, string>>): void {
  for (const [field, value] of Object.entries(expected))
    assert.equal(stated(reading, field as FieldPath), value, field);
}

const BASE = `model: Qwen/Qwen2.5-7B-Instruct
tuner_type: lora
dataset: x
max_length: 2048
torch_dtype: bfloat16
`;

describe('ms-swift', () => {
  it('takes GPUs from the record of a run, where each has a process, and mends nothing in it', () => {
    const record = (processes: number, local: number) =>
      swift(
        `${BASE}swift_version: 4.6.0\nrank: 0\nglobal_world_size: ${processes}\nlocal_world_size: ${local}\nevaluation_strategy: steps\nmodel_dir: models/x\n`,
      );
    golden(record(16, 8), { 'hardware.gpus': '16 file', 'hardware.nodes': '2 file' });
    assert.deepEqual(problemsOf(record(16, 8)), []);
    // One process may have spread the model over several cards.
    assert.equal(stated(record(1, 1), 'hardware.gpus'), undefined);
  });

  it('reads adapters, batch and types, with its defaults', () => {
    golden(swift(BASE, { 'hardware.gpus': 4 }), {
      framework: 'ms-swift default',
      'model.id': 'Qwen/Qwen2.5-7B-Instruct file',
      'method.kind': 'lora file',
      'lora.rank': '8 default',
      'lora.alpha': '32 default',
      'lora.dropout': '0.05 default',
      'lora.targets': 'all-linear default',
      'lora.dtype': 'fp32 default',
      'batch.micro': '1 default',
      'batch.accumulation': '4 default',
      'batch.sequence': '2048 file',
      'batch.packed': 'false default',
      'precision.compute': 'bf16 file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'autocast file',
      'activations.checkpointing': 'full default',
      'evaluation.batch': '1 default',
      'parallel.data': 'ddp default',
    });
  });

  it('keeps adapters off the frozen towers, and counts what speaks as not estimated', () => {
    const swift = (text: string) => {
      const document = parseConfig('file:///w/sft.yaml', text);
      const model = findModel('Qwen/Qwen2.5-Omni-7B');
      return detectDialect(document)?.read(document, { known: {}, versions: {}, model }) ?? assert.fail();
    };
    const text = BASE.replace('Qwen2.5-7B-Instruct', 'Qwen2.5-Omni-7B');
    golden(swift(text), { 'features.unmodelled': 'speech-generator file' });
    assert.match(stated(swift(text), 'lora.exclude') ?? '', /visual.*audio_tower.* default$/);
    assert.equal(stated(swift(`${text}freeze_vit: false\n`), 'lora.exclude'), undefined);
    assert.equal(stated(swift(`${text}target_modules: q_proj\n`), 'lora.exclude'), undefined);
    // Full is the default of Megatron: what is frozen is so, too, where nobody names it.
    const full = text.replace('tuner_type: lora\n', 'micro_batch_size: 1\nglobal_batch_size: 4\n');
    const found = swift(full);
    golden(found, { 'method.kind': 'freeze default', 'features.unmodelled': undefined });
    assert.match(stated(found, 'method.trainable') ?? '', /layers/);
  });

  it('reads LISA in full training', () => {
    const full = swift(`${BASE.replace('type: lora', 'type: full')}lisa_activated_layers: 2\n`);
    golden(full, {
      'method.kind': 'lisa file',
      'method.trainableLayers': '2 file',
      'method.switchSteps': '20 default',
    });
    golden(swift(`${BASE}lisa_activated_layers: 2\n`), { 'method.kind': 'lora file' });
  });

  it('reads other kinds of adapters with ranks and dropouts of their own', () => {
    const kind = (name: string, rest = '') => swift(`${BASE.replace('type: lora', `type: ${name}`)}${rest}`);
    golden(kind('vera'), {
      'lora.kind': 'vera file',
      'lora.rank': '256 default',
      'lora.dropout': '0 default',
    });
    golden(kind('fourierft'), { 'lora.kind': 'fourierft file', 'lora.rank': '2000 default' });
    golden(kind('adalora'), { 'lora.rank': '12 default', 'lora.dropout': '0.05 default' });
    golden(kind('bone', 'reft_rank: 16\n'), { 'lora.kind': 'miss file', 'lora.rank': '16 file' });
    const near = kind('reft');
    golden(near, { 'method.kind': 'lora file', 'lora.rank': '8 default' });
    const tower = kind('lora_llm');
    // Whoever trains the tower, too, needs more: no verdict is "fits".
    golden(tower, { 'method.kind': 'lora file', 'features.unmodelled': 'vision-tower file' });
    const blocks = kind('llamapro');
    golden(blocks, {
      'method.kind': 'freeze file',
      'method.newLayers': '4 default',
      'method.trainableLayers': '4 default',
      'method.spreadLayers': 'true file',
    });
    golden(kind('llamapro', 'llamapro_num_new_blocks: 8\n'), { 'method.newLayers': '8 file' });
    assert.ok(near.problems.some(({ code }) => code === 'adapter-not-modelled'));
  });

  it('knows the configs of DeepSpeed that it brings', () => {
    const offloaded = swift(`${BASE}deepspeed: zero3_offload\n`);
    golden(offloaded, {
      'parallel.data': 'zero file',
      'zero.stage': '3 file',
      'offload.optimizer': 'cpu file',
      'offload.parameters': 'cpu file',
      'offload.pinMemory': 'true default',
      'zero.overlapCommunication': 'false default',
      'saving.weights': 'full default',
      'precision.scheme': 'deepspeed file',
    });
    assert.deepEqual(offloaded.links, []);
    golden(swift(`${BASE}deepspeed: zero2\n`), {
      'zero.stage': '2 file',
      'zero.reduceBucket': '200000000 default',
      'offload.optimizer': 'none file',
    });
    const named = swift(`${BASE}deepspeed: configs/z3.json\n`);
    assert.deepEqual(
      named.links.map(({ path, role }) => [path, role]),
      [['configs/z3.json', 'deepspeed']],
    );
    golden(swift(`${BASE}fsdp: fsdp2\n`), {
      'parallel.data': 'fsdp2 file',
      'loading.hostCopies': 'one default',
    });
  });

  it('reads alignment', () => {
    const dpo = swift('model: m\nrlhf_type: dpo\ntrain_type: full\ndataset: x\nmax_length: 1024\n');
    golden(dpo, { 'method.objective': 'dpo file', 'method.referenceModel': 'true default' });
    const grpo = swift(
      'model: m\nrlhf_type: grpo\ntuner_type: full\nbeta: 0\ndataset: x\nmax_length: 1024\nmax_completion_length: 512\nuse_vllm: true\nvllm_mode: colocate\nvllm_gpu_memory_utilization: 0.4\nsleep_level: 1\n',
    );
    golden(grpo, {
      'method.referenceModel': 'false file',
      'batch.sequence': '1536 file',
      'batch.accumulation': '1 default',
      'rollout.engine': 'vllm-colocate file',
      'rollout.sleep': 'true file',
      'hardware.reservedFraction': '0.4 file',
    });
    const own = 'model: m\nrlhf_type: grpo\ndataset: x\nmax_length: 1024\n';
    golden(swift(own), { 'rollout.engine': 'transformers default', 'rollout.steps': '0 default' });
    golden(swift(`${own}use_vllm: false\n`), { 'rollout.engine': 'transformers file' });
    golden(swift(`${own}steps_per_generation: 2\n`), { 'rollout.steps': '2 file' });
    golden(swift(`${own}generation_batch_size: 64\n`, { 'hardware.gpus': 4 }), {
      'rollout.batch': '16 file',
    });
  });

  it('reads quantization, old names and environment', () => {
    golden(swift(`${BASE}quant_method: bnb\nquant_bits: 4\n`), {
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true default',
    });
    golden(
      swift(
        'model_id_or_path: m\nsft_type: lora\ndataset: x\nmax_length: 512\nbatch_size: 2\nlora_target_modules: ALL\nquantization_bit: 8\nuse_flash_attn: true\n',
      ),
      {
        'batch.micro': '2 file',
        'lora.targets': 'all-linear file',
        'quantization.kind': 'int8 file',
        'attention.implementation': 'flash2 file',
      },
    );
    golden(swift(`ENV:\n  PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True\n${BASE}`), {
      'allocator.expandableSegments': 'true file',
    });
  });

  it('reads arguments of Megatron', () => {
    const megatron = swift(
      `${BASE}micro_batch_size: 2\nglobal_batch_size: 16\ntensor_model_parallel_size: 2\nsequence_parallel: true\npacking: true\nattn_impl: flash_attn\n`,
    );
    golden(megatron, {
      'model.code': 'megatron default',
      'batch.micro': '2 file',
      'batch.global': '16 file',
      'parallel.tensor': '2 file',
      'parallel.distributedOptimizer': 'true default',
      'activations.checkpointing': 'selective default',
      'loss.implementation': 'vocab-parallel-compiled default',
      'precision.scheme': 'megatron default',
    });
    golden(script('NPROC_PER_NODE=2 megatron pt --model m --max_length 4096\n'), {
      'method.kind': 'full default',
      'batch.micro': '1 default',
      'batch.global': '16 default',
      'batch.packed': 'true default',
    });
  });

  it('reports that layers which predict further tokens are left out', () => {
    const of = (layers: number) =>
      script(`NPROC_PER_NODE=2 megatron sft --model m --max_length 512 --mtp_num_layers ${layers}\n`);
    const codes = (layers: number) => of(layers).problems.map(({ code }) => code);
    assert.ok(codes(1).includes('further-tokens-left-out'));
    assert.ok(!codes(0).includes('further-tokens-left-out'));
  });

  it("takes Megatron's names of linear layers for those of the published model", () => {
    const flags = 'megatron sft --model m --max_length 512 --tuner_type lora --target_modules';
    golden(script(`NPROC_PER_NODE=2 ${flags} linear_qkv linear_fc2\n`), {
      'lora.targets': 'linear_qkv,q_proj,k_proj,v_proj,linear_fc2,down_proj file',
    });
  });

  it('reads the fusion of the loss', () => {
    const flags = 'NPROC_PER_NODE=2 megatron sft --model m --max_length 512';
    for (const [flag, implementation] of [
      ['--cross_entropy_loss_fusion true', 'vocab-parallel-compiled file'],
      ['--cross_entropy_loss_fusion false', 'vocab-parallel file'],
      ['--cross_entropy_loss_fusion true --cross_entropy_fusion_impl te', 'vocab-parallel file'],
      ['--cross_entropy_fusion_impl te', 'vocab-parallel default'],
    ] as const)
      golden(script(`${flags} ${flag}\n`), { 'loss.implementation': implementation });
  });

  it('reports when nothing limits the length', () => {
    const open = swift('model: m\ntuner_type: lora\ndataset: x\ntorch_dtype: bfloat16\n');
    assert.equal(stated(open, 'batch.sequence'), '2048 inferred');
    assert.ok(open.problems.some(({ code }) => code === 'missing-length-cap'));
  });

  it('freezes parts of multimodal models in full training', () => {
    const document = parseConfig('file:///w/sft.yaml', BASE.replace('lora', 'full'));
    const dialect = detectDialect(document);
    const model = { config: { model_type: 'qwen2_5_vl', vision_config: {} }, maxPositions: 32768 };
    const facts = dialect?.read(document, { known: {}, model }).facts ?? [];
    assert.equal(facts.find(({ field }) => field === 'method.kind')?.value, 'freeze');
    const trained = facts.find(({ field }) => field === 'method.trainable')?.value as readonly string[];
    const matches = (name: string) => trained.some((pattern) => new RegExp(`^(?:${pattern})`).test(name));
    assert.ok(matches('model.layers.0.mlp.up_proj.weight'));
    assert.ok(matches('model.language_model.layers.3.mlp.up_proj.weight'));
    assert.ok(!matches('model.visual.blocks.0.mlp.weight'));
    assert.ok(!matches('visual.merger.mlp.0.weight'));
  });

  it('reads what the module behind its command starts', () => {
    const launch = (command: string) =>
      script(
        `NPROC_PER_NODE=8 ${command} rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --deepspeed zero2\n`,
      );
    for (const command of ['swift', 'python -m swift.cli.main', '/env/bin/python swift/cli/main.py']) {
      golden(launch(command), {
        framework: 'ms-swift default',
        'method.kind': 'lora file',
        'method.objective': 'dpo file',
        'hardware.gpus': '8 file',
      });
      assert.deepEqual(launch(command).unread ?? [], [], command);
    }
    golden(
      script(
        'python -m swift.cli._megatron.main sft --model Qwen/Qwen2.5-7B-Instruct --tensor_model_parallel_size 2\n',
      ),
      { 'parallel.tensor': '2 file' },
    );
  });

  it('is distinguished from other families', () => {
    const family = (text: string) => detectDialect(parseConfig('file:///w/x.yaml', text))?.id;
    assert.equal(family('base_model: m\nadapter: lora\ndatasets: []\n'), 'axolotl');
    assert.equal(family('sampler_type: distill\nmodel: qwen-max\ndataset: x\n'), undefined);
    assert.equal(family('model: resnet\ndataset: cifar\nlr: 0.1\n'), undefined);
  });

  const rules: readonly (readonly [code: string, broken: string, sound: string])[] = [
    ['packing-without-flash', 'packing: true\nattn_impl: sdpa', 'packing: true\nattn_impl: flash_attn'],
    ['device-map-deepspeed', 'device_map: auto\ndeepspeed: zero3', 'device_map: auto\ndeepspeed: zero2'],
    ['packing-lazy', 'packing: true\nattn_impl: flash_attn\nlazy_tokenize: true', 'lazy_tokenize: true'],
    ['streaming-lazy', 'streaming: true\nlazy_tokenize: true', 'streaming: true'],
    ['bad-quantization-bits', 'quant_method: bnb\nquant_bits: 3', 'quant_method: hqq\nquant_bits: 3'],
    ['missing-quantization-bits', 'quant_method: bnb', 'quant_method: fp8'],
    ['needless-reference', 'rlhf_type: orpo\nref_model: m', 'rlhf_type: orpo'],
    [
      'vllm-mode-without-vllm',
      'rlhf_type: grpo\nvllm_mode: colocate',
      'rlhf_type: grpo\nuse_vllm: true\nvllm_mode: colocate',
    ],
    ['missing-vllm-mode', 'rlhf_type: grpo\nuse_vllm: true', 'rlhf_type: grpo'],
    ['too-few-generations', 'rlhf_type: grpo\nnum_generations: 1', 'rlhf_type: grpo\nnum_generations: 8'],
    [
      'selective-with-method',
      'micro_batch_size: 1\nrecompute_granularity: selective\nrecompute_method: uniform',
      'micro_batch_size: 1\nrecompute_granularity: full\nrecompute_method: uniform',
    ],
    [
      'uneven-without-pipeline',
      'micro_batch_size: 1\ndecoder_first_pipeline_num_layers: 5',
      'micro_batch_size: 1\npipeline_model_parallel_size: 2\ndecoder_first_pipeline_num_layers: 5',
    ],
    [
      'overlap-without-sequence-parallel',
      'micro_batch_size: 1\ntp_comm_overlap: true',
      'micro_batch_size: 1\ntp_comm_overlap: true\nsequence_parallel: true',
    ],
    [
      'grouped-padding-free',
      'micro_batch_size: 1\ngroup_by_length: true',
      'micro_batch_size: 1\ngroup_by_length: true\npadding_free: false',
    ],
    [
      'too-few-checkpoints',
      'micro_batch_size: 1\nsave_total_limit: 1',
      'micro_batch_size: 1\nsave_total_limit: 2',
    ],
  ];
  for (const [code, broken, sound] of rules)
    it(`refuses ${code}`, () => {
      assert.deepEqual(refused(swift(`${BASE}${broken}\n`)), [code]);
      assert.deepEqual(refused(swift(`${BASE}${sound}\n`)), []);
    });

  /** First releases that refuse (messages searched for in the repository at each tag), and the last before them. */
  const since: readonly (readonly [code: string, broken: string, from: string, before: string])[] = [
    ['packing-lazy', 'packing: true\nattn_impl: flash_attn\nlazy_tokenize: true', '3.7.0', '3.6.4'],
    ['packing-without-flash', 'packing: true', '3.5.0', '3.4.1'],
    ['packing-without-flash', 'padding_free: true', '3.5.0', '3.4.1'],
    ['streaming-lazy', 'streaming: true\nmax_steps: 9\nlazy_tokenize: true', '3.7.0', '3.6.4'],
    ['needless-reference', 'rlhf_type: ppo\ntrain_type: lora\nref_model: m', '3.1.0', '3.0.3'],
    ['vllm-mode-without-vllm', 'rlhf_type: grpo\nvllm_mode: colocate', '3.11.1', '3.11.0'],
    ['missing-vllm-mode', 'rlhf_type: grpo\nuse_vllm: true', '3.11.1', '3.10.3'],
    ['too-few-generations', 'rlhf_type: grpo\nnum_generations: 1', '4.4.0', '4.3.2'],
    [
      'uneven-without-pipeline',
      'micro_batch_size: 1\ndecoder_first_pipeline_num_layers: 5',
      '3.11.0',
      '3.10.3',
    ],
    ['overlap-without-sequence-parallel', 'micro_batch_size: 1\ntp_comm_overlap: true', '4.0.0', '3.12.6'],
    ['grouped-padding-free', 'micro_batch_size: 1\ngroup_by_length: true', '4.0.1', '4.0.0'],
    ['too-few-checkpoints', 'micro_batch_size: 1\nsave_total_limit: 1', '4.0.0', '3.12.6'],
  ];
  for (const [code, broken, from, before] of since)
    it(`refuses ${code} from ${from} on, and warns where nobody names the release`, () => {
      const at = (versions: Versions) =>
        read('ms-swift', 'file:///w/sft.yaml', `${BASE}${broken}\n`, {}, versions).problems.filter(
          (problem) => problem.code === code,
        );
      const release = (version: string) => ({ 'ms-swift': { version, source: 'stated' as const } });
      assert.deepEqual(
        at(release(from)).map(({ severity }) => severity),
        ['error'],
      );
      assert.deepEqual(at(release(before)), []);
      const [unsure] = at({});
      assert.equal(unsure?.severity, 'warning');
      assert.match(unsure.message, /ms-swift [\d.]+ is assumed: no file names the version\.$/);
    });

  it('takes the bits of ms-swift 2, which have another name', () => {
    for (const bits of ['quant_method: bnb\nquantization_bit: 4', 'quant_method: eetq'])
      assert.deepEqual(refused(swift(`${BASE}sft_type: lora\n${bits}\n`)), [], bits);
    assert.deepEqual(refused(swift(`${BASE}quant_method: bnb\n`)), ['missing-quantization-bits']);
  });

  it('warns of bits without a method', () => {
    const codes = (text: string) => problemsOf(swift(text), 'warning').map(({ code }) => code);
    assert.deepEqual(codes(`${BASE}quant_bits: 4\n`), ['dead-key']);
    assert.deepEqual(codes(`${BASE}quant_method: bnb\nquant_bits: 4\n`), []);
  });

  it('reports when one process spreads the layers over several GPUs', () => {
    const flags = '--model m --train_type lora --max_length 512';
    const codes = (text: string) => script(`${text}\n`).problems.map(({ code }) => code);
    assert.deepEqual(codes(`CUDA_VISIBLE_DEVICES=0,1 swift sft ${flags}`), ['layers-spread']);
    assert.deepEqual(codes(`CUDA_VISIBLE_DEVICES=0,1 swift sft ${flags} --deepspeed zero2`), [
      'sharding-without-processes',
    ]);
    assert.deepEqual(
      codes(`CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft ${flags} --deepspeed zero2`),
      [],
    );
    assert.deepEqual(codes(`CUDA_VISIBLE_DEVICES=0 swift sft ${flags} --deepspeed zero2`), []);
  });

  it('has the layers of such a process one after another on those GPUs', () => {
    const flags = '--model m --train_type lora --max_length 512';
    golden(script(`CUDA_VISIBLE_DEVICES=0,1,2 swift sft ${flags}\n`), {
      'hardware.gpus': '3 file',
      'parallel.pipeline': '3 file',
      'parallel.pipelineSchedule': 'sequential file',
    });
    golden(script(`CUDA_VISIBLE_DEVICES=0 swift sft ${flags}\n`), { 'parallel.pipeline': undefined });
  });

  it('splits no expert in Megatron unless asked to, and trains what is published in fp8', () => {
    golden(
      script('NPROC_PER_NODE=8 megatron sft --model m --max_length 512 --tensor_model_parallel_size 4\n'),
      {
        'parallel.tensor': '4 file',
        'parallel.expertTensor': '1 default',
        'quantization.kind': 'none default',
      },
    );
    golden(
      script('NPROC_PER_NODE=8 megatron sft --model m --max_length 512 --expert_tensor_parallel_size 2\n'),
      { 'parallel.expertTensor': '2 file' },
    );
  });

  it('takes flags under launchers, and places problems at their values', () => {
    const text =
      'torchrun --nproc_per_node 4 swift/cli/sft.py --model m --train_type lora --max_length 512 --packing true --attn_impl sdpa\n';
    const reading = script(text);
    assert.equal(stated(reading, 'hardware.gpus'), '4 file');
    const [problem] = problemsOf(reading, 'error');
    const range = problem?.range;
    assert.equal(text.slice(range?.start.character, range?.end.character), 'true');
    const config = script('NPROC_PER_NODE=8 swift sft configs/sft.yaml --max_length 4096\n');
    assert.deepEqual(
      config.links.map(({ path }) => path),
      ['configs/sft.yaml'],
    );
    golden(config, { 'batch.sequence': '4096 file', 'batch.micro': undefined, 'lora.rank': undefined });
  });
});

describe('tasks of ms-swift', () => {
  it('other than the next token have no logits of the vocabulary', () => {
    const flags = 'swift sft --model Qwen/Qwen2.5-0.5B --max_length 512 --train_type lora';
    golden(script(`${flags} --task_type seq_cls --num_labels 2\n`), {
      'method.objective': 'classification file',
    });
    golden(script(`${flags} --num_labels 1\n`), { 'method.objective': 'classification file' });
    golden(script(`${flags} --task_type causal_lm\n`), { 'method.objective': undefined });
  });
});

describe('models beside the one that ms-swift trains', () => {
  const flags = 'swift rlhf --model Qwen/Qwen2.5-7B --max_length 512 --tuner_type full';

  it('are the teacher of distillation, unless it waits in host memory', () => {
    const teacher = `NPROC_PER_NODE=4 ${flags} --rlhf_type gkd --teacher_model Qwen/Qwen2.5-14B-Instruct`;
    golden(script(`${teacher}\n`), { 'method.frozenParameters': '14770033664 file' });
    golden(script(`${teacher} --offload_teacher_model true\n`), { 'method.frozenParameters': undefined });
    // ZeRO 3 of its own shards it, beside a model that lies whole on every GPU.
    const sharded = script(`${teacher} --deepspeed zero2 --teacher_deepspeed zero3\n`);
    golden(sharded, {
      'method.frozenParameters': undefined,
      'features.unmodelled': 'distillation-teacher file',
    });
    assert.deepEqual(
      (sharded.unread ?? []).filter(({ text }) => text.includes('teacher_deepspeed')),
      [],
    );
    golden(script(`${teacher} --deepspeed zero3 --teacher_deepspeed zero2\n`), {
      'method.frozenParameters': '14770033664 file',
      'method.frozenSharded': 'false file',
    });
  });

  it('are a reference, where Megatron trains in full by default', () => {
    const dpo = 'NPROC_PER_NODE=2 megatron rlhf --model m --max_length 512 --rlhf_type dpo';
    golden(script(`${dpo}\n`), { 'method.kind': 'full default', 'method.referenceModel': 'true default' });
    golden(script(`${dpo} --tuner_type lora\n`), { 'method.referenceModel': 'false default' });
  });

  it('teach by their logits, in chunks or fused, unless a server or its best logits do', () => {
    const gkd = `NPROC_PER_NODE=4 ${flags} --rlhf_type gkd`;
    golden(script(`${gkd} --teacher_model Qwen/Qwen2.5-14B --offload_teacher_model true\n`), {
      'method.teacher': 'Qwen/Qwen2.5-14B file',
      'loss.divergence': 'mixture default',
      'loss.implementation': 'divergence-chunks default',
    });
    golden(script(`${gkd} --beta 1.0 --use_liger_kernel true --teacher_model Qwen/Qwen2.5-14B\n`), {
      'loss.divergence': 'reverse file',
      'loss.implementation': 'liger file',
    });
    golden(script(`${gkd} --beta 0\n`), { 'method.teacher': undefined, 'loss.divergence': 'forward file' });
    for (const other of ['--teacher_model_server http://a:8000', '--gkd_logits_topk 64'])
      golden(script(`${gkd} ${other}\n`), { 'loss.divergence': undefined });
  });

  it('are reward model and value model of PPO', () => {
    const ppo = `NPROC_PER_NODE=4 ${flags} --rlhf_type ppo --reward_model our/reward`;
    golden(script(`${ppo}\n`), {
      'method.frozenModels': '1 file',
      'method.valueModel': 'true default',
      'method.valueTogether': 'true default',
    });
  });

  it('lay samples in one row without padding: by themselves in Megatron, else where asked', () => {
    const megatron =
      'NPROC_PER_NODE=2 megatron sft --model Qwen/Qwen2.5-7B-Instruct --micro_batch_size 16 --max_length 2048';
    golden(script(`${megatron}\n`), { 'batch.packed': 'true default', 'batch.paddingFree': 'true default' });
    golden(script(`${megatron} --padding_free false\n`), {
      'batch.packed': 'false file',
      'batch.paddingFree': 'false file',
    });
    golden(script(`${megatron} --packing true\n`), {
      'batch.packed': 'true file',
      'batch.paddingFree': undefined,
    });
    const hf =
      'swift sft --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 16 --max_length 2048';
    golden(script(`${hf} --padding_free true\n`), {
      'batch.packed': 'true file',
      'batch.paddingFree': 'true file',
    });
    golden(script(`${hf} --packing true --padding_free true\n`), {
      'batch.packed': 'true file',
      'batch.paddingFree': undefined,
    });
  });
});
