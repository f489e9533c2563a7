import type { Spread } from '../results/estimate';

/** Every value times a number. */
export function times({ low, likely, high }: Spread, factor: number): Spread {
  return { low: low * factor, likely: likely * factor, high: high * factor };
}

/** Two quantities whose extremes can meet, multiplied. None may be negative. */
export function product(a: Spread, b: Spread): Spread {
  return { low: a.low * b.low, likely: a.likely * b.likely, high: a.high * b.high };
}

/** What is lowest when the quantity is highest: a rate of a time. */
export function perUnit(amount: number, { low, likely, high }: Spread): Spread {
  return { low: amount / high, likely: amount / likely, high: amount / low };
}
