import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/**
 * Branches of samples that are left out at random: a quotient, and a product with one number for each sample (`SwinDropPath` and its kin). `[b, ...]` in
 * and out.
 */
export function dropPath(t: Tracer, x: Tensor, rate: number): Tensor {
  return rate === 0 || t.settings.evaluating === true
    ? x
    : t.scale(t.scale(x, 'drop_path.div'), 'drop_path.mul');
}
