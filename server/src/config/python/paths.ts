import { plainPath } from '../plain-path';
import type { Machine } from './machine';
import { stringOf } from './node-of-value';
import { serializedIn } from './serialized-value';
import type { SyntaxNode } from './syntax-node';
import type { PyValue } from './value';

/*
 * Paths of files, which are text here whether a program has them as `str` or as `pathlib.Path`. Nothing looks at a disk.
 */

/** Functions that make a path of one, or of several. */
const SAME =
  /^(?:os\.path\.(?:abspath|realpath|normpath|expanduser|expandvars)|os\.fspath|hydra\.utils\.to_absolute_path)$/;
const JOINS = /^(?:(?:pathlib\.)?(?:Path|PosixPath|PurePath|PurePosixPath)|os\.path\.join)$/;
const HERE = /^(?:os\.getcwd|(?:pathlib\.)?Path\.cwd|hydra\.utils\.get_original_cwd)$/;

/** Whether a function makes a path of others. */
export const isPathFunction = (name: string): boolean =>
  SAME.test(name) || JOINS.test(name) || HERE.test(name) || /^os\.path\.(?:dirname|basename)$/.test(name);

const joinedPath = (parts: readonly string[]): string =>
  plainPath(parts.reduce((path, part) => (part.startsWith('/') ? part : `${path}/${part}`)));

/** The folder that holds a path. */
const folderOf = (path: string): string => {
  const plain = plainPath(path);
  const at = plain.lastIndexOf('/');
  return at < 0 ? '.' : plain.slice(0, at);
};

/** What a function of `os.path` or `pathlib` gives; undefined where it is none, or of what is not known. */
export function pathOf(
  machine: Machine,
  name: string,
  given: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  if (HERE.test(name)) return machine.scalar('.', node);
  const parts = given.map(stringOf);
  const [first] = parts;
  if (first === undefined || !parts.every((part) => part !== undefined)) return undefined;
  if (JOINS.test(name)) return machine.scalar(joinedPath(parts), node);
  if (parts.length !== 1) return undefined;
  if (SAME.test(name)) return machine.scalar(plainPath(first), node);
  if (name === 'os.path.dirname') return machine.scalar(folderOf(first), node);
  return name === 'os.path.basename' ? machine.scalar(lastOf(first), node) : undefined;
}

const lastOf = (path: string) => plainPath(path).split('/').at(-1) ?? path;

/** `path / "name"`. */
export function dividedPath(
  machine: Machine,
  left: PyValue,
  right: PyValue,
  node: SyntaxNode,
): PyValue | undefined {
  const [folder, name] = [stringOf(left), stringOf(right)];
  return folder === undefined || name === undefined
    ? undefined
    : machine.scalar(joinedPath([folder, name]), node);
}

/** An attribute of a path; undefined where text has none of that name. */
export function pathAttribute(
  machine: Machine,
  path: string,
  name: string,
  node: SyntaxNode,
): PyValue | undefined {
  if (name === 'parent') return machine.scalar(folderOf(path), node);
  if (name === 'name') return machine.scalar(lastOf(path), node);
  if (name === 'stem') return machine.scalar(lastOf(path).replace(/(?<=.)\.[^.]*$/, ''), node);
  if (name !== 'parents') return undefined;
  const items: PyValue[] = [];
  for (let folder = folderOf(path); items.length < 12; folder = folderOf(folder)) {
    items.push(machine.scalar(folder, node));
    if (folder === '.' || folder === '' || !folder.includes('/')) break;
  }
  return { kind: 'list', items, range: machine.rangeOf(node) };
}

/** A method of a path; undefined where it is none. */
export function pathMethod(
  machine: Machine,
  path: string,
  name: string,
  given: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  if (/^(?:resolve|absolute|expanduser|as_posix)$/.test(name)) return machine.scalar(plainPath(path), node);
  if (name === 'joinpath') {
    const parts = given.map(stringOf);
    return parts.every((part) => part !== undefined)
      ? machine.scalar(joinedPath([path, ...parts]), node)
      : undefined;
  }
  if (/^(?:open|read_text|read_bytes)$/.test(name))
    return { kind: 'unknown', range: machine.rangeOf(node), file: path };
  if (/^write_(?:text|bytes)$/.test(name)) {
    machine.data.write(path, serializedIn(given[0]));
    return machine.unknown(node);
  }
  return undefined;
}
