import { Lines } from './lines';
import type { ConfigDocument } from './node';
import { readShell } from './shell';

/** Opens or closes a fenced block: its indentation, its fence and its info string (CommonMark 0.31.2, section 4.5). */
const FENCE = /^([ \t]*)(`{3,}|~{3,})[ \t]*([^\r\n`]*?)[ \t]*\r?$/;
/** Info strings of blocks that hold commands; none is as good as any. */
const SHELL =
  /^(?:\{?\.?(?:sh|bash|shell|zsh|console|terminal|shell-session|shellsession|shell_session|cmd)\b.*|)$/i;
/** A prompt before what is typed; what stands without one beside it was printed. */
const PROMPT = /^[ \t]*(?:\([\w.-]+\)[ \t]*)?\$[ \t]+(?=\S)/;

/**
 * The fenced blocks of a Markdown text that hold commands, each as a shell document of its own: a reader picks one of them. Every
 * value has its place in the text. `isWorth` looks at the text of a block first. What does not parse as a shell script, such as `--model <model>`, is a pattern and no command.
 */
export function shownCommands(
  uri: string,
  text: string,
  isWorth: (block: string) => boolean,
): ConfigDocument[] {
  return blocksOf(text, isWorth).flatMap((script) => {
    const { root, problems } = readShell(new Lines(script));
    if (problems.length > 0) return [];
    return [{ uri, format: 'shell', root, problems, directives: [], relaxedJson: false, isShown: true }];
  });
}

/** The text once for each block, with blanks for all that stands around it. */
function blocksOf(text: string, isWorth: (block: string) => boolean): string[] {
  const lines = text.split('\n');
  const blanks = lines.map((line) => ' '.repeat(line.length));
  const blocks: string[] = [];
  let opened: { readonly at: number; readonly fence: string; readonly isShell: boolean } | undefined;
  for (const [i, line] of lines.entries()) {
    const [, , fence = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence === '') continue;
    if (!opened) opened = { at: i, fence, isShell: SHELL.test(info) };
    else if (info === '' && fence.startsWith(opened.fence)) {
      const { at, isShell } = opened;
      opened = undefined;
      const inside = isShell ? typed(lines.slice(at + 1, i)) : [];
      if (!isWorth(inside.join('\n'))) continue;
      blocks.push([...blanks.slice(0, at + 1), ...inside, ...blanks.slice(i)].join('\n'));
    }
  }
  return blocks;
}

/** Lines without their prompts; where some have one, those that were printed are blank. */
function typed(lines: readonly string[]): string[] {
  if (!lines.some((line) => PROMPT.test(line))) return [...lines];
  let continues = false;
  return lines.map((line) => {
    const prompt = PROMPT.exec(line)?.[0] ?? '';
    const isTyped = continues || prompt !== '';
    continues = isTyped && /\\\r?$/.test(line);
    if (!isTyped) return ' '.repeat(line.length);
    return ' '.repeat(prompt.length) + line.slice(prompt.length);
  });
}
