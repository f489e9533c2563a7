/** How data-parallel GPUs share state. */
export const DATA_PARALLEL = ['none', 'ddp', 'zero', 'fsdp1', 'fsdp2', 'horovod'] as const;

/** Either version of PyTorch's fully sharded data parallelism. */
export function isFsdp(data: unknown): data is 'fsdp1' | 'fsdp2' {
  return data === 'fsdp1' || data === 'fsdp2';
}
