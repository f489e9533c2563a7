/** Packages whose kernels layers that keep a state run on; transformers writes each out in PyTorch's own operators where it is absent. */
export const STATE_PACKAGES = ['mamba-ssm', 'causal-conv1d', 'flash-linear-attention'] as const;
export type StatePackage = (typeof STATE_PACKAGES)[number];

/** Stands among them for packages that nobody names: they may be installed or not. */
export const UNKNOWN_PACKAGES = 'unknown';

/** What a distribution of PyPI brings of them; `fla-core` is the kernels of `flash-linear-attention` alone. */
export function statePackageOf(distribution: string): StatePackage | undefined {
  const name = distribution.toLowerCase().replace(/[_.]+/g, '-');
  return name === 'fla-core' ? 'flash-linear-attention' : STATE_PACKAGES.find((known) => known === name);
}
