import type { Lines } from './lines';
import type { ConfigDocument } from './node';

const DIRECTIVE = /(#|\/\/|\/\*)[ \t]*oomlint:[ \t]*([^\r\n]*)/g;

/** Directive comments of a text. The range covers exactly the returned text, so offsets in it can be mapped back. */
export function directivesOf(lines: Lines): ConfigDocument['directives'] {
  const { text } = lines;
  if (!text.includes('oomlint:')) return [];
  const found: ConfigDocument['directives'][number][] = [];
  const pattern = new RegExp(DIRECTIVE);
  for (let match = pattern.exec(text); match && found.length < 100; match = pattern.exec(text)) {
    if (!opensComment(text, match.index)) {
      // What looks like one inside a string may hide a real one behind it.
      pattern.lastIndex = match.index + 1;
      continue;
    }
    const written = match[2] ?? '';
    const content = (match[1] === '/*' ? (written.split('*/', 1)[0] ?? '') : written).trimEnd();
    const start = match.index + match[0].length - written.length;
    found.push({ text: content, range: lines.range(start, start + content.length) });
  }
  return found;
}

/** Not inside a quoted string or a word such as `https://`. */
function opensComment(text: string, at: number): boolean {
  const before = text[at - 1];
  if (before !== undefined && !/[\s,{}[\]]/.test(before)) return false;
  const lineStart = Math.max(text.lastIndexOf('\n', at - 1), text.lastIndexOf('\r', at - 1)) + 1;
  const quotes = text.slice(lineStart, at).replace(/\\./g, '').match(/"/g);
  return (quotes?.length ?? 0) % 2 === 0;
}
