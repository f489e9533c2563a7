import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ignore from 'ignore';
import { version } from '../../package.json';
import { say } from '../wording/say';
import { findConfigs } from '../workspace/config-files';
import { beyondBaseline, readBaseline, writeBaseline } from './baseline';
import { checkFile, type Kept, notAConfig } from './check-file';
import type { CheckedFile } from './checked-file';
import { type CliContext, EXIT } from './context';
import type { FormatName } from './formats/format-names';
import { FORMATS } from './formats/formats';
import { type Gates, isFailed, unmetGates } from './gates';
import { filesSince } from './git';
import { oncePerRun } from './once-per-run';
import { paintFor } from './output';
import { displayPath } from './report';

export interface CheckOptions extends Gates {
  readonly as: FormatName;
  readonly quiet?: boolean;
  /** The report goes to this file, and not to the terminal. */
  readonly output?: string;
  readonly baseline?: string;
  readonly updateBaseline?: boolean;
  /** Only configs whose run has a file that differs from this commit; true: from the last one. */
  readonly since?: string | true;
  /** Patterns as in .gitignore. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** Nothing found is fine too. */
  readonly allowNone?: boolean;
}

/** What was looked at. */
interface Checked {
  readonly checked: readonly CheckedFile[];
  /** Something that was named, or lies below it, could not be read. */
  readonly failed: boolean;
}

/** `oomlint check`: problems of all configs below the given paths. */
export async function check(
  paths: readonly string[],
  options: CheckOptions,
  context: CliContext,
): Promise<number> {
  return reportChecked(await checkedFiles(paths, options, context), options, context);
}

/** Writes the report and the gates that are not met; the exit code. */
export async function reportChecked(
  { checked, failed }: Checked,
  options: CheckOptions,
  context: CliContext,
): Promise<number> {
  const { output, folder } = context;
  const shown = options.quiet ? checked.map(errorsOnly) : checked;
  if (options.updateBaseline && options.baseline !== undefined) {
    const count = await writeBaseline(path.resolve(folder, options.baseline), checked);
    output.writeError(
      `oomlint: ${say('{0} {0|problem|problems} written to {1}.', count, options.baseline)}\n`,
    );
    return failed ? EXIT.couldNotRun : EXIT.fine;
  }
  const known = options.baseline && (await readBaseline(path.resolve(folder, options.baseline)));
  const files = known ? beyondBaseline(shown, known) : shown;
  const paint = options.output === undefined ? output.paint : paintFor(false, {});
  const format = await FORMATS[options.as]();
  const report = format(files, { folder, version, paint });
  if (options.output === undefined) output.write(report);
  else await writeFile(path.resolve(folder, options.output), report);
  const unmet = unmetGates(files, options);
  for (const { path: name, message } of unmet)
    output.writeError(`${['oomlint', name, message].join(': ')}\n`);
  // A config that Oomlint failed on was not checked.
  const unchecked = checked.some(({ problems }) => problems.some(({ code }) => code === 'internal-error'));
  if (failed || unchecked) return EXIT.couldNotRun;
  if (checked.length === 0 && options.since === undefined && !options.allowNone) {
    output.writeError(`oomlint: ${say('no training config was found, so nothing was checked.')}\n`);
    return EXIT.foundNothing;
  }
  return unmet.length > 0 || isFailed(files, options.failOn) ? EXIT.foundErrors : EXIT.fine;
}

function errorsOnly(file: CheckedFile): CheckedFile {
  return { ...file, problems: file.problems.filter(({ severity }) => severity === 'error') };
}

/** Configs among the files that are named and below the folders that are named, each with what was found in it. */
export async function checkedFiles(
  paths: readonly string[],
  options: CheckOptions,
  context: CliContext,
): Promise<Checked> {
  const { folder, output } = context;
  const { files, named, failed } = await gather(paths, options, context);
  const changed =
    options.since === undefined
      ? undefined
      : await filesSince(folder, options.since === true ? undefined : options.since);
  const checked: CheckedFile[] = [];
  const kept: Kept = {
    analysis: options.as === 'rdjson',
    cost: options.as === 'json' || options.as === 'jsonl' || options.maxCost !== undefined,
  };
  for await (const { uri, candidate } of worthALook([...files], context)) {
    const found = candidate ? await checkFile(uri, context.targets, folder, kept) : undefined;
    if (found && (!changed || takesPart(found, changed))) checked.push(found);
    // Somebody who names a file counts on an answer.
    if (!found && named.has(fileURLToPath(uri)))
      output.writeError(`oomlint: ${notAConfig(displayPath(uri, folder))}\n`);
  }
  return { checked: oncePerRun(checked), failed };
}

/** Whether a run has one of the files. */
function takesPart({ files }: CheckedFile, changed: ReadonlySet<string>): boolean {
  return files.some((uri) => uri.startsWith('file:') && changed.has(fileURLToPath(uri)));
}

/** Files named, and configs below folders named; each once. */
async function gather(
  paths: readonly string[],
  { include = [], exclude = [] }: CheckOptions,
  { output, folder, workspace }: CliContext,
) {
  const files = new Set<string>();
  const named = new Set<string>();
  let failed = false;
  const complain = (what: string) => {
    output.writeError(`oomlint: ${say('{0} cannot be read.', what)}\n`);
    failed = true;
  };
  const included = include.length > 0 ? ignore().add([...include]) : undefined;
  const excluded = ignore().add([...exclude]);
  const wanted = (file: string) => {
    if (!included && exclude.length === 0) return true;
    const relative = path.relative(folder, file).split(path.sep).join('/');
    if (relative.startsWith('..') || path.isAbsolute(relative)) return true;
    return (included?.ignores(relative) ?? true) && !excluded.ignores(relative);
  };
  for (const given of paths) {
    const full = path.resolve(folder, given);
    const entry = await stat(full).catch(() => undefined);
    if (entry?.isDirectory()) {
      for (const file of await findConfigs(full, complain)) {
        if (wanted(file)) files.add(file);
      }
    } else if (await workspace.readable(pathToFileURL(full).href)) {
      if (!wanted(full)) continue;
      files.add(full);
      named.add(full);
    } else {
      complain(given);
    }
  }
  return { files, named, failed };
}

/** Files that are looked at ahead of the one that is checked. */
const AHEAD = 32;

/** Files in order, with whether they can be configs: most of a tree are not, and each of them is read once. */
async function* worthALook(
  files: readonly string[],
  { workspace }: CliContext,
): AsyncGenerator<{ readonly uri: string; readonly candidate: boolean }> {
  const looks: Promise<{ uri: string; candidate: boolean }>[] = [];
  let next = 0;
  const look = async (file: string) => {
    const uri = pathToFileURL(file).href;
    return { uri, candidate: await workspace.isWorthChecking(uri) };
  };
  while (next < files.length || looks.length > 0) {
    while (next < files.length && looks.length < AHEAD) looks.push(look(files[next++] ?? ''));
    const looked = await looks.shift();
    if (looked) yield looked;
  }
}
