/** Who lowers the precision of a run. */
export const PRECISION_SCHEMES = ['native', 'autocast', 'deepspeed', 'fsdp', 'megatron', 'apex-o2'] as const;
export type PrecisionScheme = (typeof PRECISION_SCHEMES)[number];
