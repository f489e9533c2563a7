/** Packages whose kernels layers that keep a state run on; transformers writes each out in PyTorch's own operators where it is absent. */
export const STATE_PACKAGES = ['mamba-ssm', 'causal-conv1d', 'flash-linear-attention'] as const;
export type StatePackage = (typeof STATE_PACKAGES)[number];

/** Stands among them for packages that nobody names: they may be installed or not. */
export const UNKNOWN_PACKAGES = 'unknown';

/** What a distribution of PyPI, by its normalised name, brings of them; `fla-core` is the kernels of `flash-linear-attention` alone. */
export function statePackageOf(distribution: string): StatePackage | undefined {
  return distribution === 'fla-core'
    ? 'flash-linear-attention'
    : STATE_PACKAGES.find((known) => known === distribution);
}

/** The packages that distributions bring, each once; what none of them brings may be installed all the same. Empty where they bring none. */
export function statePackagesAmong(distributions: readonly string[]): readonly string[] {
  const packages = new Set(distributions.flatMap((name) => statePackageOf(name) ?? []));
  return packages.size === 0 ? [] : [...packages, UNKNOWN_PACKAGES];
}
