import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isEstimated } from '../advice/changed-run';
import { type Diagnosis, diagnose } from '../features/oom/diagnose';
import { type CardOfLog, type Launched, type LaunchSearch, launchedConfig } from '../features/oom/launched';
import { type Relief, reliefOf } from '../features/oom/relief';
import { whyUnestimated } from '../features/oom/why-unestimated';
import { sectionsOf, titleOf } from '../features/oom/words';
import { LogFiguresReader } from '../measured/log-figures';
import { growthOf } from '../measured/measurement';
import { type OutOfMemoryLog, OutOfMemoryReader } from '../measured/out-of-memory';
import { readLog } from '../records/log-stream';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { readFile } from './read-run';
import { displayPath, SCHEMA_VERSION } from './report';

/** Messages that are explained one by one: the other ranks of a run say the same. */
const MOST_EXPLAINED = 4;

/** `oomlint oom`: explains the out-of-memory messages of a log. */
export async function explainOutOfMemory(
  file: string,
  config: string | undefined,
  context: CliContext,
): Promise<number> {
  const { output, folder, workspace } = context;
  const read = await logOf(file, context);
  if (!read) return EXIT.couldNotRun;
  const { log, grewBytes, card } = read;
  if (log.found.length === 0) {
    output.write(`${say('No message in {0} says that memory ran out.', nameOf(file))}\n`);
    return EXIT.fine;
  }
  const beside = file === '-' ? folder : path.dirname(path.resolve(folder, file));
  const named = config === undefined ? undefined : (await readFile(config, context))?.uri;
  if (config !== undefined && named === undefined) return EXIT.couldNotRun;
  const search = await launchedConfig(log, pathToFileURL(beside).href, named, workspace, card);
  const { launched } = search;
  const analysis = launched?.analysis;
  const explained = [];
  for (const message of log.found.slice(0, MOST_EXPLAINED)) {
    const diagnosis = diagnose(message, { ...(analysis ? { analysis } : {}), grewBytes });
    const relief =
      launched && analysis && message.kind === 'torch'
        ? await reliefOf(diagnosis, analysis, launched.workspace)
        : [];
    explained.push({ diagnosis, relief });
  }
  if (context.options.format === 'json') json(file, log, search, explained, context);
  else table(file, log, search, explained, context);
  return EXIT.foundErrors;
}

interface Explained {
  readonly diagnosis: Diagnosis;
  readonly relief: readonly Relief[];
}

const nameOf = (file: string) => (file === '-' ? say('standard input') : file);

interface ReadLog {
  readonly log: OutOfMemoryLog;
  /** Bytes by which memory in use grew over the steps. */
  readonly grewBytes: number;
  readonly card: CardOfLog;
}

async function logOf(file: string, { output, folder }: CliContext): Promise<ReadLog | undefined> {
  const reader = new OutOfMemoryReader();
  const figures = new LogFiguresReader();
  const shows = process.stderr.isTTY === true;
  try {
    await readLog(
      file === '-' ? file : path.resolve(folder, file),
      (line) => {
        reader.add(line);
        figures.add(line);
      },
      { progress: (bytes) => shows && output.writeError(`${say('{0} read', formatBytes(bytes))}\n`) },
    );
    const { series, facts } = figures.finish();
    const grown = series.filter(({ kind }) => kind !== 'host').map(growthOf);
    return { log: reader.finish(), grewBytes: Math.max(0, ...grown), card: facts };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    output.writeError(`oomlint: ${say('{0} cannot be read: {1}', file, reason)}\n`);
    return undefined;
  }
}

