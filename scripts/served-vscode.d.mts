export interface ServedVsCode {
  /** The address of an editor on a folder, with the extension under development in another. */
  url(folder: string, extension: string, tests?: string): string;
  /** What the server printed. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts VS Code's own server on a port of this machine. It is there once `requirements.mjs vscode` has run. */
export function serveVsCode(options?: {
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly extensions?: readonly string[];
  readonly port?: number;
}): Promise<ServedVsCode>;
