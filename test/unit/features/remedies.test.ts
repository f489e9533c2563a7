import assert from 'node:assert/strict';
import { withEdits as applied } from '../../../server/src/advice/write/text-edits';
import { codeActions } from '../../../server/src/features/code-actions';
import { REMEDIES } from '../../../server/src/features/remedies';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { RULES } from '../../../server/src/workspace/rules';
import { WITHOUT_REMEDY } from './rules-without-remedy';

const ROOT = 'file:///repo';
const AXOLOTL = `base_model: meta-llama/Llama-3.1-8B
micro_batch_size: 1
gradient_accumulation_steps: 1
sequence_len: 2048
datasets:
  - path: a
    type: alpaca
`;
const LLAMA_FACTORY = `model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
template: llama3
cutoff_len: 2048
dataset: a
per_device_train_batch_size: 1
`;
const ACCELERATE = `compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_processes: 8
num_machines: 1
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
`;
const TRL = `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 2
max_length: 2048
learning_rate: 1.0e-5
output_dir: out
`;
const SWIFT = `model: Qwen/Qwen2.5-7B-Instruct
train_type: lora
dataset: a
max_length: 2048
per_device_train_batch_size: 1
`;
const LITGPT = `checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B
precision: bf16-mixed
devices: 1
train:
  micro_batch_size: 1
  global_batch_size: 8
  max_seq_length: 512
data:
  class_path: litgpt.data.Alpaca
`;
const TORCHTUNE = `model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 2048
dataset:
  _component_: torchtune.datasets.alpaca_dataset
optimizer:
  _component_: torch.optim.AdamW
batch_size: 2
epochs: 1
device: cuda
dtype: bf16
`;
const allocating = (settings: string) =>
  `export PYTORCH_CUDA_ALLOC_CONF=${settings}\ntorchrun --nproc_per_node 4 train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir out\n`;
const megatron = (more: string) =>
  `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --global-batch-size 64 --train-iters 100 --bf16 ${more}\n`;
const MEGATRON = `MODEL_ARGS:
  --num-layers: 96
  --hidden-size: 12288
  --num-attention-heads: 96
  --seq-length: 2048
  --max-position-embeddings: 2048
  --global-batch-size: 1536
  --bf16: true
  --train-iters: 100
`;
const swiftMegatron = (more: string) =>
  `NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --dataset a --max_length 2048 --micro_batch_size 1 ${more}\n`;
const NEOX = `"pipe_parallel_size": 1
"model_parallel_size": 1
"num_layers": 6
"hidden_size": 512
"num_attention_heads": 8
"seq_length": 2048
"max_position_embeddings": 2048
"train_micro_batch_size_per_gpu": 4
`;
const NEMO = `name: megatron_gpt
trainer:
  devices: 8
  num_nodes: 1
  accelerator: gpu
  precision: bf16-mixed
  max_steps: 1000
  accumulate_grad_batches: 1
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 64
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 12
  hidden_size: 768
  num_attention_heads: 12
`;
const nemoRl = (second: string, triton: string, tensor: number) => `policy:
  model_name: Qwen/Qwen2.5-7B-Instruct
  train_global_batch_size: 64
  train_micro_batch_size: 1
  max_total_sequence_length: 2048
  precision: bfloat16
  dtensor_cfg:
    enabled: true
${second}    tensor_parallel_size: ${tensor}
    lora_cfg:
      enabled: true
      use_triton: ${triton}
`;
const grpo = (more: string) =>
  `python open_instruct/grpo_fast.py --model_name_or_path Qwen/Qwen2.5-7B --num_learners_per_node 4 --response_length 256 --max_prompt_token_length 256 --pack_length 1024 ${more}\n`;
const deepspeed = (more: string) =>
  `{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 2 }${more && ',\n  '}${more}\n}\n`;

