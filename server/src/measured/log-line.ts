/** A line of a log without what terminals and launchers put around it. */
export interface LogLine {
  /** From 0. */
  readonly number: number;
  readonly text: string;
  /** Global rank of the process that wrote it, where its prefix has it. */
  readonly rank?: number;
  /** Whose line it is, for logs that processes write at once: a rank, a worker's process, or nobody's. */
  readonly writer: string;
}

/** Longer lines are data, not messages: what is behind is left out. */
const LONGEST = 16_384;

/** Colours, cursor movements, titles of windows. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences begin with one
  /\u001b(?:\[[0-9;?]{0,64}[ -/]?[@-~]|\][^\u0007\u001b]{0,256}(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** What launchers put before each line, with the rank of it or the name of a worker. */
const PREFIXES: readonly (readonly [RegExp, 'rank' | 'worker'])[] = [
  // torch >= 2.3 (`torch/distributed/...excepthook`).
  [/^\s{0,8}\[rank(\d{1,7})\]: ?/, 'rank'],
  // torchrun with --tee or --redirects: a local rank, so of one node among several it is no global one.
  [/^\[(?:default|[\w-]{1,60}?)?(\d{1,5})\]: ?/, 'worker'],
  // mpirun --tag-output
  [/^\[\d{1,6},(\d{1,7})\]<std(?:err|out)>: ?/, 'rank'],
  // srun --label
  [/^ {0,6}(\d{1,6}): (?=\S)/, 'rank'],
  // Ray
  [/^(\([\w.:]{1,80} (?:pid|ip)=[^)]{1,80}\)) ?/, 'worker'],
];

/** Rank in the words of a logger: `[RANK:0]`, `[Rank 3]`, `rank=2`. */
const NAMED_RANK = /(?:\[|\b)rank[ :=]{1,2}(\d{1,7})\b/i;

/**
 * Lines of one line of a file: a progress bar rewrites its line by carriage returns, and what stood there are lines of their
 * own.
 */
export function logLines(raw: string, number: number): LogLine[] {
  const whole = raw.length > LONGEST ? raw.slice(0, LONGEST) : raw;
  const lines: LogLine[] = [];
  for (const part of whole.split('\r')) {
    if (part === '' && whole !== '') continue;
    lines.push(lineOf(part, number));
  }
  return lines;
}

function lineOf(raw: string, number: number): LogLine {
  const text = raw.includes('\u001b') ? raw.replace(ESCAPES, '') : raw;
  for (const [pattern, kind] of PREFIXES) {
    const found = pattern.exec(text);
    if (!found) continue;
    const rest = text.slice(found[0].length);
    const [, name = ''] = found;
    if (kind === 'rank') return { number, text: rest, rank: Number(name), writer: `rank${name}` };
    return { number, text: rest, writer: found[0].trim(), ...namedRank(rest) };
  }
  return { number, text, writer: '', ...namedRank(text) };
}

function namedRank(text: string): { rank?: number } {
  const found = /rank/i.test(text) ? NAMED_RANK.exec(text) : undefined;
  return found ? { rank: Number(found[1]) } : {};
}

/** All lines of a text that is in memory, at its line breaks. */
export function* logLinesOf(text: string): Generator<LogLine> {
  let number = 0;
  let start = 0;
  while (start <= text.length) {
    let end = text.indexOf('\n', start);
    if (end === -1) end = text.length;
    const raw = text.slice(start, text[end - 1] === '\r' ? Math.max(start, end - 1) : end);
    yield* logLines(raw, number++);
    start = end + 1;
  }
}
