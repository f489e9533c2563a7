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

const coloured: Paint = (style, text) => {
  const [on, off] = CODES[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};
const plain: Paint = (_style, text) => text;

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
  // Whoever reads may stop early, such as `head`: the work ends as it would have, with the same exit code.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  return {
    write: (text) => stdout.write(text),
    writeError: (text) => stderr.write(text),
    paint: paintFor(stdout.isTTY === true, env),
    width: Math.min(Math.max(stdout.columns ?? 100, 60), 120),
  };
}
