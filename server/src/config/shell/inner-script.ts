import { withBlanks } from './expand';
import { isSettled, type PlacedText, splitOnce, textOfPieces } from './placed-text';

/** A script that a command is given to run. */
export interface InnerScript {
  readonly script: PlacedText;
  /** Words before it: `srun` and its flags. */
  readonly prefix: readonly PlacedText[];
  readonly args: readonly PlacedText[];
  /** It runs on another machine or in a container, which sees no variable of this shell. */
  readonly remote: boolean;
  /** Slurm reads options in its comments. */
  readonly batch: boolean;
}

const SHELL = /^(?:.*\/)?(?:ba|z|da|k)?sh$/;
const REMOTE = /^(?:ssh|pdsh|docker|podman|kubectl|gcloud|nerdctl)$/;
/** Options of `ssh` that take a value. */
const SSH_VALUE = /^-[BbcDEeFIiJLlmOopQRSWw]$/;
/** Programs that are given a command as one word. */
const GIVEN =
  /^(?:tmux|screen|pdsh|pssh|parallel|watch|script|su|runuser|flock|gcloud|bsub|qsub|xterm|hostrun)$/;

const nameOf = (text: string) => text.split('/').at(-1) ?? text;

/** What `bash -c '...'`, `ssh host '...'`, `sbatch --wrap=...` and a shell that reads its input run; undefined for other commands. */
export function innerScript(
  words: readonly PlacedText[],
  input: PlacedText | undefined,
): InnerScript | undefined {
  const texts = words.map(textOfPieces);
  const remote = texts.some((text) => REMOTE.test(nameOf(text)));
  const at = texts.findIndex((text, i) => SHELL.test(text) && isShell(texts, i));
  if (at >= 0) return ofShell(words, at, input, remote);
  const name = nameOf(texts[0] ?? '');
  if (name === 'ssh') return ofSsh(words, input);
  if (name === 'sbatch') return ofSbatch(words, input);
  if (!GIVEN.test(name)) return undefined;
  const given = words.findIndex(
    (word, i) => i > 0 && isSettled(word.slice(0, 1)) && /^\S+\s+\S/.test(texts[i] ?? ''),
  );
  const script = words[given];
  if (!script) return undefined;
  const flag = /^--?[\w-]+=/.test(texts[given] ?? '') ? splitOnce(script, '=')?.after : script;
  return { script: flag ?? script, prefix: words.slice(0, given), args: [], remote: false, batch: false };
}

/** A shell, rather than a path or a host that is called like one: it stands first, or takes a flag, or ends the command. */
function isShell(texts: readonly string[], at: number): boolean {
  const next = texts[at + 1];
  return at === 0 || next === undefined || /^-/.test(next);
}

function ofShell(
  words: readonly PlacedText[],
  at: number,
  input: PlacedText | undefined,
  remote: boolean,
): InnerScript | undefined {
  const prefix = words.slice(0, at);
  for (let i = at + 1; i < words.length; i++) {
    const text = textOfPieces(words[i] ?? []);
    if (/^-\w*c$/.test(text)) {
      const script = words[i + 1];
      return script && { script, prefix, args: words.slice(i + 3), remote, batch: false };
    }
    if (/^[-+]\w*o$/.test(text)) i++;
    else if (!/^[-+]/.test(text)) return undefined;
  }
  return input && { script: input, prefix, args: [], remote, batch: false };
}

function ofSsh(words: readonly PlacedText[], input: PlacedText | undefined): InnerScript | undefined {
  let at = 1;
  while (at < words.length) {
    const text = textOfPieces(words[at] ?? []);
    if (!text.startsWith('-')) break;
    at += SSH_VALUE.test(text) ? 2 : 1;
  }
  const given = words.slice(at + 1);
  const script = given.length > 0 ? withBlanks(given) : input;
  return script && { script, prefix: words.slice(0, at + 1), args: [], remote: true, batch: false };
}

function ofSbatch(words: readonly PlacedText[], input: PlacedText | undefined): InnerScript | undefined {
  const prefix = words.filter((word) => !/^--wrap\b/.test(textOfPieces(word)));
  for (const [i, word] of words.entries()) {
    const text = textOfPieces(word);
    if (text === '--wrap') {
      const script = words[i + 1];
      const others = words.filter((_, j) => j !== i && j !== i + 1);
      return script && { script, prefix: others, args: [], remote: false, batch: true };
    }
    if (!text.startsWith('--wrap=')) continue;
    const script = splitOnce(word, '=')?.after;
    return script && { script, prefix, args: [], remote: false, batch: true };
  }
  return input && { script: input, prefix: words, args: [], remote: false, batch: true };
}