/** Texts that each break a rule, and the first way out that is offered. */
const CASES: readonly (readonly [
  code:
    | keyof typeof REMEDIES
    | 'batch-triangle'
    | 'wrong-type'
    | 'efficient-loading-4bit'
    | 'engine-share'
    | 'max-grad-norm',
  name: string,
  text: string,
  title: string,
])[] = [
  ['unknown-key', 'ds.json', deepspeed('"qqqqqqqqqq": 1'), 'Remove qqqqqqqqqq'],
  [
    'two-precisions',
    'ds.json',
    deepspeed('"fp16": { "enabled": true },\n  "bf16": { "enabled": true }'),
    'Set fp16.enabled to false',
  ],
  [
    'max-grad-norm',
    'ds.json',
    deepspeed('"optimizer": { "type": "AdamW", "params": { "max_grad_norm": 0.5 } }'),
    'Set gradient_clipping to 0.5, Remove optimizer.params.max_grad_norm',
  ],
  ['amp-combination', 'ds.json', deepspeed('"amp": { "enabled": true }'), 'Set amp.enabled to false'],
  [
    'untested-optimizer',
    'ds.json',
    deepspeed('"optimizer": { "type": "SGD", "params": { "lr": 1e-3 } }'),
    'Set zero_allow_untested_optimizer to true',
  ],
  [
    'masters-needed',
    'ds.json',
    deepspeed('"bf16": { "enabled": true, "bf16_optimizer_states": true }'),
    'Set bf16.bf16_master_weights_and_grads to true',
  ],
  [
    'prescale-stage3',
    'ds.json',
    deepspeed('"prescale_gradients": true').replace('2 }', '3 }'),
    'Set prescale_gradients to false',
  ],
  [
    'predivide-stage3',
    'ds.json',
    deepspeed('"gradient_predivide_factor": 2').replace('2 }', '3 }'),
    'Set gradient_predivide_factor to 1',
  ],
  [
    'legacy-stage1',
    'ds.json',
    deepspeed('').replace('"stage": 2', '"stage": 1, "legacy_stage1": true'),
    'Remove zero_optimization.legacy_stage1',
  ],
  [
    'old-and-new-key',
    'ds.json',
    deepspeed('').replace(
      '"stage": 2',
      '"stage": 2, "cpu_offload": true, "offload_optimizer": {"device": "cpu"}',
    ),
    'Remove zero_optimization.cpu_offload',
  ],
  [
    'lamb-loss-scale',
    'ds.json',
    deepspeed(
      '"fp16": { "enabled": true, "loss_scale": 128 },\n  "optimizer": { "type": "Lamb", "params": { "lr": 1e-3 } }',
    ),
    'Set fp16.loss_scale to 0',
  ],
  [
    'gradient-type',
    'ds.json',
    '{ "train_micro_batch_size_per_gpu": 1, "bf16": { "enabled": true }, "zero_optimization": { "stage": 0 }, "data_types": { "grad_accum_dtype": "fp32" } }',
    'Remove data_types.grad_accum_dtype',
  ],
  [
    'batch-triangle',
    'ds.json',
    deepspeed('"train_batch_size": 64,\n  "gradient_accumulation_steps": 1'),
    'Set train_batch_size to 8',
  ],
  [
    'model-saved-alone',
    'sft.yaml',
    'model_name_or_path: Qwen/Qwen2.5-7B\nlearning_rate: 1e-5\nper_device_train_batch_size: 1\nfsdp: full_shard\nsave_only_model: true\nload_best_model_at_end: true\n',
    'Set save_only_model to false',
  ],
  [
    'engine-share',
    'a.yaml',
    `model_name_or_path: Qwen/Qwen2.5-14B-Instruct
num_generations: 8
max_completion_length: 256
per_device_train_batch_size: 8
bf16: true
use_peft: true
dtype: bfloat16
use_vllm: true
vllm_mode: colocate
vllm_gpu_memory_utilization: 0.3
`,
    'Set vllm_gpu_memory_utilization to 0.4',
  ],
  [
    'wrong-type',
    'ds.json',
    deepspeed('').replace('": 1', '": "1"'),
    'Set train_micro_batch_size_per_gpu to 1',
  ],
  [
    'sync-module-states',
    'a.yaml',
    `${ACCELERATE}  fsdp_sync_module_states: false\n`,
    'Set fsdp_config.fsdp_sync_module_states to true',
  ],
  [
    'state-dict-type',
    'a.yaml',
    `${ACCELERATE}  fsdp_state_dict_type: LOCAL_STATE_DICT\n`,
    'Set fsdp_config.fsdp_state_dict_type to SHARDED_STATE_DICT',
  ],
  [
    'checkpointing-needed',
    'a.yaml',
    `${ACCELERATE}  fsdp_activation_checkpointing_offload: true\n`,
    'Set fsdp_config.fsdp_activation_checkpointing to true',
  ],
  [
    'two-quantizations',
    'trl.yaml',
    `${TRL}use_peft: true\nload_in_8bit: true\nload_in_4bit: true\n`,
    'Remove load_in_8bit',
  ],
  ['qlora-without-4bit', 'ax.yml', `${AXOLOTL}adapter: qlora\n`, 'Set load_in_4bit to true'],
  [
    'qlora-8bit',
    'ax.yml',
    `${AXOLOTL}adapter: qlora\nload_in_4bit: true\nload_in_8bit: true\n`,
    'Remove load_in_8bit',
  ],
  ['two-batch-sizes', 'ax.yml', `${AXOLOTL}batch_size: 8\n`, 'Remove batch_size'],
  [
    'packing-preference',
    'ax.yml',
    `${AXOLOTL}rl: dpo\nsample_packing: true\n`,
    'Set sample_packing to false',
  ],
  [
    'packing-twice',
    'ax.yml',
    `${AXOLOTL}sample_packing: true\nbatch_flattening: true\nflash_attention: true\n`,
    'Remove batch_flattening',
  ],
  [
    'selective-without-checkpointing',
    'ax.yml',
    `${AXOLOTL}selective_checkpointing: true\n`,
    'Set gradient_checkpointing to true',
  ],
  [
    'offload-without-checkpointing',
    'ax.yml',
    `${AXOLOTL}activation_offloading: true\n`,
    'Set gradient_checkpointing to true',
  ],
  [
    'two-memory-limits',
    'ax.yml',
    `${AXOLOTL}gpu_memory_limit: 20GiB\nmax_memory: {0: 20GiB}\n`,
    'Remove gpu_memory_limit',
  ],
  ['kto-columns', 'ax.yml', `${AXOLOTL}rl: kto\n`, 'Set remove_unused_columns to false'],
  [
    'muon-fsdp1',
    'ax.yml',
    `${AXOLOTL}optimizer: muon\nfsdp_version: 1\nfsdp_config:\n  offload_params: false\n`,
    'Set fsdp_version to 2',
  ],
  [
    'neat-packing-stage',
    'lf.yaml',
    `${LLAMA_FACTORY.replace('sft', 'dpo')}finetuning_type: lora\nneat_packing: true\n`,
    'Set neat_packing to false',
  ],
  [
    'adapter-without-lora',
    'lf.yaml',
    `${LLAMA_FACTORY}finetuning_type: full\nadapter_name_or_path: out\n`,
    'Set finetuning_type to lora',
  ],
  [
    'label-smoothing-loss',
    'lf.yaml',
    `${LLAMA_FACTORY.replace('sft', 'dpo')}finetuning_type: lora\npref_loss: hinge\ndpo_label_smoothing: 0.1\n`,
    'Set dpo_label_smoothing to 0',
  ],
  [
    'low-rank-optimizer-lora',
    'lf.yaml',
    `${LLAMA_FACTORY}finetuning_type: lora\nuse_galore: true\n`,
    'Set finetuning_type to full',
  ],
  [
    'packing-without-flash',
    'sw.yaml',
    `${SWIFT}packing: true\nattn_impl: sdpa\n`,
    'Set attn_impl to flash_attn',
  ],
  [
    'packing-lazy',
    'sw.yaml',
    `${SWIFT}packing: true\nlazy_tokenize: true\nattn_impl: flash_attn\n`,
    'Set lazy_tokenize to false',
  ],
  ['quantized-mixed', 'lit.yaml', `${LITGPT}quantize: bnb.nf4\n`, 'Set precision to bf16-true'],
  ['lora-only', 'lf.yaml', `${LLAMA_FACTORY}finetuning_type: full\nuse_dora: true\n`, 'Remove use_dora'],
  [
    'ignored-key',
    'a.yaml',
    'compute_environment: LOCAL_MACHINE\ndistributed_type: "NO"\nmixed_precision: bf16\nnum_processes: 8\nnum_machines: 1\n',
    'Remove num_processes',
  ],
  [
    'lora-kernel-8bit',
    'ax.yml',
    `${AXOLOTL}adapter: lora\nload_in_8bit: true\nlora_mlp_kernel: true\n`,
    'Set lora_mlp_kernel to false',
  ],
  [
    'parameters-dropout',
    'ax.yml',
    `${AXOLOTL}adapter: lora\nlora_target_parameters: [a]\nlora_dropout: 0.1\n`,
    'Set lora_dropout to 0',
  ],
  [
    'optimizer-fsdp2',
    'ax.yml',
    `${AXOLOTL}optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp_config:\n  offload_params: false\n`,
    'Set optimizer to adamw_torch_8bit',
  ],
  [
    'tensor-parallel-liger',
    'ax.yml',
    `${AXOLOTL}plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rms_norm: true\ntensor_parallel_size: 2\n`,
    'Set liger_rms_norm to false',
  ],
  [
    'tensor-parallel-8bit',
    'ax.yml',
    `${AXOLOTL}optimizer: adamw_8bit\ntensor_parallel_size: 2\n`,
    'Set optimizer to adamw_torch_8bit',
  ],
  [
    'context-parallel-attention',
    'ax.yml',
    `${AXOLOTL}context_parallel_size: 2\n`,
    'Set attn_implementation to flash_attention_2',
  ],
  [
    'context-parallel-packing',
    'ax.yml',
    `${AXOLOTL.replace('micro_batch_size: 1', 'micro_batch_size: 2')}context_parallel_size: 2\nattn_implementation: flash_attention_2\nsample_packing: true\n`,
    'Set micro_batch_size to 1',
  ],
  [
    'context-parallel-liger',
    'ax.yml',
    `${AXOLOTL}context_parallel_size: 2\nattn_implementation: flash_attention_2\nrl: grpo\ntrl:\n  use_liger_loss: true\n`,
    'Remove context_parallel_size',
  ],
  [
    'pure-bf16-zero3',
    'lf.yaml',
    `${LLAMA_FACTORY}finetuning_type: full\npure_bf16: true\ndeepspeed: z3.json\n`,
    'Remove pure_bf16, Set bf16 to true',
  ],
  [
    'layerwise-distributed',
    'lf.yaml',
    `${LLAMA_FACTORY}finetuning_type: full\nuse_galore: true\ngalore_layerwise: true\n`,
    'Set galore_layerwise to false',
  ],
  [
    'streaming-lazy',
    'sw.yaml',
    `${SWIFT}streaming: true\nlazy_tokenize: true\nmax_steps: 10\n`,
    'Set lazy_tokenize to false',
  ],
  [
    'vllm-mode-without-vllm',
    'sw.yaml',
    `${SWIFT}rlhf_type: grpo\nvllm_mode: server\n`,
    'Set use_vllm to true',
  ],
  [
    'missing-vllm-mode',
    'sw.yaml',
    `${SWIFT.replace('train_type', 'tuner_type')}rlhf_type: grpo\nuse_vllm: true\n`,
    'Set vllm_mode to colocate',
  ],
  ['needless-reference', 'sw.yaml', `${SWIFT}rlhf_type: dpo\nref_model: a/b\n`, 'Remove ref_model'],
  [
    'two-generation-sizes',
    'trl.yaml',
    `${TRL.replace('max_length', 'max_completion_length')}num_generations: 4\ngeneration_batch_size: 16\nsteps_per_generation: 4\n`,
    'Remove generation_batch_size',
  ],
  [
    'auto-batch-generation',
    'trl.yaml',
    `${TRL.replace('max_length', 'max_completion_length')}num_generations: 4\nauto_find_batch_size: true\n`,
    'Set auto_find_batch_size to false',
  ],
  [
    'checkpointing-twice',
    'args.json',
    '{ "output_dir": "out", "per_device_train_batch_size": 1, "learning_rate": 1e-5, "bf16": true, "gradient_checkpointing": true, "fsdp": "full_shard", "fsdp_config": { "activation_checkpointing": true } }',
    'Set gradient_checkpointing to false',
  ],
  [
    'foreign-argument',
    'lit.yaml',
    `${LITGPT}`.replace('  micro', '  max_norm: 1.0\n  micro'),
    'Remove train.max_norm',
  ],
  [
    'in-backward-accumulation',
    'tune.yaml',
    `${TORCHTUNE}optimizer_in_bwd: True\ngradient_accumulation_steps: 4\n`,
    'Set optimizer_in_bwd to false',
  ],
  [
    'in-backward-clipping',
    'tune.yaml',
    `${TORCHTUNE}optimizer_in_bwd: True\nclip_grad_norm: 1.0\n`,
    'Set optimizer_in_bwd to false',
  ],
  ['fp16-refused', 'tune.yaml', TORCHTUNE.replace('bf16', 'fp16'), 'Set dtype to bf16'],
  ['removed-key', 'ax.yml', `${AXOLOTL}unsloth_lora_mlp: true\n`, 'Remove unsloth_lora_mlp'],
  ['dead-key', 'trl.yaml', `${TRL}lora_r: 8\n`, 'Remove lora_r'],
  ['dead-key', 'trl.yaml', `${TRL}lora_r: 8\nlora_alpha: 16\n`, 'Remove lora_r, Remove lora_alpha'],
  [
    'fsdp2-needed',
    'a.yaml',
    `${ACCELERATE.replace('fsdp_version: 2', 'fsdp_version: 1')}  fsdp_activation_checkpointing: true\n  fsdp_activation_checkpointing_offload: true\n`,
    'Set fsdp_config.fsdp_version to 2',
  ],
  [
    'efficient-loading-4bit',
    'ax.yml',
    `${AXOLOTL}adapter: qlora\nload_in_4bit: true\nfsdp_version: 2\nfsdp_config:\n  offload_params: false\n  cpu_ram_efficient_loading: true\n`,
    'Set fsdp_config.cpu_ram_efficient_loading to false',
  ],
  [
    'no-effect',
    'run.sh',
    megatron('--micro-batch-size 1 --num-query-groups 8'),
    'Set group_query_attention to true',
  ],
  ['no-effect', 'run.sh', megatron('--micro-batch-size 1 --sequence-parallel'), 'Remove sequence_parallel'],
  [
    'selective-with-method',
    'run.sh',
    megatron('--micro-batch-size 1 --recompute-granularity selective --recompute-method uniform'),
    'Remove recompute_method',
  ],
  [
    'selective-with-layers',
    'run.sh',
    megatron('--micro-batch-size 1 --recompute-granularity selective --recompute-num-layers 1'),
    'Remove recompute_num_layers',
  ],
  [
    'full-without-method',
    'run.sh',
    megatron('--micro-batch-size 1 --recompute-granularity full --recompute-num-layers 1'),
    'Set recompute_method to uniform',
  ],
  [
    'full-without-method',
    'megatron.yaml',
    `${MEGATRON}  --micro-batch-size: 1\n  --recompute-granularity: full\n`,
    'Set MODEL_ARGS.--recompute-method to uniform, Set MODEL_ARGS.--recompute-num-layers to 1',
  ],
  [
    'distributed-activations',
    'run.sh',
    megatron(
      '--micro-batch-size 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --distribute-saved-activations',
    ),
    'Remove distribute_saved_activations',
  ],
  [
    'overlap-without-reduction',
    'run.sh',
    megatron('--micro-batch-size 1 --use-distributed-optimizer --overlap-param-gather'),
    'Set overlap_grad_reduce to true',
  ],
  [
    'uneven-without-pipeline',
    'run.sh',
    swiftMegatron('--decoder_first_pipeline_num_layers 5'),
    'Remove decoder_first_pipeline_num_layers',
  ],
  [
    'overlap-without-sequence-parallel',
    'run.sh',
    swiftMegatron('--tensor_model_parallel_size 2 --tp_comm_overlap true'),
    'Set sequence_parallel to true',
  ],
  [
    'row-parallel-head',
    'neox.yml',
    `${NEOX}"output_layer_parallelism": "row"\n`,
    'Set output_layer_parallelism to column',
  ],
  [
    'accumulation',
    'nemo.yaml',
    `${NEMO.replace('accumulate_grad_batches: 1', 'accumulate_grad_batches: 4')}`,
    'Set trainer.accumulate_grad_batches to 1',
  ],
  [
    'lora-in-first-worker',
    'rl.yaml',
    nemoRl('    _v2: false\n', 'false', 1),
    'Set policy.dtensor_cfg._v2 to true',
  ],
  [
    'lora-kernels-with-tensor-parallel',
    'rl.yaml',
    nemoRl('    _v2: true\n', 'true', 2),
    'Set policy.dtensor_cfg.lora_cfg.use_triton to false',
  ],
  [
    'sequence-parallel-stage',
    'run.sh',
    grpo('--sequence_parallel_size 2 --deepspeed_stage 2'),
    'Set deepspeed_stage to 3',
  ],
  [
    'allocator-settings',
    'run.sh',
    allocating('expandable_segments:true,max_split_size_mb:512'),
    'Change to "expandable_segments:True"',
  ],
  [
    'allocator-settings',
    'quoted.sh',
    allocating('"max_split_size_mb:128, expandable_segments:maybe"'),
    'Remove expandable_segments:maybe',
  ],
  [
    'allocator-settings',
    'unknown.sh',
    allocating('expandable_segment:True,max_split_size_mb:128'),
    'Remove expandable_segment:True',
  ],
  ['allocator-settings', 'alone.sh', allocating('max_split_size_mb:8'), 'Remove max_split_size_mb:8'],
  ['penalty-without-reference', 'run.sh', grpo('--load_ref_policy false'), 'Set beta to 0'],
  [
    'ulysses-with-padding',
    'verl.yaml',
    `actor_rollout_ref:\n  model: {path: Qwen/Qwen2.5-7B-Instruct, use_remove_padding: false}\n  actor: {ulysses_sequence_parallel_size: 2, ppo_micro_batch_size_per_gpu: 8}\n`,
    'Set actor_rollout_ref.model.use_remove_padding to true',
  ],
];

