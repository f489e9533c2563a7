import { readdir } from 'node:fs/promises';
import path from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { readFileText } from './bounded-read';
import { isConfigName, SKIPPED_FOLDERS } from './config-names';
import { trackedPaths } from './git-index';

/** A longer `.gitignore` is none. Bytes. */
const LARGEST_RULES = 2 ** 20;
/** Links between folders can make a tree endless; no real one is this deep. */
const DEEPEST = 64;

interface Rules {
  /** Folder of the `.gitignore`. */
  readonly folder: string;
  readonly matcher: Ignore;
}

const RULES = '.gitignore';

async function rulesIn(folder: string): Promise<Rules | undefined> {
  const text = await readFileText(path.join(folder, RULES), LARGEST_RULES);
  return text === undefined ? undefined : { folder, matcher: ignore({ ignorecase: false }).add(text) };
}

/** The innermost rule that speaks about a path decides, as in git. */
function isIgnored(file: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { folder, matcher } of [...rules].reverse()) {
    const relative = path.relative(folder, file).split(path.sep).join('/');
    const verdict = matcher.test(isFolder ? `${relative}/` : relative);
    if (verdict.ignored || verdict.unignored) {
      return verdict.ignored;
    }
  }
  return false;
}

interface Above {
  readonly rules: readonly Rules[];
  readonly repository?: string;
}

/** `.gitignore` files above a folder, up to the root of its repository; none outside of one. */
async function rulesAbove(folder: string): Promise<Above> {
  const found: Rules[] = [];
  for (let current = folder; ; current = path.dirname(current)) {
    if (current !== folder) {
      const rules = await rulesIn(current);
      if (rules) {
        found.unshift(rules);
      }
    }
    const names = await readdir(current).catch((): string[] => []);
    if (names.includes('.git')) {
      return { rules: found, repository: current };
    }
    if (path.dirname(current) === current) {
      return { rules: [] };
    }
  }
}

/**
 * Files below a folder that may be configs, in order, without what git ignores and without hidden tool folders. Links to
 * folders are not followed. Folders that cannot be read are named to `unreadable`.
 */
export async function findConfigs(root: string, unreadable: (folder: string) => void): Promise<string[]> {
  const files: string[] = [];
  const above = await rulesAbove(root);
  let tracked: Promise<ReadonlySet<string>> | undefined;
  const isTracked = async (file: string) => {
    if (above.repository === undefined) return false;
    tracked ??= trackedPaths(above.repository);
    return (await tracked).has(file);
  };
  const visit = async (folder: string, rules: readonly Rules[], depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
    if (!entries) {
      unreadable(folder);
      return;
    }
    const own = entries.some(({ name }) => name === RULES) ? await rulesIn(folder) : undefined;
    const all = own ? [...rules, own] : rules;
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const full = path.join(folder, entry.name);
      if (SKIPPED_FOLDERS.has(entry.name)) continue;
      // What git keeps it does not ignore.
      if (isIgnored(full, entry.isDirectory(), all) && !(await isTracked(full))) continue;
      if (entry.isDirectory()) {
        if (depth < DEEPEST) {
          await visit(full, all, depth + 1);
        }
      } else if (isConfigName(entry.name)) {
        files.push(full);
      }
    }
  };
  await visit(root, above.rules, 0);
  return files;
}
