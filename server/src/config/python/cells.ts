/** A line that begins a cell: of a script that is edited in cells, and of a notebook's cells that are read as one text. */
const MARK = /^#[ \t]*%%/m;
/** What the first line of a joined text states beside that. */
const HEAD = '# %% notebook ';

/** A text as its cells, each with the line that begins it; one where no line does. */
export function cellsOf(text: string): string[] {
  return MARK.test(text) ? text.split(/^(?=#[ \t]*%%)/m) : [text];
}

/** The line that begins a cell, with its end; empty where the text begins without. */
export function markOf(cell: string): string {
  return /^#[ \t]*%%[^\r\n]*(?:\r\n?|\n)?/.exec(cell)?.[0] ?? '';
}

/**
 * A cell that is for a shell as a whole: `%%bash` and its like with their options, and the line's rest where that is none; `%%shell` of
 * Colab, `%sh` of Databricks. Blank lines and comments may stand before.
 */
const SHELL =
  /^(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:%%(?:bash|sh|shell|script[ \t]+(?:ba)?sh)\b(?:[ \t]+--?[\w-]+)*|%sh\b)/;

/** Where the commands of a cell begin that is for a shell; undefined where it is Python. `cell`: without the line that begins it. */
export function shellStart(cell: string): number | undefined {
  return SHELL.exec(cell)?.[0].length;
}

/** Code cells of a notebook that is open in an editor, as one text. */
export interface JoinedCells {
  readonly text: string;
  /** The line that each cell's first line has in the text, zero-based. */
  readonly firstLines: readonly number[];
}

/** A notebook that asks its service for one GPU, and printed another. */
export interface RanElsewhere {
  readonly asked: string;
  /** By its name, or by its memory where nothing names it. */
  readonly ran: string;
}

/** Joins cells, each below a line of its own that begins it. `gpu`: what the notebook tells of the one that it runs on. */
export function joinCells(cells: readonly string[], gpu?: string | RanElsewhere): JoinedCells {
  const firstLines: number[] = [];
  let text = `${HEAD}${JSON.stringify(typeof gpu === 'object' ? gpu : gpu === undefined ? {} : { gpu })}\n`;
  let line = 1;
  for (const cell of cells) {
    firstLines.push(line + 1);
    text += `# %%\n${cell}\n`;
    line += 2 + (cell.match(/\r\n?|\n/g)?.length ?? 0);
  }
  return { text, firstLines };
}

/** Whether a text is cells that were joined. */
export const isJoined = (text: string): boolean => text.startsWith(HEAD);

/** What a joined text states of the GPU that the notebook asks for. */
export function gpuOfJoined(text: string): string | RanElsewhere | undefined {
  if (!isJoined(text)) return undefined;
  try {
    const { gpu, asked, ran } = JSON.parse(text.slice(HEAD.length, text.indexOf('\n'))) as {
      readonly [name in 'gpu' | 'asked' | 'ran']?: unknown;
    };
    if (typeof asked === 'string' && typeof ran === 'string') return { asked, ran };
    return typeof gpu === 'string' ? gpu : undefined;
  } catch {
    return undefined;
  }
}

/** Where a notebook prints the card that it runs on: by its full name, or as Unsloth and its notebooks do, some of them its memory alone. */
const PRINTED =
  /A100-SXM4-[48]0GB|\bGPU ?[=:] [^.\n"\\]{2,60}\. Max memory|\bNum GPUs = \d+\. Max memory: \d+(?:\.\d+)?/g;
/** The card before that, where it is named. */
const NAMED_BEFORE = /[^.\n"\\|]{2,60}\. $/;
const LONGEST_NAME = 64;

/** The places of a notebook's text that print a card, and nothing else of it. */
export function cardsPrinted(text: string): string {
  return [...text.matchAll(PRINTED)]
    .map(({ 0: found, index }) => {
      if (!/^Num GPUs/.test(found)) return found;
      const before = NAMED_BEFORE.exec(text.slice(Math.max(0, index - LONGEST_NAME), index))?.[0] ?? '';
      return `${before.trimStart()}${found}`;
    })
    .join('\n');
}

/** Colab's name of two cards, of 40 and of 80 GB. */
export const EITHER_A100 = 'A100';

/**
 * The GPU that a notebook's metadata asks Colab for: a T4 where it asks for one and names none. Of the two of the name A100, what
 * the notebook printed tells which; else it stays that name. Metadata stay when a notebook is run elsewhere: where it printed
 * another card, which one it will have nobody knows.
 */
export function colabGpu(
  named: unknown,
  accelerator: unknown,
  printed: string | undefined,
): string | RanElsewhere | undefined {
  const asked = typeof named === 'string' ? named : accelerator === 'GPU' ? 'T4' : undefined;
  if (asked === undefined) return undefined;
  const lines = (printed ?? '').split('\n');
  const ran = lines.flatMap(
    (line) => /(?:\bGPU ?[=:] |^)(?!Num GPUs)(.+?)\. (?:Num GPUs|Max memory)/.exec(line)?.[1] ?? [],
  );
  const other = ran.find((card) => !card.includes(asked));
  if (other !== undefined) return { asked, ran: other };
  const memories = lines.flatMap((line) => /^Num GPUs = \d+\. Max memory: ([\d.]+)/.exec(line)?.[1] ?? []);
  // Memory that no card of the name has is another card's.
  const foreign = memories.find((memory) => sizeOf(asked, Number(memory)) === undefined);
  if (foreign !== undefined) return { asked, ran: `${foreign} GiB` };
  if (asked !== EITHER_A100) return asked;
  const full = lines.flatMap((line) => /A100-SXM4-([48]0)GB/.exec(line)?.[1] ?? []);
  const sizes = [...full.map(Number), ...memories.map((memory) => sizeOf(asked, Number(memory)))];
  const [size] = sizes;
  return size && sizes.every((one) => one === size) ? `A100-SXM4-${size}GB` : asked;
}

/** The gigabytes that a card is sold with, by those that PyTorch finds there; undefined where none of the name has them. */
const sizeOf = (card: string, memory: number): number | undefined =>
  (SIZES[card] ?? []).find(({ found }) => Math.abs(found - memory) <= OF_DRIVERS)?.sold;

/**
 * Cards of Colab, and the gibibytes that PyTorch finds there: those that the saved outputs of https://github.com/unslothai/notebooks print
 * (14.563 to 14.748, 22.161 and 22.184, 39.494 and 39.557, 79.251 and 79.318), of a V100, a P100 and an H100 those of `data/gpus.json`.
 */
const SIZES: Readonly<Record<string, readonly { readonly sold: number; readonly found: number }[]>> = {
  T4: [{ sold: 16, found: 14.7 }],
  L4: [{ sold: 24, found: 22.2 }],
  V100: [{ sold: 16, found: 15.7 }],
  P100: [{ sold: 16, found: 15.7 }],
  H100: [{ sold: 80, found: 79.1 }],
  [EITHER_A100]: [
    { sold: 40, found: 39.5 },
    { sold: 80, found: 79.3 },
  ],
};

/** What drivers keep differs by less (0.2 on a T4); another card's memory differs by more, as a T4's and a V100's do by 1. Gibibytes. */
const OF_DRIVERS = 0.45;
