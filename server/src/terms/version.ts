/** Versions that are asked for stand in the code, and each is asked for with every key typed. */
const known = new Map<string, readonly number[]>();

function numbersOf(wanted: string): readonly number[] {
  const numbers = known.get(wanted) ?? wanted.split('.').map(Number);
  known.set(wanted, numbers);
  return numbers;
}

/** The whole numbers of a text, in their order. */
function numbersIn(version: string): number[] {
  const numbers: number[] = [];
  let inside = false;
  for (let i = 0; i < version.length; i++) {
    const digit = version.charCodeAt(i) - 48;
    const isDigit = digit >= 0 && digit <= 9;
    if (isDigit) numbers.push(digit + (inside ? 10 * (numbers.pop() ?? 0) : 0));
    inside = isDigit;
  }
  return numbers;
}

/**
 * Is a version at least another? Undefined where the version is unknown or too short to say: `0.19` may be any of its
 * patch releases.
 */
export function isAtLeast(version: unknown, wanted: string): boolean | undefined {
  if (typeof version !== 'string') return undefined;
  const have = numbersIn(version);
  const want = numbersOf(wanted);
  for (let i = 0; i < want.length; i++) {
    const a = have[i];
    const b = want[i] ?? 0;
    if (a === undefined) return undefined;
    if (a !== b) return a > b;
  }
  return true;
}
