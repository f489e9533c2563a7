import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Estimated } from '../advice/changed-run';
import { learnedFacts } from '../features/learned-facts';
import { KIND_WORDS } from '../features/measured-phrase';
import { type Compared, type ComparedRun, compareRun } from '../features/measured-run';
import { type LaunchSearch, launchedConfig } from '../features/oom/launched';
import type { Series } from '../measured/measurement';
import { snapshotSeries } from '../measured/snapshot-series';
import { type RunRecord, readRunRecord } from '../records/run-folder';
import { categoryLabel } from '../results/labels';
import { fieldLabel } from '../run/field-labels';
import { decimal, formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { learnFrom } from './learn';
import { launchedWords } from './oom';
import { readFile } from './read-run';
import { displayPath, SCHEMA_VERSION } from './report';

interface Read {
  readonly record: RunRecord;
  readonly series: readonly Series[];
  readonly search: LaunchSearch;
}

/** What a run left and the config it was launched with; undefined, with the reason reported, where nothing was measured. */
async function readMeasured(
  run: string,
  config: string | undefined,
  context: CliContext,
  needsFigures = true,
): Promise<Read | undefined> {
  const { output, folder, workspace } = context;
  const place = path.resolve(folder, run);
  let record: RunRecord;
  try {
    const shows = process.stderr.isTTY === true;
    const progress = (bytes: number, file: string) =>
      shows &&
      bytes > 0 &&
      output.writeError(`${say('{0} read', formatBytes(bytes))} (${path.basename(file)})\n`);
    record = await readRunRecord(place, { progress });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    output.writeError(`oomlint: ${say('{0} cannot be read: {1}', run, reason)}\n`);
    return undefined;
  }
  for (const { file, reason } of record.unread)
    output.writeError(
      `oomlint: ${say('{0} cannot be read: {1}', displayPath(pathToFileURL(file).href, folder), reason)}\n`,
    );
  const series = [...record.series, ...record.snapshots.flatMap(snapshotSeries)];
  if (series.length === 0 && needsFigures) {
    output.writeError(`oomlint: ${say('Nothing in {0} says how much memory the run took.', run)}\n`);
    return undefined;
  }
  const named = config === undefined ? undefined : (await readFile(config, context))?.uri;
  if (config !== undefined && named === undefined) return undefined;
  const beside = record.files.length === 1 && record.files[0] === place ? path.dirname(place) : place;
  const { log, facts } = record;
  const search = await launchedConfig(log, pathToFileURL(beside).href, named, workspace, facts);
  return { record, series, search };
}

/** `oomlint compare-run`: measured beside estimated, like with like. Ends with 1 where they differ by more than the estimate allows. */
export async function compareMeasured(
  run: string,
  config: string | undefined,
  context: CliContext,
): Promise<number> {
  const read = await readMeasured(run, config, context);
  if (!read) return EXIT.couldNotRun;
  const { output, folder } = context;
  const { record, series, search } = read;
  const { launched } = search;
  const compared = launched && compareRun(series, launched.analysis);
  if (context.options.format === 'json') {
    const file = launched && displayPath(launched.analysis.uri, folder);
    const { facts, retries, snapshots } = record;
    const levels = series.map(({ course: _course, ...one }) => one);
    const report = {
      schemaVersion: SCHEMA_VERSION,
      run,
      config: file ?? null,
      facts,
      retries,
      measured: levels,
      comparison: compared && comparisonJson(compared),
      snapshots,
    };
    output.write(`${JSON.stringify(report, null, 2)}\n`);
  } else {
    output.write(
      `${launchedWords(search, folder, ['oomlint', 'compare-run', 'RUN', 'CONFIG', '--gpu', 'GPU'].join(' '))}\n`,
    );
    if (launched && compared) comparisonTable(compared, launched.analysis, context);
    else for (const one of series) output.write(`  ${levelWords(one)}\n`);
    recordTable(record, context);
  }
  return compared?.farthest ? EXIT.foundErrors : EXIT.fine;
}

function comparisonJson({ others: _others, ...rest }: ComparedRun) {
  return rest;
}

function comparisonTable(
  { compared, others, farthest, parts, answers, grewBytes }: ComparedRun,
  { estimate }: Estimated,
  { output }: CliContext,
): void {
  const { paint } = output;
  if (compared.length === 0)
    output.write(
      `${say('Nothing that was measured has its like in an estimate: only levels of single moments.')}\n`,
    );
  for (const one of compared) {
    const comparison = comparedWords(one);
    output.write(`  ${paint(one.within ? 'green' : 'yellow', one.within ? '✓' : '≠')} ${comparison}\n`);
  }
  for (const one of others.slice(0, 12)) output.write(`  ${paint('dim', levelWords(one))}\n`);
  if (!farthest) {
    if (compared.length > 0) output.write(`${say('All of it lies within the margin of the estimate.')}\n`);
  } else {
    const missing = farthest.measuredBytes - farthest.estimatedBytes;
    output.write(
      `${paint('bold', say('What can explain {0} {1}', formatBytes(Math.abs(missing)), missing > 0 ? say('more than estimated') : say('less than estimated')))}\n`,
    );
    for (const { category, bytes, fields } of parts)
      output.write(
        `  ${categoryLabel(category)} ${formatBytes(bytes)}: ${fields.slice(0, 3).map(fieldLabel).join(', ')}\n`,
      );
    for (const { reason, words, estimatedBytes } of answers)
      output.write(
        `  ${reason}${words ? ` ${say('With {0} it would be {1}.', words, formatBytes(estimatedBytes))}` : ''}\n`,
      );
  }
  if (grewBytes > 0)
    output.write(
      `${say('Memory in use grew by {0} over the steps of the log and did not come to rest: it may leak.', formatBytes(grewBytes))}\n`,
    );
  output.write(
    `${paint('dim', say('Estimate: {0} in tensors, {1} held, process {2} to {3}', formatBytes(estimate.peak.allocatedBytes), formatBytes(estimate.peak.reservedBytes), formatBytes(estimate.peak.lowerBytes), formatBytes(estimate.peak.upperBytes)))}\n`,
  );
}

function comparedWords({
  kind,
  source,
  rank,
  step,
  measuredBytes,
  estimatedBytes,
  difference,
}: Compared): string {
  const percent =
    difference === 0
      ? say('the same')
      : `${difference > 0 ? '+' : '−'}${decimal(Math.abs(difference) * 100, 1)} %`;
  const where = [
    source,
    rank !== undefined && say('rank {0}', String(rank)),
    step !== undefined && say('step {0}', String(step)),
  ];
  return say(
    '{0} {1} measured, {2} estimated ({3}); {4}',
    formatBytes(measuredBytes),
    KIND_WORDS[kind](),
    formatBytes(estimatedBytes),
    percent,
    where.filter(Boolean).join(', '),
  );
}

function levelWords({ highest, kind, source, count }: Series): string {
  const moment = highest.moment ? `, ${highest.moment}` : '';
  return `${formatBytes(highest.quantity.bytes)} ${KIND_WORDS[kind]()} (${source}${moment}${count > 1 ? `, ${say('highest of {0}', count)}` : ''})`;
}

function recordTable({ facts, retries, snapshots }: RunRecord, { output }: CliContext): void {
  const { gpu, capacityBytes } = facts;
  if (gpu || capacityBytes)
    output.write(
      `${say('Card: {0}', [gpu, capacityBytes && formatBytes(capacityBytes)].filter(Boolean).join(', '))}\n`,
    );
  if (retries > 0)
    output.write(
      `${say('The allocator ran out {0} {0|time|times} and gave its cache back: the run was at the edge of the card.', retries)}\n`,
    );
  for (const { device, events, alive, olderBytes, peakAllocatedBytes } of snapshots) {
    output.write(
      `${output.paint('bold', say('Snapshot of GPU {0}: {1} {1|event|events}, {2} at the highest point', String(device), events, formatBytes(peakAllocatedBytes)))}\n`,
    );
    for (const { call, bytes, blocks } of alive.slice(0, 10))
      output.write(
        `  ${formatBytes(bytes).padStart(10)}  ${call || say('no call recorded')}${blocks > 1 ? ` × ${blocks}` : ''}\n`,
      );
    if (olderBytes > 0)
      output.write(`  ${formatBytes(olderBytes).padStart(10)}  ${say('from before the record')}\n`);
  }
}

/** Fields of a run that name nothing of the person: sizes, kinds and versions. */
const PRIVATE = /^(?:model\.(?:path|config)|method\.(?:referenceModel|teacher)|evaluation\.data)/;

/** `oomlint measured`: what a run measured; with `--export` one line of settings and figures, without paths, names or data. */
export async function exportMeasured(
  run: string,
  config: string | undefined,
  exports: boolean,
  learn: string | true | undefined,
  context: CliContext,
): Promise<number> {
  const read = await readMeasured(run, config, context, learn === undefined);
  if (!read) return EXIT.couldNotRun;
  const { record, series, search } = read;
  const { launched } = search;
  const { output } = context;
  if (learn !== undefined) return learnFrom(run, learn, { record, search }, context);
  if (!exports) {
    for (const one of series) output.write(`${levelWords(one)}\n`);
    recordTable(record, context);
    const facts = launched ? learnedFacts(record, launched.analysis) : [];
    if (facts.length > 0)
      output.write(`${output.paint('bold', say('What `--learn` would write to oomlint.yaml'))}\n`);
    for (const { field, words } of facts) output.write(`  ${field}: ${words}\n`);
    return EXIT.fine;
  }
  if (!launched) {
    output.writeError(`oomlint: ${say('A row needs the config of the run: name it.')}\n`);
    return EXIT.couldNotRun;
  }
  const { resolved, model, dialect } = launched.analysis;
  const settings = Object.fromEntries(
    Object.entries(resolved.run ?? {}).filter(
      ([field, value]) => !PRIVATE.test(field) && value !== undefined,
    ),
  );
  // A model of one's own is known by its shape alone.
  const known =
    /^[\w.-]+\/[\w.-]+$/.test(String(settings['model.id'] ?? '')) && model.id === settings['model.id'];
  if (!known) delete settings['model.id'];
  const figures = series
    .filter(({ peak, kind }) => peak || kind === 'process')
    .map(({ source, kind, peak, highest }) => ({
      source,
      kind,
      peak,
      bytes: highest.quantity.bytes,
      lowerBytes: highest.quantity.lowerBytes,
      upperBytes: highest.quantity.upperBytes,
    }));
  const row = {
    schemaVersion: SCHEMA_VERSION,
    family: dialect.id,
    modelType: model.modelType,
    parameters: model.parameters.total,
    settings,
    facts: record.facts,
    measured: figures,
    retries: record.retries,
  };
  output.write(`${JSON.stringify(row)}\n`);
  return EXIT.fine;
}
