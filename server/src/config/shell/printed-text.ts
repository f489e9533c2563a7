import { withBlanks } from './expand';
import { MOST_WORDS } from './job';
import { isSettled, type PlacedText, splitBy, textOfPieces } from './placed-text';

export function echoed(words: readonly PlacedText[]): PlacedText | undefined {
  const at = words.findIndex((word) => !/^-[neE]+$/.test(textOfPieces(word)));
  const escapes = words.slice(0, Math.max(0, at)).some((word) => /e/.test(textOfPieces(word)));
  const text = at < 0 ? [] : withBlanks(words.slice(at));
  return escapes && /\\/.test(textOfPieces(text)) ? undefined : text;
}

/** `printf '%s %d' a 1`, for formats of plain places. */
export function formatted(words: readonly PlacedText[]): PlacedText | undefined {
  const [format, ...rest] = words;
  if (!format || !isSettled(format)) return undefined;
  const text = textOfPieces(format).replace(/\\n$/, '');
  if (/\\|%[^sd%]/.test(text)) return undefined;
  const parts = text.split(/%[sd]/);
  if (parts.length - 1 < rest.length) return undefined;
  const start = format[0]?.start ?? 0;
  const plain = (part: string) => ({ text: part.replaceAll('%%', '%'), start, end: start, exact: false });
  return parts.flatMap((part, i) => (i === 0 ? [plain(part)] : [...(rest[i - 1] ?? []), plain(part)]));
}

/** Programs that start training, and Python. */
const LAUNCHER =
  /^(?:python[\d.]*|torchrun|deepspeed|accelerate|axolotl|llamafactory-cli|swift|megatron|tune|trl|litgpt|composer|xtuner|uv)$/;

/** What a program prints that only rearranges its arguments; undefined for others, nothing for those that print nothing. */
export function printedBy(
  name: string,
  words: readonly PlacedText[],
  input: PlacedText | undefined,
): PlacedText | undefined {
  const rest = words.slice(1);
  const [first = []] = rest;
  const text = textOfPieces(first);
  const at = first[0]?.start ?? 0;
  const made = (result: string): PlacedText => [{ text: result, start: at, end: at, exact: false }];
  switch (name) {
    case 'echo':
      return echoed(rest);
    case 'printf':
      return formatted(rest);
    case 'cat':
      return rest.length === 0 ? input : undefined;
    case 'basename': {
      if (!isSettled(rest.flat()) || /^-/.test(text)) return undefined;
      const base =
        text
          .replace(/(?<!\/)\/+$/, '')
          .split('/')
          .at(-1) ?? '';
      const suffix = textOfPieces(rest[1] ?? []);
      return made(
        suffix !== '' && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base,
      );
    }
    case 'dirname': {
      if (!isSettled(first)) return undefined;
      const path = text.replace(/(?<!\/)\/+$/, '');
      const slash = path.lastIndexOf('/');
      return made(slash < 0 ? '.' : slash === 0 ? '/' : path.slice(0, slash));
    }
    case 'seq': {
      const numbers = rest.map((word) => (isSettled(word) ? Number(textOfPieces(word)) : Number.NaN));
      if (numbers.length === 0 || numbers.length > 3 || !numbers.every(Number.isInteger)) return undefined;
      const [from = 1, step = 1, to = 1] =
        numbers.length === 1
          ? [1, 1, numbers[0]]
          : numbers.length === 2
            ? [numbers[0], 1, numbers[1]]
            : numbers;
      const count = step === 0 ? 0 : Math.floor((to - from) / step) + 1;
      if (count > 1_000) return undefined;
      return made(Array.from({ length: Math.max(0, count) }, (_, i) => String(from + i * step)).join('\n'));
    }
    case 'which':
    case 'command': {
      // Where a launcher lies nobody knows here; that it is one counts.
      const sought = textOfPieces(rest.at(-1) ?? []);
      return LAUNCHER.test(sought) && (name === 'which' || text === '-v') ? made(sought) : undefined;
    }
    case 'cd':
    case 'mkdir':
    case 'true':
    case ':':
      return [];
    default:
      return undefined;
  }
}

export function firstLine(text: PlacedText): PlacedText {
  return splitBy(text, '\n', MOST_WORDS)[0] ?? [];
}

/** Without blanks at its ends, as `read` leaves it. */
export function trimmed(text: PlacedText): PlacedText {
  const [first, ...rest] = text;
  if (!first || first.opaque) return trimmedEnd(text, /\s+$/);
  const kept = first.text.replace(/^\s+/, '');
  if (kept === '') return trimmed(rest);
  const place = first.exact ? { start: first.end - kept.length } : {};
  return trimmedEnd([{ ...first, ...place, text: kept }, ...rest], /\s+$/);
}

/** Without the newlines at its end, as a command substitution leaves it: blanks stay, and part it from what follows. */
export function withoutNewlines(text: PlacedText): PlacedText {
  return trimmedEnd(text, /\n+$/);
}

function trimmedEnd(text: PlacedText, end: RegExp): PlacedText {
  const last = text.at(-1);
  if (!last || last.opaque) return text;
  const kept = last.text.replace(end, '');
  const before = text.slice(0, -1);
  if (kept === '') return trimmedEnd(before, end);
  const place = last.exact ? { end: last.start + kept.length } : {};
  return kept === last.text ? text : [...before, { ...last, ...place, text: kept }];
}