describe('ways out that rules name', () => {
  for (const [code, name, text, title] of CASES) {
    it(`of ${code} are offered, and put it right`, async () => {
      const uri = `${ROOT}/${name}`;
      const read = async (content: string) => {
        const host = new MemoryHost(
          {
            [uri]: content,
            [`${ROOT}/z3.json`]: '{"zero_optimization": {"stage": 3}}',
            [`${ROOT}/oomlint.yaml`]: 'targets: { gpu: H100-SXM5-80GB, gpus: 8 }\n',
          },
          { folders: [ROOT] },
        );
        const analysis = await new Workspace(host).analyze(uri);
        assert.ok(analysis, 'a config');
        return analysis;
      };
      const analysis = await read(text);
      const problem = analysis.problems.find((one) => one.code === code);
      assert.ok(problem, analysis.problems.map((one) => one.code).join(', '));
      const actions = codeActions(analysis, { text, range: problem.range });
      const action = actions.find((one) => one.title === title);
      assert.ok(action, actions.map((one) => one.title).join('\n') || 'nothing is offered');
      assert.ok(actions.filter(({ preferred }) => preferred).length <= 1, 'one is preferred at most');
      const after = await read(applied(text, action.edits));
      const [had, has] = [analysis, after].map(({ problems }) => problems.filter((one) => one.code === code));
      assert.ok((has?.length ?? 0) < (had?.length ?? 0), applied(text, action.edits));
      const last = actions.findLastIndex((one) => one.title === 'Switch Oomlint off for this file');
      assert.ok(last < 0 || last === actions.length - 1, 'switching off comes last');
    });
  }

  it('are all tried here', () => {
    const tried = new Set<string>(CASES.map(([code]) => code));
    assert.deepEqual(
      Object.keys(REMEDIES).filter((code) => !tried.has(code)),
      [],
    );
  });
  it('exist for every rule, or a reason why not', () => {
    // These change the name where it stands (`examples.test.ts`, `scaled-gradients.test.ts`, `argument-releases.test.ts`).
    const renamed = ['removed-flag', 'scaled-gradients', 'argument-release'];
    const own = [
      'batch-triangle',
      'wrong-type',
      'bad-value',
      'efficient-loading-4bit',
      'engine-share',
      'max-grad-norm',
      ...renamed,
    ];
    const reasoned = WITHOUT_REMEDY.flatMap(([, rules]) => rules);
    assert.deepEqual([...Object.keys(REMEDIES), ...own, ...reasoned].sort(), Object.keys(RULES).sort());
  });
});
