/** Folder of programs that are installed once for this person. */
export const CACHE: string;

/** Installs a package, or several, into a folder that holds nothing else; rejects with what npm printed. */
export function npmInstall(
  folder: string,
  what: string | readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<void>;
