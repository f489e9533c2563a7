/** A stretch of text that came from one place of a script. */
export interface Piece {
  readonly text: string;
  /** Offsets into the script. */
  readonly start: number;
  readonly end: number;
  /** The script holds exactly this text there, so that it can be cut and edited. */
  readonly exact: boolean;
  /** Not known: the text is the expression as written (`$(date +%F)`). */
  readonly opaque?: boolean;
  /** Not known because the script never sets it: a variable of the environment, or an argument of the script. */
  readonly unset?: 'variable' | 'argument';
  /** Not known, and not quoted: it may be several words. */
  readonly splits?: boolean;
  /** The condition that decides about this text, where the script does not settle it. */
  readonly guessed?: TextStretch;
  /** Offsets of the expansion that brought the text here, where it was written somewhere else. */
  readonly used?: TextStretch;
}

/** A stretch of a script, by offsets. */
export interface TextStretch {
  readonly start: number;
  readonly end: number;
}

/** Text put together from places of a script: after expansion a flag's value still knows where it was written. */
export type PlacedText = readonly Piece[];

export function textOfPieces(text: PlacedText): string {
  // Nearly every word is one piece.
  if (text.length === 1) return text[0]?.text ?? '';
  return text.map((piece) => piece.text).join('');
}

/** Whether all of a text is known. */
export function isSettled(text: PlacedText): boolean {
  return !text.some((piece) => piece.opaque);
}

/** Whether nobody sets what stands there: `${X:-3}` is 3. */
export function isUnset(text: PlacedText): boolean {
  return text.length > 0 && text.every((piece) => piece.unset !== undefined || piece.text === '');
}

/** The pieces that hold any text. */
function written(text: PlacedText): PlacedText {
  return text.length === 1 && text[0]?.text !== '' ? text : text.filter((piece) => piece.text !== '');
}

/**
 * Where a text was written: one stretch where its pieces follow each other, else the words that it is used in. A value
 * that comes whole from a variable lies where the variable was set. `around` is the place of a text without pieces.
 */
export function placeOfPieces(text: PlacedText, around: TextStretch): TextStretch {
  const parts = written(text);
  const [first] = parts;
  const last = parts.at(-1);
  if (!first || !last) return { start: around.start, end: around.end };
  if (parts.length === 1) {
    const { start, end } = first.exact ? first : (first.used ?? first);
    return { start, end };
  }
  const joined = parts.every((piece, i) => i === 0 || parts[i - 1]?.end === piece.start);
  if (joined && parts.every((piece) => piece.exact)) return { start: first.start, end: last.end };
  const uses = parts.map((piece) => piece.used ?? piece);
  return { start: Math.min(...uses.map(({ start }) => start)), end: Math.max(...uses.map(({ end }) => end)) };
}

/** The expansion that a text came from as a whole; undefined where it stands as written. */
export function useOfPieces(text: PlacedText): TextStretch | undefined {
  const parts = written(text);
  const use = parts[0]?.used;
  return use && parts.every(({ used }) => used?.start === use.start && used.end === use.end)
    ? use
    : undefined;
}

/** The same text, brought to another place by an expansion. */
export function usedAt(text: PlacedText, { start, end }: TextStretch): PlacedText {
  return text.map((piece) => ({ ...piece, used: { start, end } }));
}

/** A part of a piece, by characters of its text. */
export function cutText(piece: Piece, from: number, to: number): Piece {
  const text = piece.text.slice(from, to);
  return piece.exact
    ? { ...piece, text, start: piece.start + from, end: piece.start + to }
    : { ...piece, text };
}

/**
 * Splits at blanks, as the shell does with what an unquoted variable holds. The first and the last field are open:
 * they join with what stands before and behind. Of more than `most` fields the rest is left out.
 */
export function splitAtBlanks(
  text: PlacedText,
  most = Number.POSITIVE_INFINITY,
): {
  readonly fields: readonly PlacedText[];
  readonly opensBlank: boolean;
  readonly closesBlank: boolean;
} {
  const fields: Piece[][] = [];
  let current: Piece[] = [];
  let any = false;
  for (const piece of text) {
    // What is not known (the output of a command) is one field, whatever blanks its own text holds.
    if (piece.opaque) {
      current.push(piece);
      any = true;
      continue;
    }
    const pattern = /\s+/g;
    let from = 0;
    for (
      let match = pattern.exec(piece.text);
      match && fields.length < most;
      match = pattern.exec(piece.text)
    ) {
      if (match.index > from) current.push(cutText(piece, from, match.index));
      if (current.length > 0) fields.push(current);
      current = [];
      from = match.index + match[0].length;
    }
    any ||= piece.text !== '';
    if (fields.length >= most) break;
    if (from < piece.text.length) current.push(cutText(piece, from, piece.text.length));
  }
  if (current.length > 0) fields.push(current);
  const first = text.find(isThere);
  const last = text.findLast(isThere);
  return {
    fields,
    opensBlank: any && first?.opaque !== true && /^\s/.test(first?.text ?? ''),
    // What follows a text that was cut joins nothing.
    closesBlank: fields.length >= most || (any && last?.opaque !== true && /\s$/.test(last?.text ?? '')),
  };
}

function isThere(piece: Piece): boolean {
  return piece.opaque === true || piece.text !== '';
}

/** Splits at the first occurrence of a character; undefined where there is none. */
export function splitOnce(
  text: PlacedText,
  character: string,
): { readonly before: PlacedText; readonly after: PlacedText } | undefined {
  const before: Piece[] = [];
  for (const [i, piece] of text.entries()) {
    const at = piece.text.indexOf(character);
    if (at < 0) {
      before.push(piece);
      continue;
    }
    return {
      before: [...before, cutText(piece, 0, at)],
      after: [cutText(piece, at + 1, piece.text.length), ...text.slice(i + 1)],
    };
  }
  return undefined;
}

/** Parts of a text between a character, as many as are followed. */
export function splitBy(text: PlacedText, character: string, most: number): PlacedText[] {
  const parts: PlacedText[] = [];
  let rest: PlacedText | undefined = text;
  while (rest && parts.length < most) {
    const split: ReturnType<typeof splitOnce> = splitOnce(rest, character.slice(0, 1));
    parts.push(split ? split.before : rest);
    rest = split?.after;
  }
  // What ends in the separator has nothing behind it.
  return textOfPieces(parts.at(-1) ?? []) === '' ? parts.slice(0, -1) : parts;
}