function table(
  file: string,
  log: OutOfMemoryLog,
  search: LaunchSearch,
  explained: readonly Explained[],
  context: CliContext,
): void {
  const { output, folder } = context;
  const { paint } = output;
  output.write(
    `${launchedWords(search, folder, ['oomlint', 'oom', 'LOG', 'CONFIG', '--gpu', 'GPU'].join(' '))}\n`,
  );
  for (const { diagnosis, relief } of explained) {
    const place = `${nameOf(file)}:${diagnosis.message.line + 1}`;
    output.write(`\n${paint('bold', place)}  ${paint('red', titleOf(diagnosis.message))}\n`);
    for (const { heading, lines } of sectionsOf(
      diagnosis,
      search.launched?.analysis,
      log.allocatorSettings,
    )) {
      output.write(`${paint('bold', heading)}\n${lines.map((line) => `  ${line}\n`).join('')}`);
    }
    if (relief.length === 0) continue;
    output.write(`${paint('bold', say('What would make room'))}\n`);
    relief.forEach(({ title }, index) => {
      output.write(`  ${index + 1}. ${title}\n`);
    });
  }
  const others = log.found.length - explained.length + log.more;
  if (others > 0) output.write(`\n${paint('dim', say('and {0} {0|message|messages} more', others))}\n`);
}

/** Which run a log is held to, for people. `usage`: the command with a config named. */
export function launchedWords(
  { launched, unestimated }: LaunchSearch,
  folder: string,
  usage: string,
): string {
  if (unestimated) {
    const { analysis, by, command } = unestimated;
    const name = by === 'command' ? `\`${shortened(command ?? '')}\`` : displayPath(analysis.uri, folder);
    return say('Run: {0}. It has no estimate to hold the log to: {1}.', name, whyUnestimated(analysis));
  }
  if (!launched)
    return say(
      'No config of the run was found that can be estimated. Name one, or what is missing for it: {0}.',
      usage,
    );
  const name = displayPath(launched.analysis.uri, folder);
  if (launched.by === 'command')
    return say('Run: the command in the log, `{0}`', shortened(launched.command ?? ''));
  return launched.by === 'name'
    ? say('Run: {0}', name)
    : say('Run: {0}, the only config beside the log', name);
}

function shortened(command: string): string {
  return command.length > 160 ? `${command.slice(0, 157)}...` : command;
}

/** `missing`: why it has no estimate. */
function foundJson(found: Launched | LaunchSearch['unestimated'], folder: string) {
  if (!found) return undefined;
  const { analysis, by, command } = found;
  const missing = isEstimated(analysis) ? undefined : whyUnestimated(analysis);
  return { file: displayPath(analysis.uri, folder), by, command, missing };
}

function json(
  file: string,
  log: OutOfMemoryLog,
  { launched, unestimated }: LaunchSearch,
  explained: readonly Explained[],
  { output, folder }: CliContext,
): void {
  const messages = explained.map(({ diagnosis, relief }) => {
    const { message, clues, causes, occupied, matched, solutions, expected } = diagnosis;
    return {
      line: message.line + 1,
      kind: message.kind,
      rank: message.rank,
      message: message.message,
      torch: message.torch,
      other: message.other,
      moment: clues.moment,
      frame: message.frames.at(-1),
      causes,
      occupied,
      tensors: matched?.matches.map(({ request, places, support }) => ({ ...request, places, support })),
      nearest: matched?.nearest,
      solutions: solutions.map(({ request, ...solution }) => ({ ...solution, tensor: request.name })),
      estimate: expected && {
        peak: expected.estimate.peak,
        verdict: expected.estimate.verdict,
        capacityBytes: expected.estimate.capacityBytes,
        beyondBytes: expected.beyondBytes,
      },
      relief: relief.map(({ title, beforeBytes, afterBytes }) => ({ title, beforeBytes, afterBytes })),
    };
  });
  const run = foundJson(launched ?? unestimated, folder);
  const report = {
    schemaVersion: SCHEMA_VERSION,
    log: file,
    run: run ?? null,
    allocatorSettings: log.allocatorSettings,
    messages,
    more: log.found.length - explained.length + log.more,
  };
  output.write(`${JSON.stringify(report, null, 2)}\n`);
}
