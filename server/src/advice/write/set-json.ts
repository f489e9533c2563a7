import { applyEdits, type FormattingOptions, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import { breakOf, endOfLine } from './splice';
import type { Written } from './written';

/** Sets or removes a key of a JSON text; comments (`#` ones too), trailing commas and the indentation stay. */
export function setJson(text: string, path: readonly string[], value: Written): string | undefined {
  const plain = withoutHashes(text);
  const root = parseTree(plain, [], { allowTrailingComma: true });
  if (root?.type !== 'object') return undefined;
  const steps = path.map((step) => (/^\[\d+\]$/.test(step) ? Number(step.slice(1, -1)) : step));
  // Where a comment follows the last key of its block, a new one goes first: behind it, the comment would change its key.
  const parent = deepest(root, steps);
  const last = parent?.children?.at(-1);
  const behind = last
    ? plain.slice(last.offset + last.length, endOfLine(plain, last.offset + last.length))
    : '';
  const commented = /\/\/|\/\*/.test(behind);
  const edits = modify(plain, steps, value, {
    formattingOptions: formattingOf(text),
    ...(commented || hashBehind(text, last?.offset, last?.length) ? { getInsertionIndex: () => 0 } : {}),
  });
  return applyEdits(text, edits);
}

function hashBehind(text: string, offset: number | undefined, length: number | undefined): boolean {
  if (offset === undefined || length === undefined) return false;
  return text.slice(offset + length, endOfLine(text, offset + length)).includes('#');
}

/** The innermost object on the way to a key. */
function deepest(root: NonNullable<ReturnType<typeof parseTree>>, steps: readonly (string | number)[]) {
  let found = root;
  for (let depth = 1; depth <= steps.length; depth++) {
    const next = findNodeAtLocation(root, steps.slice(0, depth));
    if (next?.type !== 'object') break;
    found = next;
  }
  return found;
}

/** `#` comments become blanks of the same length: JSON's tools do not know them. */
function withoutHashes(text: string): string {
  return text.replace(/"(?:\\.|[^"\\\r\n])*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|#[^\r\n]*/g, (found) =>
    found.startsWith('#') ? ' '.repeat(found.length) : found,
  );
}

function formattingOf(text: string): FormattingOptions {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const tabs = indent.startsWith('\t');
  return { insertSpaces: !tabs, tabSize: tabs ? 1 : indent.length, eol: breakOf(text) };
}
