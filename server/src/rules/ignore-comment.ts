/** What a comment `# oomlint: ignore[tight, unknown-key] why` silences. */
interface IgnoreComment {
  /** Names of rules as written, each with where it begins in the text. */
  readonly names: readonly { readonly name: string; readonly start: number }[];
  /** Of the whole file, not of a line. */
  readonly file: boolean;
  /** What stands behind, for people. */
  readonly reason: string;
}

const IGNORE = /^\s*ignore(?<file>-file)?\s*\[(?<names>[^\]]*)\](?<reason>.*)$/i;

/** Reads the text after `oomlint:`; undefined where it is another comment. */
export function ignoreComment(text: string): IgnoreComment | undefined {
  const match = IGNORE.exec(text);
  const { names = '', file, reason = '' } = match?.groups ?? {};
  if (!match) return undefined;
  const start = text.indexOf('[') + 1;
  return {
    names: [...names.matchAll(/[^\s,]+/g)].map((found) => ({ name: found[0], start: start + found.index })),
    file: file !== undefined,
    reason: reason.trim(),
  };
}
