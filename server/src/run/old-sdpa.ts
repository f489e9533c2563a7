import { findAccelerator } from '../hardware/catalog';
import type { RunValues } from './fields';

/**
 * Whether SDPA runs on a card before Ampere, where its fused kernels take neither bf16 nor grouped heads. Unsloth's layers run xFormers
 * there (`utils/attention_dispatch.py`).
 */
export function runsOldSdpa(run: Pick<RunValues, 'hardware.gpu' | 'kernels.unsloth'>): boolean {
  const gpu = run['hardware.gpu'];
  if (!gpu || run['kernels.unsloth']) return false;
  const { vendor, computeCapability = '8.0' } = findAccelerator(gpu) ?? {};
  return vendor === 'NVIDIA' && Number(computeCapability) < 8;
}
