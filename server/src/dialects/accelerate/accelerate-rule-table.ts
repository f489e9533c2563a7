import { doubtful, refused } from '../../rules/rule';
import { ACCELERATE, fileIn } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const accelerate = (path: string) => fileIn(ACCELERATE, `src/accelerate/${path}`);

/** Rules of Accelerate. */
export const ACCELERATE_RULES = {
  'distributed-type': refused(
    '`distributed_type` is none that Accelerate knows.',
    'Write one that it knows.',
    accelerate('utils/dataclasses.py'),
  ),
  'mixed-precision': refused(
    '`mixed_precision` is none that Accelerate knows.',
    'Write no, fp16, bf16 or fp8.',
    accelerate('commands/launch.py'),
  ),
  'yaml-boolean': refused(
    'YAML reads the bare word `no` as false, and Accelerate fails on it.',
    'Write it in quotes.',
    accelerate('commands/launch.py'),
  ),
  'deepspeed-file-conflict': refused(
    'A key stands beside `deepspeed_config_file`, which says it too.',
    'Set it in the DeepSpeed file.',
    accelerate('utils/dataclasses.py'),
  ),
  'processes-missing': doubtful(
    '`num_processes` is not set.',
    'State it, or give `--num_processes` at the launch.',
    accelerate('commands/launch.py'),
    { severity: 'information' },
  ),
  'processes-per-machine': doubtful(
    '`num_processes` is not a multiple of the machines.',
    'State the GPUs of all machines together.',
    accelerate('utils/launch.py'),
  ),
  'one-gpu-id': refused(
    '`MULTI_GPU` stands beside one GPU in `gpu_ids`.',
    'Name more GPUs, or write `distributed_type: NO`.',
    accelerate('commands/launch.py'),
  ),
  'sharding-strategy': refused(
    '`fsdp_sharding_strategy` is none that FSDP 1 knows.',
    'Write one that it knows.',
    accelerate('utils/dataclasses.py'),
  ),
  'reshard-flag': refused(
    'FSDP 2 takes true or false for `fsdp_reshard_after_forward`.',
    'Write true for FULL_SHARD, false for SHARD_GRAD_OP.',
    accelerate('utils/dataclasses.py'),
  ),
  'state-dict-type': refused(
    'FSDP 2 has no `LOCAL_STATE_DICT`.',
    'Write `SHARDED_STATE_DICT`.',
    accelerate('utils/dataclasses.py'),
  ),
  'sync-module-states': refused(
    '`fsdp_cpu_ram_efficient_loading` needs `fsdp_sync_module_states: true`.',
    'Set it.',
    accelerate('utils/dataclasses.py'),
  ),
  'checkpointing-needed': refused(
    'Offloading checkpoints needs activation checkpointing.',
    'Set `fsdp_activation_checkpointing: true`.',
    accelerate('utils/dataclasses.py'),
  ),
  'fsdp2-needed': refused(
    'A setting needs FSDP 2.',
    'Set `fsdp_version: 2`.',
    accelerate('utils/dataclasses.py'),
  ),
  parallelism: refused(
    'Two kinds of parallelism exclude each other.',
    'Leave one of them.',
    accelerate('parallelism_config.py'),
  ),
  'parallelism-product': refused(
    'The sizes of parallelism multiply to another number than `num_processes`.',
    'Change one of them.',
    accelerate('parallelism_config.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof ACCELERATE_RULES, true> {}
}
