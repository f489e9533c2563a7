import type { KeySpec } from '../dialect';
import { block, inertKeys } from '../key-rows';

const TORCHRUN = 'https://docs.pytorch.org/docs/stable/elastic/run.html';
const ACCELERATE = 'https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch';
const DEEPSPEED = 'https://www.deepspeed.ai/getting-started/#launching-deepspeed-training';
const SLURM = 'https://slurm.schedmd.com/sbatch.html';
const GPUS = { fields: ['hardware.gpus'] } as const;
const NODES = { fields: ['hardware.nodes'] } as const;

/** Flags of launchers, by name with underscores. */
export const LAUNCHER_KEYS: readonly KeySpec[] = [
  ...block('', TORCHRUN, [
    ['nproc_per_node', 'any', 'Processes on each machine, one for each GPU.', { default: 1, ...GPUS }],
    ['nnodes', 'any', 'Machines, or `fewest:most` of an elastic run.', { default: 1, ...NODES }],
  ]),
  ...block('', ACCELERATE, [
    ['num_processes', 'integer', 'Processes over all machines, one for each GPU.', GPUS],
    ['num_machines', 'integer', 'Machines.', { default: 1, ...NODES }],
    ['config_file', 'string', 'Config of Accelerate; flags override it.'],
    [
      'mixed_precision',
      'string',
      'Precision that the model computes in.',
      { values: ['no', 'fp16', 'bf16', 'fp8'], fields: ['precision.compute', 'precision.scheme'] },
    ],
    ['use_deepspeed', 'boolean', 'Train with DeepSpeed.', { fields: ['parallel.data'] }],
    ['use_fsdp', 'boolean', 'Train with FSDP.', { fields: ['parallel.data'] }],
    ['multi_gpu', 'boolean', 'Replicate the model on every GPU.', { fields: ['parallel.data'] }],
    ['deepspeed_config_file', 'string', 'Config of DeepSpeed.'],
    ['zero_stage', 'integer', 'ZeRO stage.', { default: 2, fields: ['zero.stage'] }],
    [
      'offload_optimizer_device',
      'string',
      'Where optimizer states are kept.',
      { values: ['none', 'cpu', 'nvme'], default: 'none', fields: ['offload.optimizer'] },
    ],
    [
      'offload_param_device',
      'string',
      'Where sharded weights are kept.',
      { values: ['none', 'cpu', 'nvme'], default: 'none', fields: ['offload.parameters'] },
    ],
    [
      'gradient_accumulation_steps',
      'integer',
      'Micro batches per optimizer step.',
      { default: 1, fields: ['batch.accumulation'] },
    ],
    ['gpu_ids', 'string', 'GPUs of this machine that are used.'],
  ]),
  ...block('', DEEPSPEED, [
    ['num_gpus', 'integer', 'GPUs of each machine. Unset: all that it has.', GPUS],
    ['num_nodes', 'integer', 'Machines of the hostfile that are used.', NODES],
    ['include', 'string', 'GPUs that are used: `host:0,1@host:2,3`.', GPUS],
    ['exclude', 'string', 'GPUs that are not used.'],
    ['hostfile', 'string', 'Machines with their GPUs (`slots=8`).'],
  ]),
  ...inertKeys('', TORCHRUN, 'Setting of the launcher that costs no GPU memory.', {
    any: `master_addr master_port node_rank machine_rank main_process_port main_process_ip rdzv_id rdzv_backend
      rdzv_endpoint rdzv_conf standalone max_restarts m module role log_dir tee redirects`,
  }),
];

/** Variables of the environment that launchers and PyTorch read. */
export const ENVIRONMENT_KEYS: readonly KeySpec[] = block('', TORCHRUN, [
  [
    'CUDA_VISIBLE_DEVICES',
    'string',
    'GPUs of the machine that the command sees. Launchers that take all GPUs take these.',
    GPUS,
  ],
  ['NPROC_PER_NODE', 'integer', 'Processes on each machine (ms-swift, LLaMA-Factory).', GPUS],
  ['NNODES', 'integer', 'Machines (ms-swift, LLaMA-Factory).', NODES],
  [
    'PYTORCH_CUDA_ALLOC_CONF',
    'string',
    "Settings of PyTorch's allocator.",
    { fields: ['allocator.expandableSegments', 'allocator.maxSplit', 'allocator.roundup'] },
  ],
  [
    'CUBLAS_WORKSPACE_CONFIG',
    'string',
    'Sizes in KiB and numbers of the workspaces of cuBLAS: `:4096:8`.',
    { fields: ['allocator.cublasWorkspace'] },
  ],
  [
    'HF_DEACTIVATE_ASYNC_LOAD',
    'any',
    'transformers 5 reads weights one after the other, and not ahead in threads.',
    { fields: ['loading.readsAhead'] },
  ],
  [
    'PYTORCH_HIP_ALLOC_CONF',
    'string',
    "Settings of PyTorch's allocator on cards of AMD.",
    { fields: ['allocator.expandableSegments', 'allocator.maxSplit', 'allocator.roundup'] },
  ],
  [
    'PYTORCH_ALLOC_CONF',
    'string',
    "Settings of PyTorch's allocator.",
    { fields: ['allocator.expandableSegments', 'allocator.maxSplit', 'allocator.roundup'] },
  ],
]);

/** Options of Slurm's comments. */
export const SBATCH_KEYS: readonly KeySpec[] = block('', SLURM, [
  ['nodes', 'any', 'Machines.', NODES],
  ['N', 'any', 'Machines.', NODES],
  [
    'gres',
    'string',
    'GPUs of each machine: `gpu:8`, `gpu:a100:8`.',
    { fields: ['hardware.gpus', 'hardware.gpu'] },
  ],
  ['gpus_per_node', 'any', 'GPUs of each machine.', { fields: ['hardware.gpus', 'hardware.gpu'] }],
  ['gpus', 'any', 'GPUs over all machines: `8`, `a100:8`.', GPUS],
  ['G', 'any', 'GPUs over all machines: `8`, `a100:8`.', GPUS],
  ['gpus_per_task', 'any', 'GPUs of each task.', GPUS],
  [
    'constraint',
    'string',
    'Features that the machines must have, such as the GPU.',
    { fields: ['hardware.gpu'] },
  ],
  ['C', 'string', 'Features that the machines must have, such as the GPU.', { fields: ['hardware.gpu'] }],
  ['ntasks_per_node', 'integer', 'Tasks that `srun` starts on each machine.', GPUS],
  ['ntasks', 'integer', 'Tasks that `srun` starts.', GPUS],
]);
