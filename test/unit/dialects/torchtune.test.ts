import assert from 'node:assert/strict';
import type { Versions } from '../../../server/src/run/versions';
import { assertStates, complaints, factOf, problemsOf, read, refused } from './reading';

const tune = (text: string, name = '8B_full.yaml', known = {}) =>
  read('torchtune', `file:///recipes/configs/llama3_1/${name}`, text, known);

// Interpolation of OmegaConf, in a text that TypeScript would take for its own.
const at = (path: string) => `$\{${path}}`;

const FULL = `
output_dir: /tmp/torchtune/llama3_1_8B/full
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/tokenizer.model
  max_seq_len: 4096
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: True
model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
batch_size: 2
epochs: 2
max_steps_per_epoch: 50
gradient_accumulation_steps: 8
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
  fused: True
optimizer_in_bwd: False
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
device: cuda
dtype: bf16
enable_activation_checkpointing: True
enable_activation_offloading: False
compile: False
`;

const QLORA = `
model:
  _component_: torchtune.models.llama2.qlora_llama2_7b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  apply_lora_to_output: False
  lora_rank: 8
  lora_alpha: 16
  lora_dropout: 0.0
tokenizer: {_component_: torchtune.models.llama2.llama2_tokenizer, max_seq_len: null}
batch_size: ${at('size')}
size: 4
optimizer: {_component_: torch.optim.AdamW}
loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}
dtype: bf16
`;

const small = (more: string) => `model: {_component_: torchtune.models.llama2.llama2_7b}
tokenizer: {_component_: torchtune.models.llama2.llama2_tokenizer, max_seq_len: 512}
batch_size: 1
optimizer: {_component_: torch.optim.AdamW}
${more}
`;

const REFUSED: readonly (readonly [code: string, more: string, at: string])[] = [
  ['fp16-refused', 'dtype: fp16', 'dtype: fp16'],
  [
    'offload-without-checkpointing',
    'enable_activation_offloading: True',
    'enable_activation_offloading: True',
  ],
  [
    'in-backward-accumulation',
    'optimizer_in_bwd: True\ngradient_accumulation_steps: 2',
    'optimizer_in_bwd: True',
  ],
  ['in-backward-clipping', 'optimizer_in_bwd: True\nclip_grad_norm: 1.0', 'optimizer_in_bwd: True'],
  ['missing-plan', 'tensor_parallel_dim: 2', 'tensor_parallel_dim: 2'],
];

