import type { ConfigNode } from '../../config/node';
import { integerOf } from '../../config/scalar';

/**
 * Whether a version of FSDP is one that there is not: Accelerate acts on 1 and on 2 (`accelerate/utils/dataclasses.py`,
 * `FullyShardedDataParallelPlugin`), so a run with another is none that can be estimated.
 */
export function isNoFsdp(node: ConfigNode): boolean {
  const version = integerOf(node);
  return version !== undefined && version !== 1 && version !== 2;
}
