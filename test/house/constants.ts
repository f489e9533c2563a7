import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

/** Folders whose numbers make figures. */
const FOLDERS = ['model', 'memory', 'compute', 'hardware', 'results', 'explanation', 'behaviours'];

/** Numbers that stand for themselves: small counts, bytes of types, powers of two of units and of ten, seconds of a minute and an hour. */
const PLAIN = new Set(
  '0 1 2 3 4 8 10 16 32 64 100 1000 1_000 1024 1e3 1e6 1_000_000 1e9 1_000_000_000 1e12 0.5 24 60 3600 86_400'.split(
    ' ',
  ),
);
const UNIT = /\b2 \*\* (?:10|20|30|40)\b|\b1e-(?:3|6|9)\b/g;
const QUOTED =
  /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"[^"]*"|\/(?:[^/\\\n[]|\\.|\[[^\]]*\])+\/[a-z]*(?=[.,;)\s])/g;
const NUMBER = /(?<![\w.$])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?![\w.])/g;

/** Lines of a source that are comments, whole. */
function commentLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  let within = false;
  lines.forEach((line, index) => {
    const text = line.trim();
    if (within || text.startsWith('//') || text.startsWith('/*')) found.add(index);
    if (text.startsWith('/*') || within) within = !text.includes('*/');
  });
  return found;
}

/**
 * Numbers of a formatted source that nothing explains, with their lines from 1: no comment stands on the line, nor above it before the next
 * empty line.
 */
export function unexplainedNumbers(source: string): string[] {
  const lines = source.split('\n');
  const comments = commentLines(lines);
  const explained = (index: number): boolean => {
    for (let at = index; at >= 0 && lines[at]?.trim() !== ''; at -= 1) if (comments.has(at)) return true;
    return false;
  };
  return lines.flatMap((line, index) => {
    if (comments.has(index) || line.includes(' // ')) return [];
    const code = line.replace(QUOTED, '').replace(UNIT, '');
    const numbers = (code.match(NUMBER) ?? []).filter((number) => !PLAIN.has(number));
    return numbers.length > 0 && !explained(index) ? [`${index + 1}: ${line.trim()}`] : [];
  });
}

/** Those of all files whose numbers make figures. */
export function allUnexplainedNumbers(root = '.'): string[] {
  return FOLDERS.flatMap((folder) => sourcesOf(`server/src/${folder}`, root)).flatMap((file) =>
    unexplainedNumbers(readFileSync(path.join(root, file), 'utf8')).map((found) => `${file}:${found}`),
  );
}