describe('torchtune', () => {
  // Recipes of v0.3.1 and v0.4.0.
  for (const [code, more] of [
    ['offload-without-checkpointing', 'enable_activation_offloading: True'],
    ['in-backward-clipping', 'optimizer_in_bwd: True\nclip_grad_norm: 1.0'],
  ] as const)
    it(`refuses ${code} from 0.4 on, and warns where nobody names the release`, () => {
      const severities = (versions: Versions) =>
        read('torchtune', 'file:///run/tune.yaml', small(more), {}, versions).problems.flatMap((problem) =>
          problem.code === code ? [problem.severity] : [],
        );
      const release = (version: string) => ({ torchtune: { version, source: 'stated' as const } });
      assert.deepEqual(severities(release('0.4.0')), ['error']);
      assert.deepEqual(severities(release('0.3.1')), []);
      assert.deepEqual(severities({}), ['warning']);
    });

  it('reads a full fine-tune', () => {
    const reading = tune(FULL);
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'model.code': 'torchtune default',
      'method.kind': 'full file',
      'batch.micro': '2 file',
      'batch.accumulation': '8 file',
      'batch.sequence': '4096 file',
      'batch.packed': 'true file',
      'precision.weights': 'bf16 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'native file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'fused file',
      'optimizer.inBackward': 'false file',
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'false default',
      'activations.offload': 'false file',
      'loss.implementation': 'linear-chunked file',
      'parallel.data': 'fsdp2 default',
      'fsdp.strategy': 'full default',
      'schedule.steps': '100 file',
      'kernels.compile': 'false file',
    });
    assert.deepEqual(problemsOf(reading), []);
    assert.equal(factOf(reading, 'batch.sequence')?.origin.key, 'tokenizer.max_seq_len');
  });

  it('cuts samples in the data set, as releases up to 0.2.1 do', () => {
    const text = `model: {_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 8}
batch_size: 2
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: t}
dataset: {_component_: own.data, max_seq_len: 512}
optimizer: {_component_: torch.optim.AdamW}
loss: {_component_: torch.nn.CrossEntropyLoss}
`;
    const reading = read('torchtune', 'file:///8B_lora.yaml', text);
    assert.equal(factOf(reading, 'batch.sequence')?.value, 512);
    assert.deepEqual(
      (reading.unread ?? []).filter(({ text: words }) => words.includes('max_seq_len')),
      [],
    );
  });

  it('reads QLoRA on one device, and follows interpolation', () => {
    const reading = tune(QLORA, '7B_qlora_single_device.yaml');
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-2-7b-hf file',
      'method.kind': 'lora file',
      'lora.rank': '8 file',
      'lora.targets': 'q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj file',
      'lora.dtype': 'bf16 inferred',
      'quantization.kind': 'nf4 file',
      'quantization.prepared': 'false default',
      'batch.micro': '4 file',
      'loss.implementation': 'chunked file',
      'hardware.gpus': '1 inferred',
      'parallel.data': 'none inferred',
    });
  });

  it('reads what distributed recipes split', () => {
    assertStates(
      tune(
        small(
          'tensor_parallel_dim: 4\ntensor_parallel_plan: {_component_: torchtune.models.llama3.base_llama_tp_plan}\ndata_parallel_replicate_dim: 2\nfsdp_cpu_offload: True\nfsdp_reshard_after_forward: False',
        ),
      ),
      {
        'parallel.tensor': '4 file',
        'parallel.replicate': '2 file',
        'offload.parameters': 'cpu file',
        'offload.optimizer': 'cpu file',
        'fsdp.strategy': 'grad-op file',
      },
    );
  });

  it('reads selective checkpointing', () => {
    assertStates(tune(small('enable_activation_checkpointing: True\nac_mode: selective\nac_option: 2')), {
      'activations.checkpointing': 'full file',
      'activations.checkpointEvery': '2 file',
    });
    assertStates(tune(small('ac_mode: selective\nac_option: op')), {
      'activations.checkpointing': 'selective file',
      'activations.checkpointEvery': undefined,
    });
  });

  it('knows preference losses and teachers', () => {
    assertStates(tune(small('loss: {_component_: torchtune.rlhf.loss.DPOLoss}')), {
      'method.objective': 'dpo file',
      'method.referenceModel': 'false default',
    });
    assertStates(
      tune(
        small(
          'loss: {_component_: torchtune.rlhf.loss.DPOLoss}\nref_checkpointer: {_component_: torchtune.training.FullModelHFCheckpointer}',
        ),
      ),
      { 'method.referenceModel': 'true file' },
    );
    const teacher = 'teacher_model: {_component_: torchtune.models.llama3_1.llama3_1_8b}';
    const divergence = 'kd_loss: {_component_: torchtune.modules.loss.ReverseKLWithChunkedOutputLoss}';
    const loss = 'loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}';
    assertStates(tune(small([teacher, divergence, loss].join('\n'))), {
      'method.objective': 'distillation file',
      'method.teacher': 'meta-llama/Llama-3.1-8B file',
      'method.frozenParameters': '8030261248 file',
      'loss.divergence': 'reverse file',
      'loss.implementation': 'chunked file',
    });
    assertStates(tune(small(`${teacher}\n${loss}`)), { 'loss.divergence': 'forward file' });
    assertStates(tune(small(`teacher_model: {_component_: my.teacher}\n${loss}`)), {
      'method.frozenModels': '1 file',
      'method.teacher': undefined,
    });
  });

  it('takes blanks as absent and counts what nothing limits as unknown', () => {
    const reading = tune(
      small(
        'gradient_accumulation_steps:\nclip_grad_norm: null\noptimizer_in_bwd:\nenable_activation_checkpointing:',
      ),
    );
    assertStates(reading, { 'batch.accumulation': '1 default', 'activations.checkpointing': 'none default' });
    assert.deepEqual(refused(reading), []);
  });

  for (const [code, more, line] of REFUSED)
    it(`stops at ${code}`, () => {
      const text = small(more);
      assert.deepEqual(complaints(tune(text), text, 'error'), [`${code}: ${line}`]);
    });

  it('refuses the fused optimizer under tensor parallelism, and packing without a length', () => {
    const plan = 'tensor_parallel_plan: {_component_: torchtune.models.llama3.base_llama_tp_plan}';
    const fused = `model: {_component_: torchtune.models.llama2.llama2_7b}\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: True\ntensor_parallel_dim: 2\n${plan}\n`;
    assert.deepEqual(complaints(tune(fused), fused, 'warning'), ['fused-tensor-parallel: fused: True']);
    const packed = `model: {_component_: torchtune.models.llama2.llama2_7b}\nbatch_size: 1\ntokenizer:\n  max_seq_len: null\ndataset: {packed: True}\n`;
    assert.deepEqual(complaints(tune(packed), packed, 'error'), [
      'packing-without-length: max_seq_len: null',
    ]);
  });

  for (const more of [
    'dtype: fp32',
    'enable_activation_offloading: True\nenable_activation_checkpointing: True',
    'optimizer_in_bwd: True\ngradient_accumulation_steps: 1\nclip_grad_norm: null',
    'optimizer_in_bwd: False\ngradient_accumulation_steps: 8\nclip_grad_norm: 1.0',
    'tensor_parallel_dim: 1',
  ])
    it(`takes ${more.replaceAll('\n', ', ')}`, () => assert.deepEqual(refused(tune(small(more))), []));

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(tune(small('gradient_acumulation_steps: 4')));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_accumulation_steps']);
  });

  it('takes keys of recipes of your own for no slips of others', () => {
    // A near name whose row states nothing of its values, and a value that the near key cannot take.
    for (const own of ['reward_mode: recall', 'batch_sizes: [1, 2]'])
      assert.deepEqual(problemsOf(tune(small(own))), [], own);
  });
});
