/**
 * Is a version at least another? Undefined where the version is unknown or too short to say: `0.19` may be any of its
 * patch releases.
 */
export function isAtLeast(version: unknown, wanted: string): boolean | undefined {
  if (typeof version !== 'string') return undefined;
  const have = version.match(/\d+/g)?.map(Number) ?? [];
  const want = wanted.split('.').map(Number);
  for (let i = 0; i < want.length; i++) {
    const a = have[i];
    const b = want[i] ?? 0;
    if (a === undefined) return undefined;
    if (a !== b) return a > b;
  }
  return true;
}
