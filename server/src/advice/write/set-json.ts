import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';
import type { Written } from '../../dialects/words';
import { breakOf, endOfLine, splice, startOfLine, withoutLines } from './splice';
import { inline, isBlock } from './written';

/** Sets or removes a key of a JSON text; comments (`#` ones too), trailing commas and the indentation stay. */
export function setJson(text: string, path: readonly string[], value: Written): string | undefined {
  const plain = withoutHashes(text);
  const root = parseTree(plain, [], { allowTrailingComma: true });
  if (root?.type !== 'object') return undefined;
  let object: Node = root;
  for (const [depth, key] of path.entries()) {
    const found = findNodeAtLocation(object, [key]);
    const rest = path.slice(depth + 1);
    if (!found) {
      if (value === undefined) return text;
      return inserted(text, plain, object, key, nested(rest, value));
    }
    if (rest.length === 0) return changed(text, plain, object, found, value);
    if (found.type !== 'object') {
      return value === undefined ? text : changed(text, plain, object, found, nested(rest, value));
    }
    object = found;
  }
  return undefined;
}

const nested = (path: readonly string[], value: Written): Written =>
  path.reduceRight<Written>((inner, key) => ({ [key]: inner }), value);

const endOf = ({ offset, length }: Node) => offset + length;

/** `#` comments become blanks of the same length: JSON's tools do not know them. */
function withoutHashes(text: string): string {
  return text.replace(/"(?:\\.|[^"\\\r\n])*"?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)|#[^\r\n]*/g, (found) =>
    found.startsWith('#') ? ' '.repeat(found.length) : found,
  );
}

function changed(text: string, plain: string, object: Node, found: Node, value: Written): string | undefined {
  if (value === undefined) return removed(text, plain, object, found);
  const indent = indentOf(text, found.parent?.offset ?? found.offset);
  const shown = isOneLine(text, object) ? inline(value) : shownOf(value, indent, text);
  return splice(text, found.offset, endOf(found), shown);
}

const isOneLine = (text: string, node: Node) => !/[\r\n]/.test(text.slice(node.offset, endOf(node)));

/** What stands before a place on its line, if only blanks do. */
function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(startOfLine(text, offset), offset))?.[0] ?? '';
}

/** How far the file indents. */
function step(text: string): string {
  return /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
}

function shownOf(value: Written, indent: string, text: string): string {
  if (!isBlock(value)) return inline(value);
  const deeper = indent + step(text);
  const eol = breakOf(text);
  const lines = Object.entries(value).map(
    ([key, inner]) => `${deeper}${JSON.stringify(key)}: ${shownOf(inner, deeper, text)}`,
  );
  return `{${eol}${lines.join(`,${eol}`)}${eol}${indent}}`;
}

/** Behind the last key; its comment stays on its line. */
function inserted(text: string, plain: string, object: Node, key: string, value: Written): string {
  const name = JSON.stringify(key);
  const last = object.children?.at(-1);
  const eol = breakOf(text);
  if (!last) {
    const indent = indentOf(text, object.offset);
    const alone = shownOf({ [key]: value }, indent, text);
    return splice(text, object.offset, endOf(object), alone);
  }
  if (isOneLine(text, object) && (object.parent || !isBlock(value))) {
    return splice(text, endOf(last), endOf(last), `, ${name}: ${inline(value)}`);
  }
  const indent = indentOf(text, last.offset);
  const property = `${eol}${indent}${name}: ${shownOf(value, indent, text)}`;
  const between = plain.slice(endOf(last), endOf(object) - 1);
  const comma = between
    .replace(/\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (found) => ' '.repeat(found.length))
    .indexOf(',');
  // A brace on the line of the last key closes behind the new one.
  const lineEnd = Math.min(endOfLine(text, endOf(last)), endOf(object) - 1);
  if (comma >= 0)
    return splice(
      text,
      Math.max(lineEnd, endOf(last) + comma + 1),
      Math.max(lineEnd, endOf(last) + comma + 1),
      `${property},`,
    );
  const extended = splice(text, lineEnd, lineEnd, property);
  return splice(extended, endOf(last), endOf(last), ',');
}

function removed(text: string, plain: string, object: Node, found: Node): string {
  const property = found.parent ?? found;
  const siblings = object.children ?? [];
  const at = siblings.indexOf(property);
  const before = siblings[at - 1];
  const isLast = at === siblings.length - 1;
  const comma = /^\s*,/.exec(plain.slice(endOf(property)));
  const end = endOf(property) + (comma?.[0].length ?? 0);
  const line = startOfLine(text, property.offset);
  const alone =
    text.slice(line, property.offset).trim() === '' &&
    /^\s*?(?:(?:\/\/|#).*)?$/.test(text.slice(end, endOfLine(text, end)));
  const cut = alone ? withoutLines(text, property.offset, end) : undefined;
  if (cut !== undefined) {
    if (!isLast || comma || !before) return cut;
    const orphan = plain.indexOf(',', endOf(before));
    return splice(cut, orphan, orphan + 1, '');
  }
  if (comma) {
    const blanks = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
    return splice(text, property.offset, end + blanks, '');
  }
  return splice(text, before ? endOf(before) : property.offset, endOf(property), '');
}
