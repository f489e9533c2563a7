/** A string or template of a source file, with `{}` for what a template fills in. */
export interface Literal {
  readonly text: string;
  /** The code in front of it, without comments and blanks at its end; the last part of it. */
  readonly before: string;
  readonly line: number;
}

/** All literals of a TypeScript source, those inside of templates too. Types and regular expressions are passed over. */
export function literalsOf(source: string): Literal[] {
  return lexed(source).found;
}

/** A TypeScript source without comments, and with its literals empty: names are left, but for those inside of templates. */
export function codeOf(source: string): string {
  return lexed(source).code;
}

function lexed(source: string): { readonly found: Literal[]; readonly code: string } {
  const found: Literal[] = [];
  let at = 0;
  let code = '';
  const note = (text: string, start: number) =>
    found.push({ text, before: code.slice(-80).trimEnd(), line: source.slice(0, start).split('\n').length });

  function quoted(mark: string): void {
    const start = at;
    for (at++; at < source.length && source[at] !== mark; at++) if (source[at] === '\\') at++;
    at++;
    note(source.slice(start + 1, at - 1).replace(/\\(.)/g, '$1'), start);
    code += '"" ';
  }

  function template(): void {
    const start = at;
    const before = code;
    let text = '';
    for (at++; at < source.length && source[at] !== '`'; ) {
      if (source[at] === '\\') {
        text += source[at + 1] ?? '';
        at += 2;
      } else if (source.startsWith('${', at)) {
        at += 2;
        text += '{}';
        code += '${';
        walk('}');
        at++;
      } else {
        text += source[at++];
      }
    }
    at++;
    code = before;
    note(text, start);
    code += '"" ';
  }

  function regularExpression(): void {
    let inClass = false;
    for (at++; at < source.length && (inClass || source[at] !== '/'); at++) {
      if (source[at] === '\\') at++;
      else if (source[at] === '[') inClass = true;
      else if (source[at] === ']') inClass = false;
    }
    at++;
    code += '// ';
  }

  function walk(end: string): void {
    let depth = 0;
    while (at < source.length) {
      const char = source[at] ?? '';
      if (char === end && depth === 0) return;
      if (source.startsWith('//', at)) at = ends(source.indexOf('\n', at));
      else if (source.startsWith('/*', at)) at = ends(source.indexOf('*/', at) + 1) + 1;
      else if (char === "'" || char === '"') quoted(char);
      else if (char === '`') template();
      else if (char === '/' && /(^|[=(,:;!&|?{}[>\n]|\breturn)\s*$/.test(code.slice(-20)))
        regularExpression();
      else {
        if (char === '{') depth++;
        if (char === '}') depth--;
        code += char;
        at++;
      }
    }
  }
  const ends = (place: number) => (place < 0 ? source.length : place);

  walk('');
  return { found, code };
}

/** Whether a person would read it as words: two side by side, one of them a plain one, outside of inline code. */
export function isProse(text: string): boolean {
  if (text.includes('\n')) return false;
  const words = text.replace(/`[^`]*`/g, '{}').split(' ');
  const wordlike = (word = '') => /^["'(]*(\{\}|[A-Za-z][A-Za-z'’-]*)["')]*[.,:;?!]*$/.test(word);
  const plain = (word = '') => /^["'(]*(?=.*[a-z]{2})[A-Z]?[a-z'’-]+["')]*[.,:;?!]*$/.test(word);
  return words.some((word, i) => {
    const next = words[i + 1];
    return wordlike(word) && wordlike(next) && (plain(word) || plain(next));
  });
}
