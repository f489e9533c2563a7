/**
 * A regular expression of Python's `re` as one of JavaScript, matched against the whole text (`re.fullmatch`) or from its
 * start (`re.match`). Undefined where it is none.
 */
export function pythonPattern(pattern: string, whole: boolean): RegExp | undefined {
  const inner = pattern
    .replace(/\(\?P</g, '(?<')
    .replace(/\(\?P=(\w+)\)/g, '\\k<$1>')
    .replace(/\\A/g, '^')
    .replace(/\\Z/g, '$');
  try {
    return new RegExp(`^(?:${inner})${whole ? '$' : ''}`);
  } catch {
    return undefined;
  }
}

const NOTHING = /(?!)/;
const PATTERNS = new Map<string, RegExp>();

/**
 * What transformers' `optim_target_modules` takes a list entry for: text that a module path contains, or a regular
 * expression that the whole path matches (`trainer_pt_utils.py`, `check_target_module_exists`).
 */
export function targetPattern(target: string): RegExp {
  const known = PATTERNS.get(target);
  if (known) return known;
  const contained = target.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const whole = pythonPattern(target, true) ?? NOTHING;
  const pattern = new RegExp(`${contained}|${whole.source}`);
  if (PATTERNS.size > 100) PATTERNS.clear();
  PATTERNS.set(target, pattern);
  return pattern;
}
