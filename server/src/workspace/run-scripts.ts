import { Lines } from '../config/lines';
import type { ConfigDocument, MapNode } from '../config/node';
import { readShell } from '../config/shell';
import { JoinedLines } from '../config/shell/joined-lines';
import { keyOfRun, type ScriptAtHand, type ScriptRun } from '../config/shell/run-script';
import { ScriptSource } from '../config/shell/script-source';
import { launchesOf } from '../dialects/launch/launch';
import { isElsewhere, launchScript, mayRunScript, trainingCommands } from '../dialects/launch-script';
import { rememberedOf } from '../memo/remembered';
import { canonicalUri, isAbsolutePath, parentUri, resolvePath } from '../text/uri';
import type { ComposedFiles, Composition } from './composition';
import type { ConfigPart } from './config-reading';
import { candidates, firstHere } from './links';
import { readKnowing } from './read-knowing';

/** Scripts that are followed from one; more are those of a whole repository. */
const MOST_SCRIPTS = 24;
/** A longer one is not what a launch starts. Characters. */
const LONGEST = 200_000;

/** A script that is run, and what was found of it. */
interface Looked {
  readonly run: ScriptRun;
  readonly part: ConfigPart | undefined;
}

/** What was made of a script, with what was found of all that it runs. */
interface Kept {
  readonly found: ReadonlyMap<string, Looked>;
  readonly composition: Composition | undefined;
}

const kept = new WeakMap<ConfigDocument, Kept>();

/**
 * A script of the shell with what other scripts that it runs start, as far as they lie here: their commands stand among its own, with the
 * arguments and the variables that they are given. Undefined where none of them is here, or none starts a training.
 */
export async function withRunScripts(
  document: ConfigDocument,
  text: string,
  files: ComposedFiles,
): Promise<Composition | undefined> {
  if (!document.runs || document.problems.length > 0) return undefined;
  const before = kept.get(document);
  if (before && (await isAsBefore(before, document, files))) return before.composition;
  let runs: readonly ScriptRun[] = document.runs;
  const found = new Map<string, Looked>();
  let whole: ConfigDocument | undefined;
  for (;;) {
    const fresh = runs.filter((run) => !found.has(keyOfRun(run))).slice(0, MOST_SCRIPTS - found.size);
    for (const run of fresh) found.set(keyOfRun(run), { run, part: await scriptOf(run, document, files) });
    if (!fresh.some((run) => found.get(keyOfRun(run))?.part)) break;
    whole = joined(document, text, found);
    runs = whole.runs ?? [];
  }
  const parts = partsOf(found);
  const apart = whole && withoutRunsOf(parts, whole);
  const composition =
    apart && (takesIn(found) ? trainingCommands(apart) : calledTrainings(apart)).length > 0
      ? { own: apart, document: apart, parts }
      : undefined;
  kept.set(document, { found, composition });
  return composition;
}

/** Without the runs of other scripts that are what those start by themselves, whatever they are given: these are looked at there. */
function withoutRunsOf(parts: readonly ConfigPart[], whole: ConfigDocument): ConfigDocument {
  const { root } = whole;
  const calls = calledTrainings(whole);
  if (root?.kind !== 'map' || calls.length === 0) return whole;
  const own = new Set(
    parts.flatMap(({ document }) => trainingCommands(document).map((command) => stated(document, command))),
  );
  const same = new Set(calls.filter((command) => own.has(stated(whole, command))));
  if (same.size === 0) return whole;
  const entries = root.entries.map((entry) =>
    entry.key === 'commands' && entry.value.kind === 'list'
      ? { ...entry, value: { ...entry.value, items: entry.value.items.filter((_, at) => !same.has(at)) } }
      : entry,
  );
  // What the same command starts after them may be theirs, too.
  return withoutRunsOf(parts, { ...whole, root: { ...root, entries } });
}

/** What a command states of its run, and the files that it names: once, however many scripts run the one in which it stands. */
function stated(document: ConfigDocument, command: number): string | undefined {
  const launch = launchesOf(document.root)[command];
  return (
    launch &&
    statements.of(launch.arguments, '', () => {
      const { facts, links } = readKnowing(launchScript, { ...document, command }, { known: {} });
      const values = facts.map(({ field, value }) => [field, value] as const);
      return JSON.stringify([values, links.map(({ path, role }) => [path, role])]);
    })
  );
}

const statements = rememberedOf<MapNode, string>(1);

async function isAsBefore({ found }: Kept, document: ConfigDocument, files: ComposedFiles): Promise<boolean> {
  for (const { run, part } of found.values())
    if ((await scriptOf(run, document, files))?.document !== part?.document) return false;
  return true;
}

/** The trainings that other scripts start as they are run here, by their places among the commands. */
function calledTrainings(whole: ConfigDocument): number[] {
  const launches = launchesOf(whole.root);
  return trainingCommands(whole).filter((command) => launches[command]?.isCalled);
}

/** Whether another file is read by the shell itself: what that sets may be anywhere in its commands. */
const takesIn = (found: ReadonlyMap<string, Looked>): boolean =>
  [...found.values()].some(({ run, part }) => run.takenIn && part);

const partsOf = (found: ReadonlyMap<string, Looked>): ConfigPart[] => {
  const byUri = new Map<string, ConfigPart>();
  for (const { part } of found.values()) if (part) byUri.set(part.uri, part);
  return [...byUri.values()];
};

