/** The outside world, injected: a language server backs it with open documents and the disk, tests with a map. */
export interface Host {
  /** Text of a file (unsaved editor text first), or undefined where there is none. Never throws. */
  readText(uri: string): Promise<string | undefined>;
  /** Names in a folder, or undefined. Used to find `oomlint.yaml` upward and siblings; never recursive. */
  exists(uri: string): Promise<boolean>;
  /** Workspace folders, outermost first. */
  readonly folders: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** User's home folder as a URI, for the Hugging Face cache. */
  readonly home?: string;
}
