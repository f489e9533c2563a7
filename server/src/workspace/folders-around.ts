import { canonicalUri, foldersUpward, relativePath } from '../text/uri';

/** Folders that are looked into where no workspace folder holds a file, its own among them: nobody knows where its project ends. */
const MOST_FOLDERS = 3;

interface Folders {
  readonly folders: readonly string[];
}

/** The outermost workspace folder that holds a file, in its canonical spelling without a slash at the end. */
export function workspaceFolderOf(uri: string, { folders }: Folders): string | undefined {
  const holding = folders.filter((folder) => relativePath(folder, uri) !== undefined).map(canonicalUri);
  const [outermost] = holding.sort((a, b) => a.length - b.length);
  return outermost?.replace(/\/$/, '');
}

/** Folders from the file's own up to the workspace folder that holds it, nearest first. */
export function foldersAround(uri: string, files: Folders): string[] {
  const root = workspaceFolderOf(uri, files);
  if (root === undefined) return foldersUpward(uri, MOST_FOLDERS);
  return foldersUpward(uri).filter((folder) => `${folder}/`.startsWith(`${root}/`));
}
