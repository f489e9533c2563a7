/** Attention kernels. */
export const ATTENTION_KERNELS = ['eager', 'sdpa', 'flash2', 'flash3', 'flex'] as const;
export type AttentionKernel = (typeof ATTENTION_KERNELS)[number];
