import { heldScript } from './held-script';
import { Lines } from './lines';
import type { ConfigDocument } from './node';
import { SCRIPT_RUNNERS } from './shell/package-runners';
import type { Piece } from './shell/placed-text';
import { SCRIPT_HOSTS } from './shell/script-hosts';

/** Opens or closes a fenced block: its fence and its info string (CommonMark 0.31.2, section 4.5). */
const FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*([^\r\n`]*?)[ \t]*\r?$/;
/** Info strings of blocks that hold commands; none is as good as any. */
const SHELL =
  /^(?:\{?\.?(?:sh|bash|shell|zsh|console|terminal|shell-session|shellsession|shell_session|cmd)\b.*|)$/i;
/** A prompt before what is typed; what stands without one beside it was printed. */
const PROMPT = /^[ \t]*(?:\([\w.-]+\)[ \t]*)?\$[ \t]+(?=\S)/;

/** Texts between quotes, where these stand for themselves, and what stands for a value that whoever reads the text chooses. */
const QUOTED = String.raw`"[^"\n]*"|'[^'\n]*'`;
/** `<model>`, `<your model>`; a redirection has a space before its `>`, or a second `<`. */
const NAMED = String.raw`(?<![<&\d])<[\p{L}\p{N}_](?:[^<>\n]*[^\s<>])?>`;
/** `[fp8 | bf16]`, `[--resume FOLDER]`, `{fp8|bf16}`: a test has a space inside its bracket, a group of commands in its brace. */
const BRACKETED = String.raw`(?<=[\s=])(?:\[(?![\s[])[^[\]\n]*[\s|][^[\]\n]*\]|\{(?!\s)[^{}\n]*\|[^{}\n]*\})`;
/** `--precision fp8|bf16`; what filters the output of a command is none. */
const ALTERNATIVES = String.raw`(?<=\s--[\w-]+[ =])[\w.-]+(?:\|(?!(?:tee|cat|grep|egrep|head|tail|less|more|sort|awk|sed|ts|xargs)\b)[\w.-]+)+(?=\s|$)`;
const CHOSEN_BY_READER = new RegExp(`(${QUOTED})|${NAMED}|${BRACKETED}|${ALTERNATIVES}`, 'gu');

interface Line {
  /** Its line break included. */
  readonly text: string;
  readonly start: number;
}

/**
 * The fenced blocks of a Markdown text that hold commands, each as a shell document of its own: a reader picks one of them. Every
 * value has its place in the text. `isWorth` looks at the text of a block first.
 */
export function shownCommands(
  uri: string,
  text: string,
  isWorth: (block: string) => boolean,
): ConfigDocument[] {
  return ofBlocks(uri, new Lines(text), blocksOf(text), isWorth);
}

function ofBlocks(
  uri: string,
  lines: Lines,
  blocks: readonly Line[][],
  isWorth: (block: string) => boolean,
): ConfigDocument[] {
  return blocks.flatMap((block) => {
    const document = heldScript(uri, lines, typed(block), isWorth);
    return document ? [{ ...document, isShown: true }] : [];
  });
}

/** What a program of Python begins with: comments, and the text of its module. */
const HEAD = /^(?:[ \t\r]*(?:#[^\n]*)?\n)*(?:[ \t]*[rRuU]?("""|''')([\s\S]*?)\1)?/;
/** A line that starts a program, perhaps with variables before it. */
const STARTS = new RegExp(
  String.raw`^[ \t]*(?:\$[ \t]+)?(?:[A-Z_][A-Z_\d]*=\S*[ \t]+)*(?:python3?|accelerate[ \t]+launch|torchrun|deepspeed|(?:hf[ \t]+jobs[ \t]+)?(?:${SCRIPT_RUNNERS}|${SCRIPT_HOSTS}))[ \t]`,
);

/**
 * The commands that a program of Python shows at its head, by which it may be started: those of fenced blocks, or where there are none each
 * line that starts a program, with those that it goes on in.
 */
export function headCommands(
  uri: string,
  text: string,
  isWorth: (block: string) => boolean,
): ConfigDocument[] {
  const { 0: head = '', 1: quote } = HEAD.exec(text) ?? [];
  const shown =
    quote === undefined
      ? head
      : head.slice(0, -quote.length).replace(/[rRuU]?(?:"""|''')/, (open) => ' '.repeat(open.length));
  const plain = shown.replace(/^([ \t]*)#/gm, '$1 ');
  const fenced = blocksOf(plain);
  return ofBlocks(uri, new Lines(text), fenced.length > 0 ? fenced : startingLines(plain), isWorth);
}

function startingLines(text: string): Line[][] {
  const blocks: Line[][] = [];
  let start = 0;
  let goesOn = false;
  for (const line of text.split(/(?<=\n)/)) {
    const one = { text: line, start };
    if (goesOn) blocks.at(-1)?.push(one);
    else if (STARTS.test(line)) blocks.push([one]);
    goesOn = (goesOn || STARTS.test(line)) && /\\\r?\n$/.test(line);
    start += line.length;
  }
  return blocks;
}

/** A Markdown text with blanks in the place of all but what is typed in its blocks for a shell: what is left has its place. */
export function commandsAlone(text: string): string {
  const blank = (part: string) => part.replace(/[^\r\n]/g, ' ');
  let from = 0;
  const kept = blocksOf(text).flatMap((block) =>
    typedOf(block).map(({ start, end }) => {
      const before = blank(text.slice(from, start));
      from = end;
      return before + text.slice(start, end);
    }),
  );
  return kept.join('') + blank(text.slice(from));
}

function blocksOf(text: string): Line[][] {
  const blocks: Line[][] = [];
  let opened: { readonly fence: string; readonly isShell: boolean; readonly inside: Line[] } | undefined;
  let start = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const [, fence = '', info = ''] = FENCE.exec(line.trimEnd()) ?? [];
    if (!opened) opened = fence === '' ? undefined : { fence, isShell: SHELL.test(info), inside: [] };
    else if (info === '' && fence.startsWith(opened.fence)) {
      if (opened.isShell) blocks.push(opened.inside);
      opened = undefined;
    } else opened.inside.push({ text: line, start });
    start += line.length;
  }
  return blocks;
}

/** What is typed of a block: lines without their prompts; where some have one, those without were printed. */
function typedOf(block: readonly Line[]): Omit<Piece, 'exact'>[] {
  const hasPrompts = block.some(({ text }) => PROMPT.test(text));
  let continues = false;
  return block.flatMap(({ text, start }) => {
    const prompt = PROMPT.exec(text)?.[0] ?? '';
    const isTyped = !hasPrompts || continues || prompt !== '';
    continues = isTyped && /\\\r?\n$/.test(text);
    if (!isTyped) return [];
    const from = start + prompt.length;
    return [{ text: text.slice(prompt.length), start: from, end: start + text.length }];
  });
}

const typed = (block: readonly Line[]): Piece[] =>
  typedOf(block).map((line) => ({ ...line, text: asOneWord(line.text), exact: true }));

/**
 * What stands for a value, as one word in brackets of the same length: to a shell, `|` ends the command, and `<` and `>` are
 * redirections.
 */
const asOneWord = (text: string): string =>
  text.replace(CHOSEN_BY_READER, (found, quoted: string | undefined) =>
    quoted === undefined ? `[${'_'.repeat(found.length - 2)}]` : found,
  );
