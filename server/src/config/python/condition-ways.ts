/** One of the ways of a condition: each is known by the place of the line that begins it. */
export interface ConditionWay {
  /** Where the condition begins. */
  readonly of: number;
  readonly at: number;
  /** How many ways the condition has, of which one is always gone. */
  readonly ways: number;
}

interface Line {
  readonly at: number;
  /** Without what it is indented by. */
  readonly line: string;
  readonly depth: number;
}

/** Characters that are looked back and ahead over for the lines of a condition. */
const FURTHEST = 2000;

/** Lines below which something is done or not. */
const CHOOSES = /^(?:if|elif|else|try|except)\b/;
const BEGINS = /^(?:if|try)\b/;
const GOES_ON = /^(?:elif|else|except)\b/;

function linesBetween(text: string, from: number, to: number): Line[] {
  const found: Line[] = [];
  let at = from;
  for (const whole of text.slice(from, to).split('\n')) {
    const line = whole.trimStart();
    if (line.trim() !== '') found.push({ at, line, depth: whole.length - line.length });
    at += whole.length + 1;
  }
  return found;
}

/** Where the line of a place begins, so that it is looked at whole. */
const startOf = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;

/** The line that begins the block of a place; undefined where it stands in none. */
export function blockAround(text: string, at: number): Line | undefined {
  const start = startOf(text, at);
  const own = text.slice(start, at);
  const depth = own.length - own.trimStart().length;
  const before = linesBetween(text, startOf(text, Math.max(0, start - FURTHEST)), start);
  return before.findLast((line) => line.depth < depth);
}

/** Whether a condition right above a place decides what stands there, and which way of it that is; undefined where none does. */
export function choosesAt(text: string, at: number): { readonly way?: ConditionWay } | undefined {
  const head = blockAround(text, at);
  if (!head || !CHOOSES.test(head.line)) return undefined;
  const heads = headsOf(text, head);
  const [first] = heads;
  const last = heads.at(-1);
  if (!first || !last || !BEGINS.test(first.line)) return {};
  const tries = first.line.startsWith('try');
  // What follows a try that went well comes on top of it.
  const ways = tries ? heads.filter(({ line }) => !line.startsWith('else')) : heads;
  const isWhole = tries ? ways.length > 1 : last.line.startsWith('else');
  const around = blockAround(text, first.at + first.depth);
  if (!isWhole || !ways.some((one) => one.at === head.at) || CHOOSES.test(around?.line ?? '')) return {};
  return { way: { of: first.at, at: head.at, ways: ways.length } };
}

/** The lines that begin the ways of the condition of one of them, in their order. */
function headsOf(text: string, head: Line): readonly Line[] {
  const before = linesBetween(text, startOf(text, Math.max(0, head.at - FURTHEST)), head.at);
  const after = linesBetween(text, head.at, head.at + FURTHEST).slice(1);
  const heads = [head];
  for (const line of before.reverse()) {
    if (BEGINS.test(heads[0]?.line ?? '') || line.depth < head.depth) break;
    if (line.depth > head.depth) continue;
    if (!CHOOSES.test(line.line)) break;
    heads.unshift(line);
  }
  for (const line of after) {
    if (line.depth > head.depth) continue;
    if (line.depth < head.depth || !GOES_ON.test(line.line)) break;
    heads.push(line);
  }
  return heads;
}
