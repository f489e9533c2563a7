import { say } from '../../wording/say';

/**
 * Text with named groups in braces, `greedy:{n}`. Groups take anything but blanks, commas and the character that follows
 * them. No regular expressions of users are run: a template cannot take long.
 */
export interface Template {
  readonly text: string;
  readonly groups: readonly string[];
  /** Captured texts by group; undefined where the text does not fit. */
  match(text: string): ReadonlyMap<string, string> | undefined;
}

const GROUP = /\{([A-Za-z_]\w*)\}/g;

/** Compiles a template, or names what is wrong with it. */
export function compileTemplate(text: string): { readonly template: Template } | { readonly error: string } {
  const groups = [...text.matchAll(GROUP)].map((match) => match[1] ?? '');
  const literals = text.split(GROUP).filter((_, index) => index % 2 === 0);
  if (literals.some((literal) => /[{}]/.test(literal)))
    return { error: say('braces hold the name of a group: letters, digits and underscores') };
  if (literals.slice(1, -1).includes(''))
    return { error: say('between two groups there must be some text, or nobody could tell where one ends') };
  if (new Set(groups).size < groups.length) return { error: say('each group needs a name of its own') };
  return { template: { text, groups, match: (given) => matchLiterals(given, literals, groups) } };
}

/** Each group ends where the next literal first occurs: no choice, no going back. */
function matchLiterals(
  text: string,
  literals: readonly string[],
  groups: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const [first = ''] = literals;
  if (!text.startsWith(first)) return undefined;
  const found = new Map<string, string>();
  let at = first.length;
  for (let i = 0; i < groups.length; i++) {
    const literal = literals[i + 1] ?? '';
    const end = literal === '' ? text.length : text.indexOf(literal, at);
    if (end < 0) return undefined;
    const captured = text.slice(at, end);
    if (captured === '' || /[\s,]/.test(captured)) return undefined;
    found.set(groups[i] ?? '', captured);
    at = end + literal.length;
  }
  return at === text.length ? found : undefined;
}

/** A template of several parts with commas between, `l={l},h={h}`: parts may come in any order, and some may be missing. */
export interface Shorthand {
  readonly text: string;
  readonly groups: readonly string[];
  match(text: string): ReadonlyMap<string, { readonly text: string; readonly offset: number }> | undefined;
}

export function compileShorthand(
  text: string,
): { readonly shorthand: Shorthand } | { readonly error: string } {
  const parts: Template[] = [];
  for (const part of text.split(',')) {
    const compiled = compileTemplate(part.trim());
    if ('error' in compiled) return compiled;
    parts.push(compiled.template);
  }
  const groups = parts.flatMap((part) => part.groups);
  if (groups.length === 0) return { error: say('a shorthand needs a group in braces, such as l={layers}') };
  return { shorthand: { text, groups, match: (given) => matchParts(given, parts) } };
}

function matchParts(
  text: string,
  parts: readonly Template[],
): ReadonlyMap<string, { readonly text: string; readonly offset: number }> | undefined {
  const found = new Map<string, { text: string; offset: number }>();
  let offset = 0;
  for (const piece of text.split(',')) {
    const trimmed = piece.trim();
    const start = offset + piece.indexOf(trimmed);
    const match = parts.map((part) => part.match(trimmed)).find((m) => m !== undefined);
    if (!match) return undefined;
    for (const [group, captured] of match)
      found.set(group, { text: captured, offset: start + Math.max(0, trimmed.lastIndexOf(captured)) });
    offset += piece.length + 1;
  }
  return found;
}
