export const DTYPES = ['fp32', 'bf16', 'fp16', 'fp8'] as const;

/** Storage or compute type of a tensor. tf32 is a way to multiply fp32 tensors and is stored as fp32. */
export type DType = (typeof DTYPES)[number];
