import type { BuildOptions } from 'esbuild';

/** Options of esbuild for the modules of server and command line, but for entries, the folder and how small it gets. */
export const MODULES: BuildOptions;
/** Options of esbuild for the client, one file for a desktop and a browser. */
export const CLIENT: BuildOptions & { readonly outfile: string };
export const ENTRIES: { readonly server: string; readonly cli: string };
export const STARTED_BY_EDITOR: { readonly server: string; readonly mcp: string };
/** Rows of a table by their columns. */
export function columnsOf(
  rows: readonly Readonly<Record<string, unknown>>[],
): Readonly<Record<string, readonly unknown[]>>;
/** The rows again; `columns` as JSON. */
export function rowsOf(columns: string): Record<string, unknown>[];
