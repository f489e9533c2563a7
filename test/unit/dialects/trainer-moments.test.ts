import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { problemsOf, read, refused, stated } from './reading';

const BASE = `per_device_train_batch_size: 2
output_dir: o
learning_rate: 1.0e-5
`;
const hf = (more: string, known = {}) =>
  read('hf-training-arguments', 'file:///w/args.yaml', `${BASE}${more}`, known);

function golden(reading: ReturnType<typeof hf>, expected: Partial<Record<FieldPath, string>>): void {
  for (const [field, value] of Object.entries(expected))
    assert.equal(stated(reading, field as FieldPath), value, field);
}

describe('TrainingArguments', () => {
  it('read batch, precision and optimizer, with the defaults of the Trainer', () => {
    golden(hf('bf16: true\ngradient_accumulation_steps: 4\nmax_seq_length: 1024\nmax_steps: 100\n'), {
      framework: 'transformers default',
      'batch.micro': '2 file',
      'batch.accumulation': '4 file',
      'batch.sequence': '1024 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'activations.checkpointing': 'none default',
      'schedule.steps': '100 file',
      'parallel.data': 'ddp default',
    });
    golden(hf('', { 'version.torch': '2.8' }), { 'optimizer.implementation': 'fused default' });
    golden(hf('', { 'version.torch': '2.7' }), { 'optimizer.implementation': 'foreach default' });
  });

  it('read what evaluation keeps', () => {
    golden(
      hf(
        'eval_strategy: steps\neval_accumulation_steps: 4\neval_do_concat_batches: false\nuse_cache: true\n',
      ),
      {
        'evaluation.enabled': 'true file',
        'evaluation.batch': '8 default',
        'evaluation.accumulation': '4 file',
        'evaluation.concatenates': 'false file',
        'evaluation.keepsCache': 'true file',
        'evaluation.generatedTokens': undefined,
      },
    );
    golden(hf('batch_eval_metrics: true\n'), { 'evaluation.accumulation': '1 file' });
    golden(hf('batch_eval_metrics: false\n'), { 'evaluation.accumulation': undefined });
    golden(hf('predict_with_generate: true\ngeneration_max_length: 128\ngeneration_num_beams: 4\n'), {
      'evaluation.generatedTokens': '128 file',
      'evaluation.beams': '4 file',
    });
    golden(hf('predict_with_generate: true\n'), { 'evaluation.generatedTokens': '20 default' });
    const lengths = 'max_source_length: 512\nmax_target_length: 64\n';
    golden(hf(`predict_with_generate: true\n${lengths}`), { 'evaluation.generatedTokens': '64 file' });
    golden(hf(`predict_with_generate: true\n${lengths}val_max_target_length: 96\n`), {
      'evaluation.generatedTokens': '96 file',
      'batch.targetSequence': '64 file',
    });
  });

  it('read nested arguments and lengths of input and output', () => {
    const nested = read(
      'hf-training-arguments',
      'file:///w/lora.yaml',
      `max_input_length: 256
max_output_length: 512
training_args:
  per_device_train_batch_size: 1
  output_dir: o
  deepspeed: ds.json
peft_config:
  peft_type: LORA
  r: 8
`,
    );
    golden(nested, { 'batch.sequence': '768 file', 'batch.micro': '1 file', 'lora.rank': '8 file' });
    assert.deepEqual(
      nested.links.map(({ path, role }) => [path, role]),
      [['ds.json', 'deepspeed']],
    );
  });

  const rules: readonly (readonly [code: string, broken: string, sound: string])[] = [
    ['two-precisions', 'bf16: true\nfp16: true', 'bf16: true\nfp16: false'],
    ['fsdp1-strategy', 'fsdp: hybrid_shard auto_wrap', 'fsdp: full_shard auto_wrap'],
    ['fsdp1-strategy', 'fsdp: no_shard', 'fsdp: no_shard\nfsdp_config: {version: 1}'],
    ['two-shardings', 'fsdp: full_shard auto_wrap\ndeepspeed: z.json', 'deepspeed: z.json'],
    ['unknown-optimizer', 'optim: adamw_torhc', 'optim: adamw_torch'],
    [
      'checkpointing-twice',
      'fsdp: full_shard auto_wrap\ngradient_checkpointing: true\nfsdp_config: {activation_checkpointing: true}',
      'fsdp: full_shard auto_wrap\nfsdp_config: {activation_checkpointing: true}',
    ],
  ];
  for (const [code, broken, sound] of rules)
    it(`refuse ${code}`, () => {
      assert.deepEqual(refused(hf(`${broken}\n`)), [code]);
      assert.deepEqual(refused(hf(`${sound}\n`)), []);
    });

  it('place a problem at its value', () => {
    const [problem] = problemsOf(hf('optim: adamw_torhc\n'), 'error');
    assert.deepEqual(problem?.range, { start: { line: 3, character: 7 }, end: { line: 3, character: 18 } });
  });
});

