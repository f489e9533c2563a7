import assert from 'node:assert/strict';
import { assertStates, complaints, problemsOf, read, refused } from './reading';

const titan = (text: string, known = {}) =>
  read('torchtitan', 'file:///train_configs/llama3_8b.toml', text, known);

const LLAMA = `
[job]
dump_folder = "./outputs"

[model]
name = "llama3"
flavor = "8B"

[optimizer]
name = "AdamW"
lr = 3e-4

[training]
local_batch_size = 1
seq_len = 8192
max_norm = 1.0
steps = 1000

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 1

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"

[compile]
enable = true
components = ["model", "loss"]
`;

/** As files of 2024 had it: parallelism among the training, and experiments. */
const OLD = `
[job]
dump_folder = "./outputs"
[model]
name = "llama2"
flavor = "7B"
[training]
batch_size = 4
seq_len = 2048
steps = 10
data_parallel_degree = -1
tensor_parallel_degree = 1
compile = false
[experimental]
pipeline_parallel_degree = 2
[activation_checkpoint]
mode = "full"
`;

const small = (more: string) => `[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 2
[parallelism]
${more}
`;

describe('torchtitan', () => {
  it('reads the names that degrees had in the first releases', () => {
    const first = (degrees: string) =>
      `[model]\nname = "llama2"\nflavor = "13B"\n[training]\nbatch_size = 8\nseq_len = 2048\n${degrees}`;
    const facts = (degrees: string, field: string) =>
      titan(first(degrees)).facts.flatMap((fact) => (fact.field === field ? [fact.value] : []));
    const two = 'data_parallel_degree = -1\nsequence_parallel_degree = 2\n';
    assert.deepEqual(facts(two, 'parallel.tensor'), [2]);
    assert.deepEqual(facts(two, 'parallel.data'), ['fsdp2']);
    assert.deepEqual(facts(two, 'loss.implementation'), ['vocab-parallel']);
    const alone = 'data_parallel_degree = 1\nsequence_parallel_degree = 2\n';
    assert.deepEqual(facts(alone, 'parallel.data'), ['none']);
  });

  it('mixes no types where tensor parallelism stands alone', () => {
    const types = (more: string, gpus?: number) => {
      const { facts } = titan(small(more), gpus === undefined ? {} : { 'hardware.gpus': gpus });
      return (['precision.compute', 'precision.scheme', 'precision.weights', 'parallel.data'] as const).map(
        (field) => facts.find((fact) => fact.field === field)?.value,
      );
    };
    const alone = ['fp32', 'native', 'fp32', 'none'];
    const sharded = ['bf16', 'fsdp', 'fp32', 'fsdp2'];
    assert.deepEqual(types('tensor_parallel_degree = 8', 8), alone);
    assert.deepEqual(types('tensor_parallel_degree = 8\ndata_parallel_shard_degree = 1'), alone);
    assert.deepEqual(types('pipeline_parallel_degree = 4\ndata_parallel_replicate_degree = 2', 8), [
      ...alone.slice(0, 3),
      'ddp',
    ]);
    assert.deepEqual(types('tensor_parallel_degree = 8', 16), sharded);
    assert.deepEqual(types('tensor_parallel_degree = 8'), sharded);
    assert.deepEqual(types('tensor_parallel_degree = 4\ncontext_parallel_degree = 2', 8), sharded);
    assert.deepEqual(types('', 8), sharded);
  });

  it('reads a config of today', () => {
    const reading = titan(LLAMA, { 'hardware.gpus': 8 });
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'batch.micro': '1 file',
      'batch.accumulation': '1 default',
      'batch.sequence': '8192 file',
      'parallel.data': 'fsdp2 default',
      'parallel.tensor': '2 file',
      'parallel.sequence': 'true default',
      'parallel.pipeline': '1 file',
      'fsdp.strategy': 'full default',
      'fsdp.separateEnds': 'true default',
      'precision.compute': 'bf16 default',
      'precision.masterWeights': 'fp32 default',
      'precision.reduce': 'fp32 default',
      'precision.scheme': 'fsdp default',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused default',
      'activations.checkpointing': 'selective file',
      'loss.implementation': 'vocab-parallel default',
      'kernels.compile': 'true file',
      'schedule.steps': '1000 file',
      'evaluation.enabled': 'false default',
      'allocator.expandableSegments': 'true default',
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads a config of 2024', () => {
    const reading = titan(OLD);
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-2-7b-hf file',
      'batch.micro': '1 file',
      'batch.accumulation': '4 file',
      'parallel.pipeline': '2 file',
      'fsdp.strategy': 'grad-op default',
      'activations.checkpointing': 'full file',
      'kernels.compile': 'false file',
    });
    assert.deepEqual(refused(reading), []);
  });

  it('gives back what ends the model only where it always reshards', () => {
    const policy = (word: string) => titan(small(`[parallelism]\nfsdp_reshard_after_forward = "${word}"\n`));
    assertStates(policy('always'), { 'fsdp.strategy': 'full file', 'fsdp.reshardsEnds': 'true file' });
    for (const word of ['default', 'never'])
      assertStates(policy(word), { 'fsdp.reshardsEnds': 'false file' });
  });

  it('accumulates what a global batch has beyond all ranks', () => {
    const text =
      '[job]\n[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 2\nglobal_batch_size = 64\n';
    assertStates(titan(text, { 'hardware.gpus': 8 }), {
      'batch.micro': '2 file',
      'batch.accumulation': '4 file',
    });
    assertStates(titan(text), { 'batch.accumulation': undefined });
  });

  it('cuts the batch of a rank into the micro batches of a pipeline, by every schedule', () => {
    for (const [name, schedule] of [
      ['1F1B', '1f1b'],
      ['GPipe', 'gpipe'],
      ['Interleaved1F1B', 'interleaved'],
      ['interleavedzerobubble', 'zero-bubble'],
      ['ZBVZeroBubble', 'zbv'],
      ['DualPipeV', 'dualpipev'],
    ])
      assertStates(
        titan(
          small(
            `pipeline_parallel_degree = 2\npipeline_parallel_schedule = "${name}"\npipeline_parallel_microbatch_size = 2`,
          ).replace('local_batch_size = 2', 'local_batch_size = 8'),
        ),
        {
          'parallel.pipelineSchedule': `${schedule} file`,
          'batch.micro': '2 file',
          'batch.accumulation': '4 file',
        },
      );
  });

  it('checkpoints every n-th layer', () => {
    const document = small('').replace(
      '[parallelism]',
      '[activation_checkpoint]\nmode = "selective"\nselective_ac_option = "2"',
    );
    assertStates(titan(document), {
      'activations.checkpointing': 'full file',
      'activations.layers': undefined,
    });
    assertStates(titan(small('').replace('[parallelism]', '[activation_checkpoint]\nmode = "none"')), {
      'activations.checkpointing': 'none file',
    });
    assertStates(titan(small('')), { 'activations.checkpointing': 'selective default' });
  });

  it('reads precision, offload and float8', () => {
    const text = `[model]
name = "llama3"
flavor = "debugmodel"
converters = ["float8"]
[training]
seq_len = 512
dtype = "bfloat16"
mixed_precision_param = "float32"
enable_cpu_offload = true
[optimizer]
early_step_in_backward = true
`;
    assertStates(titan(text), {
      'precision.weights': 'bf16 file',
      'precision.masterWeights': 'bf16 file',
      'precision.compute': 'fp32 file',
      'precision.scheme': 'native default',
      'precision.fp8': 'torchao file',
      'offload.parameters': 'cpu file',
      'offload.optimizer': 'cpu file',
      'optimizer.inBackward': 'true file',
      'batch.micro': '8 default',
      'model.config': '[object Object] file',
    });
  });

  it('sees slips of the keyboard inside of blocks', () => {
    const text = small('tensor_paralel_degree = 2');
    const [slip, ...more] = problemsOf(titan(text));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'tensor_parallel_degree']);
    assert.deepEqual(more, []);
  });

  it('stops at degrees that make no mesh', () => {
    for (const [code, more, gpus] of [
      ['degree-out-of-range', 'tensor_parallel_degree = 0', undefined],
      ['degree-out-of-range', 'tensor_parallel_degree = -1', undefined],
      ['degree-out-of-range', 'data_parallel_shard_degree = 0', undefined],
      ['parallel-sizes', 'tensor_parallel_degree = 3', 8],
      ['parallel-sizes', 'data_parallel_shard_degree = 2', 8],
    ] as const) {
      const text = small(more);
      assert.deepEqual(complaints(titan(text, { 'hardware.gpus': gpus }), text, 'error'), [
        `${code}: ${more}`,
      ]);
    }
    for (const more of [
      'tensor_parallel_degree = 8',
      'data_parallel_shard_degree = 8',
      'data_parallel_shard_degree = -1',
    ])
      assert.deepEqual(refused(titan(small(more), { 'hardware.gpus': 8 })), [], more);
  });
});