function joined(document: ConfigDocument, text: string, found: ReadonlyMap<string, Looked>): ConfigDocument {
  const { heldIn } = document;
  const own = heldIn?.lines ?? new Lines(text.replace(/^\ufeff/, ''));
  const lines = new JoinedLines(own, partsOf(found));
  const texts = lines.texts();
  const script = heldIn ? new ScriptSource(heldIn.script) : ScriptSource.ofScript(own.text);
  const scripts = new Map<string, ScriptAtHand>();
  for (const [key, { part }] of found) {
    const placed = part && texts.get(part.uri);
    if (placed) scripts.set(key, { uri: part.uri, text: placed });
  }
  const { root, otherWays, runs } = readShell(lines, script, scripts);
  return { ...document, root, otherWays, runs, follows: true };
}

/** The script that a run names, where it is here and may lead to a training. */
async function scriptOf(
  run: ScriptRun,
  document: ConfigDocument,
  files: ComposedFiles,
): Promise<ConfigPart | undefined> {
  const uri = await placeOf(run, run.from === '' ? document.uri : run.from, document.uri, files);
  if (uri === undefined || uri === canonicalUri(document.uri)) return undefined;
  const text = await files.readText(uri);
  if (text === undefined || text.length > LONGEST || text.startsWith('\ufeff')) return undefined;
  if (!run.takenIn && !launchScript.markers.test(text) && !mayRunScript(text)) return undefined;
  const parsed = await files.parsed(uri);
  if (parsed?.document.format !== 'shell' || parsed.document.problems.length > 0) return undefined;
  return { uri, ...parsed, package: [] };
}

async function placeOf(
  { lead, path, entered, takenIn }: ScriptRun,
  from: string,
  atHand: string,
  files: ComposedFiles,
): Promise<string | undefined> {
  const own = parentUri(from);
  if (own === undefined) return undefined;
  if (lead !== undefined && !/^\$(?:PWD|\{PWD\}|\(pwd\))$/.test(lead)) {
    const folder = ownFolder(lead);
    return folder === undefined ? byTail(path, from, files) : here(own, `${folder}/${path}`, files);
  }
  if (isAbsolutePath(path)) return (await here(own, path, files)) ?? byTail(path, from, files);
  const last = entered.findLastIndex((folder) => ownFolder(folder) !== undefined || isElsewhere(folder));
  const start = entered[last];
  const below = [...entered.slice(last + 1), path].join('/');
  const beside = start === undefined ? undefined : ownFolder(start);
  if (beside !== undefined) return here(own, `${beside}/${below}`, files);
  // In a folder that nobody knows only a path with a folder of its own tells which script it is.
  if (start !== undefined && !below.replace(/^\.\//, '').includes('/')) return undefined;
  // The folder of the script at hand is where the shell works; without one that is entered, a file that it reads changes nothing of that.
  const works = takenIn && start === undefined ? parentUri(atHand) : undefined;
  return (works === undefined ? undefined : await here(works, below, files)) ?? firstHere(below, from, files);
}

async function here(folder: string, path: string, files: ComposedFiles): Promise<string | undefined> {
  const uri = resolvePath(folder, path, files.home);
  const place = uri === undefined ? undefined : canonicalUri(uri);
  return place !== undefined && (await files.exists(place)) ? place : undefined;
}

/** The only file here whose path ends as the written one does, in one folder at least: the checkout has another place there. */
async function byTail(path: string, from: string, files: ComposedFiles): Promise<string | undefined> {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.');
  if (steps.includes('..')) return undefined;
  for (let first = 0; first < steps.length - 1; first++) {
    const there: string[] = [];
    for (const uri of candidates(steps.slice(first).join('/'), from, files))
      if (await files.exists(uri)) there.push(uri);
    if (there.length > 0) return there.length === 1 ? there[0] : undefined;
  }
  return undefined;
}

/** `$(cd "$(dirname "$0")/.." && pwd)`, `${0%/*}`: the folder of the script itself, as a path from there; undefined for other expressions. */
function ownFolder(text: string): string | undefined {
  const cut = /^\$\{(?:0|BASH_SOURCE(?:\[0\])?)%\/\*\}((?:\/[\w.-]+)*)$/.exec(text);
  if (cut) return `.${cut[1] ?? ''}`;
  if (!/^\$\(.*\bdirname\b.*(?:\$0|\$\{0\}|\$\{?BASH_SOURCE)/.test(text)) return undefined;
  const end = closingOf(text);
  const rest = end === undefined ? undefined : text.slice(end + 1);
  if (end === undefined || rest === undefined || !/^(?:\/[\w.-]+)*\/?$/.test(rest)) return undefined;
  const inside = text.slice(2, end);
  const ups = (inside.match(/\bdirname\b/g)?.length ?? 1) - 1;
  const behind = /\)"?((?:\/[\w.-]+)+)"?/.exec(inside)?.[1] ?? '';
  const more = [...inside.matchAll(/\bcd[ \t]+"?([\w.][\w./-]*)"?/g)].map(([, path]) => `/${path}`);
  return `.${'/..'.repeat(ups)}${behind}${more.join('')}${rest}`;
}

/** Where the parenthesis closes that a text opens with `$(`. */
function closingOf(text: string): number | undefined {
  let depth = 0;
  for (let i = 1; i < text.length; i++) {
    if (text[i] === '(') depth++;
    else if (text[i] === ')' && --depth === 0) return i;
  }
  return undefined;
}
