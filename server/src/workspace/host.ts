/** `untrusted`: nobody chose to trust the workspace. `agents`: programs ask, and were given these folders alone. */
export type Confinement = 'untrusted' | 'agents';

/** The outside world, injected: a language server backs it with open documents and the disk, tests with a map. */
export interface Host {
  /** Text of a file (unsaved editor text first), of weights in safetensors their header; undefined where there is none. Never throws. */
  readText(uri: string): Promise<string | undefined>;
  /** Whether there is such a file or folder. Never throws. */
  exists(uri: string): Promise<boolean>;
  /**
   * Names of the files in a folder, in order; undefined where there is none. Used to find configs that name the one at
   * hand; never recursive. A host that cannot list leaves it out: then only files already seen are considered.
   */
  list?(uri: string): Promise<readonly string[] | undefined>;
  /** Names of the folders in a folder, in order; undefined where there is none, left out where the host cannot tell. */
  listFolders?(uri: string): Promise<readonly string[] | undefined>;
  /** The place that a path comes to over symbolic links; undefined where there is none, left out where there are no links. */
  realUri?(uri: string): Promise<string | undefined>;
  /** Why nothing outside `folders` is read but the cache of models; undefined where everything is. */
  readonly confined?: Confinement;
  /** An answer holds for as long as this host is asked: whoever began does not look for what others change meanwhile. */
  readonly isStill?: boolean;
  /** Workspace folders, outermost first. */
  readonly folders: readonly string[];
  /** Of `folders` those that hold a project of their own: what a file elsewhere names is not looked for in them. */
  readonly apart?: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** User's home folder as a URI, for the Hugging Face cache. */
  readonly home?: string;
}
