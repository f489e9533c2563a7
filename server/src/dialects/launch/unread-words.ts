import type { ConfigNode, MapEntry, MapNode, ScalarNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { costsNothing, mayShapeMemory } from '../../run/unread';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import type { Draft } from '../draft';
import { KeyTable } from '../key-table';
import type { Launch } from './launch';
import { LAUNCHER_KEYS } from './launch-keys';
import { launcherOf } from './launcher';
import type { Program } from './program';

/**
 * Notes what of a launch was not understood; `written` are the files that the script writes itself: values that the script does not give, words that may be any flags, branches that it
 * does not settle, flags that nobody knows, and a script whose code states more than its flags.
 */
export function noteUnread(launch: Launch, program: Program, written: readonly string[], draft: Draft): void {
  const known = new KeyTable(program.keys);
  const rowOf = (key: string) => known.find(key);
  const isWritten = (text: string) => written.includes(text.replace(/^\.\//, ''));
  noteValues(launch.arguments, rowOf, isWritten, draft);
  if (launch.script !== undefined) {
    const launchers = new KeyTable(LAUNCHER_KEYS);
    noteValues(launch.launcher, (key) => launchers.find(key), isWritten, draft);
  }
  for (const node of launch.words) {
    if (node.open === undefined) continue;
    if (node.open === 'unknown' && FILLED.test(node.text)) {
      draft.leaveWords(node, node.text);
      continue;
    }
    draft.leave(
      'words',
      node,
      node.text,
      say('`{0}` is not set in this script: it may hold any flags.', node.text),
    );
  }
  noteBranches(launch, rowOf, draft);
  noteFlags(launch, program, rowOf, draft);
  noteShellScript(launch, draft);
  const script = launch.script?.split('/').at(-1);
  const named = launch.programNodes[0];
  const copied = program.maybeCopied?.(launch) && takesMore(launch, rowOf);
  const own = program.ownScript || program.startsOwn?.(launch) || copied;
  if (!own || script === undefined || !named) return;
  if (program.ownScript && launcherOf(launch) === 'deepspeed' && !namesDeepspeedConfig(launch))
    draft.leave(
      'script',
      named,
      script,
      say('No file shows the DeepSpeed config that `{0}` takes, so how it shards is not known.', script),
      ['parallel.data'],
    );
  else
    draft.leave(
      'script',
      named,
      script,
      say('`{0}` is a script of the project: what it does beyond its flags is not read.', script),
    );
}

/** A script of the shell that is given the flags: what it starts, and with what else, stands in it. */
function noteShellScript({ shellScript: named }: Launch, draft: Draft): void {
  if (!named) return;
  draft.leave(
    'script',
    named,
    named.text,
    say('`{0}` is another script: what it starts with these words is not read.', named.text),
    ['parallel.data'],
  );
}

/** What a command prints, or a variable that a file which was taken in sets: no script writes those without words in them. */
const FILLED = /^(?:\$\(|`|\$\w+$|\$\{\w+(?:\[[@*]\])?\}$)/;

/** DeepSpeed's launcher shards nothing: a flag, or the code of the script, hands its settings to `deepspeed.initialize`. */
const namesDeepspeedConfig = (launch: Launch): boolean =>
  launch.arguments.entries.some(
    ({ key, value }) => /deepspeed|ds_?config|zero/i.test(key) && flagOf(value) === undefined,
  );

/** Whether a script of a known name has flags that the known one lacks, data and records apart: it is somebody's copy, which does more. */
const takesMore = (launch: Launch, rowOf: (key: string) => KeySpec | undefined): boolean =>
  launch.arguments.entries.some(
    ({ key }) => !key.includes('.') && rowOf(key) === undefined && !costsNothing(key),
  );

/** Flags by which scripts of people's own choose how DeepSpeed or FSDP shards. */
const SHARDS =
  /^(?:(?:ds_|deepspeed_)?zero(?:_?stage|_?opt\w*)?|ds_stage|(?:use_|enable_)?(?:fsdp|deepspeed)|(?:fsdp_)?shard(?:ing)?_strategy)$/i;

/** Flags by which scripts of people's own turn adapters on. */
const ADAPTS =
  /^(?:(?:use|enable|with|do)_)?(?:q?lora|dora|peft|ia3|(?:prefix|prompt|p)_?tuning)(?:_?(?:enabled?|tuning))?$/i;

/** Flags by which scripts of people's own name a model that stands beside the trained one. */
const OTHER_MODELS =
  /^(?:teacher|draft|critic|judge|reward|rm|ref|reference|value|aux|expert|verifier)(?:_?(?:model|lm))?(?:_?(?:id|name(?:_or_path)?|path|checkpoint))?$/i;
/** What is asked over a network, or by a function, is no model on this GPU. */
const NO_MODEL = /^(?:https?:|\d|$)|\.py$/i;

/** What a flag of a script's own decides, as its name goes: how the model is shared, or what is trained, where it is switched on. */
function decidedBy({ key, value }: MapEntry): readonly FieldPath[] | undefined {
  const off = flagOf(value) === false || /^(?:0|none|no|)$/i.test(textOf(value) ?? '');
  if (off) return undefined;
  if (ADAPTS.test(key)) return ['method.kind'];
  return SHARDS.test(key) ? ['parallel.data'] : undefined;
}

/** Whether a flag of a script's own loads a model beside the one that is trained. */
function loadsModel({ key, value }: MapEntry): boolean {
  if (!OTHER_MODELS.test(key) || !/model|path|checkpoint|_id$|_name$/i.test(key)) return false;
  const text = textOf(value) ?? '';
  return flagOf(value) === undefined && !/^none$/i.test(text) && !NO_MODEL.test(text);
}

/** Whether the model that a flag names was counted beside the trained one. */
function isCounted({ key }: MapEntry, draft: Draft): boolean {
  const fields: readonly FieldPath[] = /^ref/i.test(key)
    ? ['method.referenceModel']
    : ['method.frozenParameters', 'method.frozenModels', 'method.teacher', 'method.valueModel'];
  return fields.some((field) => draft.knows(field));
}

/** Scalars of a value that are not known. */
function openIn(node: ConfigNode): ScalarNode[] {
  if (node.kind === 'list') return node.items.flatMap(openIn);
  return node.kind === 'scalar' && node.open !== undefined ? [node] : [];
}

/** Why the value of a flag or a variable is not known. */
export const openMessage = (name: string, { open, text }: ScalarNode): string =>
  open === 'unset'
    ? say('`{0}` takes `{1}`, which nothing that is read sets.', name, text)
    : say('`{0}` takes `{1}`, which is known only when the script runs.', name, text);

/** The flag as people write it. */
function shown({ key }: MapEntry): string {
  return key.includes('.') ? key : `--${key}`;
}

function noteValues(
  flags: MapNode,
  rowOf: (key: string) => KeySpec | undefined,
  isWritten: (path: string) => boolean,
  draft: Draft,
): void {
  for (const entry of flags.entries) {
    const [node] = openIn(entry.value);
    if (!node || isWritten(node.text)) continue;
    const fields = rowOf(entry.key)?.fields ?? [];
    if (fields.length === 0 && (rowOf(entry.key) || !mayShapeMemory(entry.key))) continue;
    draft.leave(
      'value',
      node,
      `${shown(entry)} ${node.text}`,
      openMessage(shown(entry), node),
      fields.length > 0 ? fields : undefined,
    );
    // The number of machines is at least one; everything else is no default where the script states otherwise.
    draft.withdraw(fields.filter((field) => field !== 'hardware.nodes'));
  }
}

function noteBranches(launch: Launch, rowOf: (key: string) => KeySpec | undefined, draft: Draft): void {
  for (const condition of launch.guesses) {
    const entries = [...launch.arguments.entries, ...launch.launcher.entries].filter(({ value }) =>
      guessesIn(value).some(
        ({ uri, start }) => uri === condition.range.uri && start.line === condition.range.start.line,
      ),
    );
    const rows = entries.map(({ key }) => rowOf(key));
    const fields = new Set<FieldPath>(rows.flatMap((row) => row?.fields ?? []));
    // What hangs on it are paths and names.
    const harmless = entries.every(({ key }, i) => (rows[i] ? fields.size === 0 : !mayShapeMemory(key)));
    if (entries.length > 0 && harmless) continue;
    draft.leave(
      'branch',
      condition,
      condition.text,
      say('The script does not settle `{0}`: one of its branches is taken.', condition.text),
      fields.size > 0 ? [...fields] : undefined,
    );
  }
}

function noteFlags(
  launch: Launch,
  program: Program,
  rowOf: (key: string) => KeySpec | undefined,
  draft: Draft,
): void {
  // What a script of the project's own does with its flags its code states, where it is followed; beside a recipe they may change that.
  const besideRecipe = draft.links.some(({ role, path }) => role === 'include' && !/\.py$/.test(path));
  if (program.keys.length === 0 && !besideRecipe) return;
  const dropped = new Set(program.drops?.(launch));
  for (const entry of launch.arguments.entries) {
    const { key, keyRange } = entry;
    if (dropped.has(key)) continue;
    if (draft.links.some(({ range }) => isSame(range, entry.value.range))) continue;
    const reported = draft.problems.some(
      ({ code, range }) => code === 'unknown-key' && isSame(range, keyRange),
    );
    // Blocks are those of configs, which are checked by their family.
    if (key.includes('.') || (reported && !program.ownScript)) continue;
    // A flag of the family's own counts where the run, as it was read, has a use for it: the script may be somebody's own trainer.
    if (loadsModel(entry) && (program.ownScript || !rowOf(key)) && !isCounted(entry, draft)) {
      draft.bring('model-beside', entry.value, `--${key}`);
      continue;
    }
    if (draft.hasLeft(keyRange)) continue;
    const fields = decidedBy(entry);
    const isFork = program.refusesOthers === true && program.released?.presence(key) === undefined;
    if (rowOf(key) || !(fields || mayShapeMemory(key, isFork)) || openIn(entry.value).length > 0) continue;
    draft.leave(
      'flag',
      { range: keyRange },
      `--${key}`,
      program.vocabulary?.presence(key) === undefined
        ? say('`{0}` is a flag of the script itself: what it changes is not counted.', `--${key}`)
        : say('What `{0}` of {1} changes is not counted.', `--${key}`, program.name),
      fields,
    );
  }
}

/** Conditions that decide about a value and that the script does not settle. */
function guessesIn(node: ConfigNode): Range[] {
  if (node.kind === 'list') return node.items.flatMap(guessesIn);
  return node.kind === 'scalar' && node.guessed ? [node.guessed] : [];
}

/**
 * Problems of a launch that is not known whole: none where the flag itself hangs on a branch that was guessed, and no errors while
 * a branch or words that are not known may say otherwise.
 */
export function temperedProblems(launch: Launch, draft: Draft): void {
  const open = draft.unread.some(({ kind }) => kind === 'branch' || kind === 'words');
  if (!open) return;
  const guessed = [...launch.arguments.entries, ...launch.launcher.entries].filter(
    ({ value }) => guessesIn(value).length > 0,
  );
  const kept = draft.problems.flatMap((problem) => {
    const { range, severity } = problem;
    const within = guessed.some(
      ({ keyRange, value }) => isSame(range, keyRange) || isSame(range, value.range),
    );
    if (within && (severity === 'error' || severity === 'warning')) return [];
    return severity === 'error' ? [{ ...problem, severity: 'warning' as const }] : [problem];
  });
  draft.problems.splice(0, draft.problems.length, ...kept);
}

function isSame(a: Range, b: Range): boolean {
  return a.uri === b.uri && a.start.line === b.start.line && a.start.character === b.start.character;
}
