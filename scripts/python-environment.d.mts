export interface PythonEnvironment {
  /** Folder of its programs. */
  readonly programs: string;
  /** Variables by which pip installs without a network. */
  readonly env: Readonly<Record<string, string>>;
}
export function findPython(): Promise<string | undefined>;
export function pythonEnvironment(
  folder: string,
  ...packages: readonly string[]
): Promise<(PythonEnvironment & { readonly missing?: undefined }) | { readonly missing: string }>;
export function builtWheel(): Promise<string>;
