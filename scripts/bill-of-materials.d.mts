import type { BundledPackage } from './notices.mjs';

export interface BillOfMaterials {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly components: readonly {
    readonly type: string;
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly licenses: readonly { readonly license: { readonly id: string } }[];
  }[];
}

export function billOfMaterials(
  packages: readonly Omit<BundledPackage, 'text'>[],
  product: { readonly name: string; readonly version: string; readonly license: string },
): BillOfMaterials;
