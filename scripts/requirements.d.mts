/** What a machine has, and how what it lacks is got. */
export interface Machine {
  readonly isOnPath: (program: string) => boolean;
  readonly hasLibrary: (name: string) => boolean;
  readonly findBrowser: () => string | undefined;
  readonly carriesBrowser: () => boolean;
  readonly vsCodeIsInstalled: () => boolean;
  readonly mayInstallPackages: () => boolean;
  readonly downloadBrowser: () => Promise<void>;
  readonly installPackages: (names: readonly string[]) => Promise<void>;
  readonly unpackBrowser: () => Promise<void>;
  readonly installVsCode: () => Promise<void>;
}

/** Makes sure of what is asked for, or throws with the command that a person has to run. */
export function provide(
  wanted: { readonly browser?: boolean; readonly vscode?: boolean },
  machine?: Machine,
): Promise<void>;
