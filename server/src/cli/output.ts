import { say } from '../wording/say';
import { EXIT } from './exit-codes';

/** Where the command line writes, and how. */
export interface Output {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly paint: Paint;
  /** Characters per line of the terminal. */
  readonly width: number;
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
export type Paint = (style: Style, text: string) => string;

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Begins our own colours until they are shown: no text of a file can hold it. */
const MARK = `\u001b${Math.random().toString(36).slice(2)}`;

const coloured: Paint = (style, text) => {
  const [on, off] = CODES[style];
  return `${MARK}[${on}m${text}${MARK}[${off}m`;
};
const plain: Paint = (_style, text) => text;

/**
 * A text as a terminal may be given it. Keys, values and names of files can hold sequences that write the clipboard, set the
 * title or clear the screen: control characters are shown as `\xNN`, but for line breaks, tabs and our own colours.
 */
export function shown(text: string): string {
  let safe = '';
  let copied = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const control = (code < 32 && code !== 9 && code !== 10) || (code >= 127 && code < 160);
    if (!control) continue;
    safe += text.slice(copied, i);
    if (text.startsWith(MARK, i)) {
      safe += '\u001b';
      i += MARK.length - 1;
    } else safe += `\\x${code.toString(16).padStart(2, '0')}`;
    copied = i + 1;
  }
  return safe + text.slice(copied);
}

/** Colour only where a person looks: on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function paintFor(isTerminal: boolean, environment: NodeJS.ProcessEnv): Paint {
  if (environment.NO_COLOR) {
    return plain;
  }
  const forced = environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0';
  return forced || (isTerminal && environment.TERM !== 'dumb') ? coloured : plain;
}

export function processOutput(): Output {
  const { stdout, stderr, env } = process;
  // Whoever reads may stop early, such as `head`: the work ends as it would have, with the same exit code. Where nothing can
  // be written at all, as on a full disk, that is an answer of its own.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      if (stream === stdout)
        stderr.write(`oomlint: ${say('The output cannot be written: {0}.', error.message)}\n`);
      process.exit(EXIT.couldNotRun);
    });
  }
  return {
    write: (text) => stdout.write(shown(text)),
    writeError: (text) => stderr.write(shown(text)),
    paint: paintFor(stdout.isTTY === true, env),
    width: Math.min(Math.max(stdout.columns ?? 100, 60), 120),
  };
}
