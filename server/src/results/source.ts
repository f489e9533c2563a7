/**
 * Where formulas come from: permanent addresses, each stated once. PyTorch's are those of its release 2.8.0, whose lines
 * the numbers after `#L` name.
 */
export interface Source {
  /** For people: `derivatives.yaml, silu`. */
  readonly label: string;
  readonly url: string;
}
