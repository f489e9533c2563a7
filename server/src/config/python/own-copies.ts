import type { Range } from '../../text/place';
import type { Lines } from '../lines';

/** A package that a text imports from a folder of the project: a copy, which may do otherwise than any release. */
export interface OwnCopy {
  readonly name: string;
  readonly range: Range;
}

/** Folders that are put where Python looks for packages, on a line of code. */
const ADDED = /^[^\n#]*\bsys\.path\.(?:append|insert)\(([^\n]*)$/gm;
/** The last text of the line, where a folder's name is that of a package: `peft/src/`, `hf_transformers`, `trl-main`. */
const FOLDER =
  /["'](?:[^"'\n]*\/)?(?:hf_)?(peft|trl|transformers|accelerate|deepspeed)(?:-main|-master)?(?:\/src)?\/?["'][)\s]*(?:#.*)?$/i;

/** Packages of which a text uses a copy of the project's own. */
export function ownCopies(lines: Lines): readonly OwnCopy[] {
  if (!lines.text.includes('sys.path')) return [];
  return [...lines.text.matchAll(ADDED)].flatMap(({ 0: line, 1: added = '', index }) => {
    const name = FOLDER.exec(added)?.[1]?.toLowerCase();
    const start = index + line.search(/\S/);
    return name ? [{ name, range: lines.range(start, index + line.length) }] : [];
  });
}