describe('loading, saving and offload', () => {
  const accelerate = (block: string) =>
    read('accelerate', 'file:///w/acc.yaml', `compute_environment: LOCAL_MACHINE\n${block}`);
  const deepspeed = (zero: object, known = {}) =>
    read('deepspeed', 'file:///w/ds.json', JSON.stringify({ zero_optimization: zero }), known);

  it('are read from Accelerate', () => {
    golden(
      accelerate(
        'distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n  zero3_init_flag: false\n  zero3_save_16bit_model: true\n',
      ),
      { 'loading.placement': 'host file', 'saving.weights': 'full file' },
    );
    golden(
      accelerate(
        'distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n  zero3_init_flag: false\n',
      ),
      { 'loading.placement': undefined },
    );
    golden(
      accelerate(
        'distributed_type: FSDP\nfsdp_config:\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n',
      ),
      { 'loading.hostCopies': 'one file', 'saving.weights': 'sharded file' },
    );
    golden(
      accelerate(
        'distributed_type: FSDP\nfsdp_config:\n  fsdp_cpu_ram_efficient_loading: false\n  fsdp_state_dict_type: FULL_STATE_DICT\n',
      ),
      { 'loading.hostCopies': 'every-process file', 'saving.weights': 'full file' },
    );
  });

  it('are read from the FSDP of the Trainer', () => {
    golden(
      hf(
        'fsdp: full_shard auto_wrap\nfsdp_config: {cpu_ram_efficient_loading: true, fsdp_state_dict_type: FULL_STATE_DICT}\n',
      ),
      { 'loading.hostCopies': 'one file', 'saving.weights': 'full file' },
    );
    golden(hf('fsdp: full_shard auto_wrap\n'), {
      'loading.hostCopies': undefined,
      'saving.weights': undefined,
    });
  });

  it('are read from DeepSpeed', () => {
    golden(
      deepspeed({
        stage: 3,
        stage3_gather_16bit_weights_on_model_save: true,
        offload_optimizer: { device: 'nvme', nvme_path: '/x', buffer_count: 6 },
        offload_param: {
          device: 'nvme',
          nvme_path: '/x',
          buffer_count: 7,
          buffer_size: 1e8,
          max_in_cpu: 5e8,
        },
      }),
      {
        'saving.weights': 'full file',
        'offload.optimizerBuffers': '6 file',
        'offload.parameterBuffers': '7 file',
        'offload.parameterBufferSize': '100000000 file',
        'offload.parametersInHost': '500000000 file',
      },
    );
    const offloaded = { stage: 2, offload_optimizer: { device: 'cpu' } };
    golden(deepspeed(offloaded, { 'version.deepspeed': '0.19.4' }), { 'offload.pinMemory': 'false default' });
    golden(deepspeed(offloaded, { 'version.deepspeed': '0.19.5' }), { 'offload.pinMemory': 'true default' });
  });
});
