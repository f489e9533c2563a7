/**
 * `OOMLINT_LONG=1` runs every case. Without it, tests that multiply many dimensions meet each pair of them, and properties are
 * tried on fewer values, so that the suite can be run after every edit. A release runs the long ones.
 */
export const LONG = process.env.OOMLINT_LONG === '1';

/** How often a property is tried. */
export function runs(short: number, long: number): number {
  return LONG ? long : short;
}
