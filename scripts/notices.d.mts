import type { Metafile } from 'esbuild';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly address?: string;
  readonly text: string;
}

export function bundledPackages(
  metafiles: readonly Metafile[],
  outputs: readonly string[],
  root: string,
  beside?: readonly string[],
): Promise<BundledPackage[]>;
export function writeNotices(packages: readonly BundledPackage[], file: string): Promise<number>;
