import { type ConfigReading, candidates, type Files } from './links';
import { canonicalUri, fileName, foldersUpward, relativePath } from './uri';

/** Folders hold at most this many configs that are looked at; more is a data folder. */
const MOST_FILES = 128;
/** Folders above the file that are looked into, its own included. */
const MOST_FOLDERS = 3;
/** A file with more characters names its configs somewhere else. */
const LONGEST = 200_000;

export interface ParentSearch extends Files {
  readText(uri: string): Promise<string | undefined>;
  list(uri: string): Promise<readonly string[] | undefined>;
  /** Configs seen before, such as open documents. */
  readonly seen: readonly string[];
}

/** Configs that may name a file: those already seen, then those in its folder and the folders above, nearest first. */
async function nearbyConfigs(uri: string, files: ParentSearch): Promise<string[]> {
  const root = files.folders.find((folder) => relativePath(folder, uri) !== undefined);
  const folders = foldersUpward(uri, MOST_FOLDERS).filter(
    (folder, index) => index === 0 || root === undefined || `${folder}/`.startsWith(`${canonicalUri(root)}/`),
  );
  const found: string[] = [];
  for (const folder of folders) {
    const names = (await files.list(folder)) ?? [];
    const configs = names.filter((name) => /\.(ya?ml|json|jsonc)$/i.test(name)).slice(0, MOST_FILES);
    found.push(...configs.map((name) => canonicalUri(`${folder}/${encodeURIComponent(name)}`)));
  }
  return [...new Set([...found, ...files.seen.map(canonicalUri)])];
}

/**
 * Configs that name this one, nearest first: a DeepSpeed JSON takes its batch and its model from the file that uses it.
 * Only texts that contain the file's name are parsed.
 */
export async function findParents(uri: string, files: ParentSearch): Promise<ConfigReading[]> {
  const self = canonicalUri(uri);
  const name = fileName(uri);
  const parents: ConfigReading[] = [];
  for (const candidate of await nearbyConfigs(uri, files)) {
    if (candidate === self) {
      continue;
    }
    const text = await files.readText(candidate);
    if (text === undefined || text.length > LONGEST || !text.includes(name)) {
      continue;
    }
    const config = await files.read(candidate);
    const names = config?.reading.links.some(
      (link) => link.role !== 'model' && candidates(link.path, candidate, files).includes(self),
    );
    if (config && names) {
      parents.push(config);
    }
  }
  return parents;
}
