import type { Location } from '../text/place';
import { say } from '../wording/say';
import type { FieldPath } from './fields';

/** What kind of thing was not understood. */
export type UnreadKind =
  /** A flag that nobody knows. */
  | 'flag'
  /** A value that the files do not give, such as a variable that is set elsewhere. */
  | 'value'
  /** Words that may be any flags: `$EXTRA_ARGS`, `"$@"`. */
  | 'words'
  /** A condition that the script does not settle. */
  | 'branch'
  /** What is trained is known, and is of no kind that is estimated. */
  | 'refused'
  /** A script of the project's own, whose code states what its flags do not. */
  | 'script';

/** Something of a run's files that was not understood: what follows from the rest is not certain. */
export interface Unread {
  readonly kind: UnreadKind;
  readonly location: Location;
  /** As it stands in the file. */
  readonly text: string;
  /** What was not understood, as a sentence. */
  readonly message: string;
  /** Fields of the run that it decides; undefined where nobody can tell which. */
  readonly fields?: readonly FieldPath[];
  /** Values of them that would do for this run, where those that are shown of every run would not. */
  readonly examples?: Readonly<Partial<Record<FieldPath, string>>>;
  /** Words stand there for certain, and nothing here shows which. */
  readonly holdsWords?: true;
  /** The run is on CPUs: it takes no memory of a GPU. */
  readonly onCpu?: true;
}

/**
 * Fields without which a run is another run: where their value is not known, neither is the estimate. Of adapters all but their scale,
 * and the head, whose weights are few.
 */
const DECISIVE =
  /^(parallel|zero|quantization|offload)\.|^lora\.(?!(?:alpha|task)$)|^(method\.(kind|objective)|model\.(?:labels|changes)|activations\.checkpointing|precision\.(weights|compute))$/;

/** Whether a run cannot be judged while this is not known. */
export function isDecisive(field: FieldPath): boolean {
  return DECISIVE.test(field);
}

/** Names of flags that may change what a GPU holds, whoever defines them. */
const SHAPES_MEMORY =
  /lora|rank|flash|attn|attention|checkpoint(?!s?_(dir|path|interval|save|format))|recompute|pack|quant|bit|freez|train_(mode|type|part|embed|head|layers)|tun(e|ing)|offload|parallel|shard|zero|seq|length|batch|micro|dtype|precision|peft|adapter|optim(?!al)|fp8|fp16|bf16|liger|fused|compile|galore|spectrum|unsloth|stage|distill|teacher|prun(?:e|ing)|compress|expert|(?<!grad_|max_)norm(?!al)|num_(?:layers|heads)|hidden_size|intermediate/;
const NEVER =
  /dir|path$|name$|file|log|report|wandb|save(?!r)|seed|worker|eval|data_|dataset|template|interval|steps$|iters$|lr|learning|warmup|decay|dropout|beta|epsilon|token(izer|_id)?$|prompt|column|split|port|addr/;

/** Whether a flag that nobody knows is about data, files, records or learning, as its name goes. */
export const costsNothing = (flag: string): boolean => NEVER.test(flag.toLowerCase());

/** Whether a flag that nobody knows could change what a GPU holds, as its name goes; `ofCopy`: of a changed framework, where a name that tells nothing may mean anything. */
export function mayShapeMemory(flag: string, ofCopy = false): boolean {
  const name = flag.toLowerCase();
  if (ofCopy && !costsNothing(flag)) return true;
  return SHAPES_MEMORY.test(name) && !(NEVER.test(name) && !/lora|freez|flash|quant/.test(name));
}

/** The first few of what was not understood, in one sentence, behind what is understood and not estimated; empty where there is neither. */
export function unreadSentence(unread: readonly Unread[]): string {
  const refused = [...new Set(unread.flatMap(({ kind, message }) => (kind === 'refused' ? [message] : [])))];
  const others = unread.filter(({ kind }) => kind !== 'refused');
  const shown = [...new Set(others.map(({ text }) => `\`${text}\``))];
  const first = shown.slice(0, 3).join(', ');
  const sentence =
    shown.length > 3
      ? say('Not understood: {0} and {1} more.', first, shown.length - 3)
      : say('Not understood: {0}.', first);
  return [...refused, ...(shown.length > 0 ? [sentence] : [])].join(' ');
}
