import { remembered } from '../memo/remembered';
import { linearPattern, type TextPattern } from './linear-pattern';

const PATTERNS = remembered<TextPattern>(100);

/**
 * What transformers' `optim_target_modules` takes a list entry for: text that a module path contains, or a regular
 * expression that the whole path matches (`trainer_pt_utils.py`, `check_target_module_exists`).
 */
export function targetPattern(target: string): TextPattern {
  return PATTERNS.of(target, () => {
    const whole = linearPattern(target, true);
    return { test: (path) => path.includes(target) || (whole?.test(path) ?? false) };
  });
}
