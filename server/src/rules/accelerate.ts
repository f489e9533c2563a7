import { doubtful, refused } from './rule';

/** Rules of Accelerate. */
export const ACCELERATE_RULES = {
  'distributed-type': refused(
    '`distributed_type` is none that Accelerate knows.',
    'Write one that it knows.',
  ),
  'mixed-precision': refused(
    '`mixed_precision` is none that Accelerate knows.',
    'Write no, fp16, bf16 or fp8.',
  ),
  'yaml-boolean': refused(
    'YAML reads the bare word `no` as false, and Accelerate fails on it.',
    'Write it in quotes.',
    { example: 'mixed_precision: no' },
  ),
  'deepspeed-file-conflict': refused(
    'A key stands beside `deepspeed_config_file`, which says it too.',
    'Say it in the DeepSpeed file.',
  ),
  'processes-missing': doubtful(
    '`num_processes` is not stated.',
    'State it, or give `--num_processes` at the launch.',
    { severity: 'information' },
  ),
  'processes-per-machine': doubtful(
    '`num_processes` is no multiple of the machines.',
    'State the GPUs of all machines together.',
  ),
  'one-gpu-id': refused(
    '`MULTI_GPU` stands beside one GPU in `gpu_ids`.',
    'Name more GPUs, or write `distributed_type: NO`.',
  ),
  'sharding-strategy': refused(
    '`fsdp_sharding_strategy` is none that FSDP 1 knows.',
    'Write one that it knows.',
  ),
  'reshard-flag': doubtful(
    'FSDP 2 takes true or false for `fsdp_reshard_after_forward`.',
    'Write true for FULL_SHARD, false for SHARD_GRAD_OP.',
    { severity: 'hint' },
  ),
  'state-dict-type': refused('FSDP 2 has no `LOCAL_STATE_DICT`.', 'Write `SHARDED_STATE_DICT`.'),
  'sync-module-states': refused(
    '`fsdp_cpu_ram_efficient_loading` needs `fsdp_sync_module_states: true`.',
    'Set it.',
  ),
  'checkpointing-needed': refused(
    'Offloading checkpoints needs activation checkpointing.',
    'Set `fsdp_activation_checkpointing: true`.',
  ),
  'fsdp2-needed': refused('A setting needs FSDP 2.', 'Set `fsdp_version: 2`.'),
  parallelism: refused('Two kinds of parallelism exclude each other.', 'Leave one of them.'),
  'parallelism-product': refused(
    'The sizes of parallelism multiply to another number than `num_processes`.',
    'Change one of them.',
  ),
};
