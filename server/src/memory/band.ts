/** A quantity that is known as a range only. Bytes per GPU. */
export interface Band {
  readonly lower: number;
  readonly likely: number;
  readonly upper: number;
}

/** Quantities that add up, at the same end of each range. */
export function sumOfBands(bands: readonly Band[]): Band {
  const sum = { lower: 0, likely: 0, upper: 0 };
  for (const band of bands) {
    sum.lower += band.lower;
    sum.likely += band.likely;
    sum.upper += band.upper;
  }
  return sum;
}
