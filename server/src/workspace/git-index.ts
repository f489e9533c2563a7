import path from 'node:path';
import { readBytes, readFileText } from './bounded-read';

/** A longer index is not read. Bytes. */
const LARGEST_INDEX = 2 ** 27;
/** Signature, version and number of entries; then each entry: times, mode, owner, size and hash before its flags and its name (https://git-scm.com/docs/index-format). Bytes. */
const HEADER = 12;
const FLAGS = 60;
const EXTENDED = 0x4000;

/** Names of an index of version 2 or 3, as git writes it unless it is asked for prefixes. */
function namesOf(index: Buffer): string[] {
  const names: string[] = [];
  if (index.length < HEADER || index.toString('latin1', 0, 4) !== 'DIRC') return names;
  const version = index.readUInt32BE(4);
  if (version !== 2 && version !== 3) return names;
  let at = HEADER;
  for (let left = index.readUInt32BE(8); left > 0 && at + FLAGS + 2 <= index.length; left--) {
    const start = at + FLAGS + (index.readUInt16BE(at + FLAGS) & EXTENDED ? 4 : 2);
    const end = index.indexOf(0, start);
    if (end < 0) break;
    names.push(index.toString('utf8', start, end));
    // NUL bytes fill an entry up to eight.
    at += (end - at + 8) & ~7;
  }
  return names;
}

/** Files that git keeps of a repository, be they in `.gitignore` or not, and the folders that they lie in. */
export async function trackedPaths(repository: string): Promise<ReadonlySet<string>> {
  const git = path.join(repository, '.git');
  // A worktree and a submodule have a file that names the folder.
  const link = /^gitdir: (.+)/.exec((await readFileText(git, 2 ** 12)) ?? '')?.[1];
  const index = await readBytes(
    path.join(link ? path.resolve(repository, link) : git, 'index'),
    LARGEST_INDEX,
  );
  const tracked = new Set<string>();
  for (const name of index ? namesOf(index) : []) {
    for (let each = path.join(repository, name); !tracked.has(each) && each !== repository; ) {
      tracked.add(each);
      each = path.dirname(each);
    }
  }
  return tracked;
}
