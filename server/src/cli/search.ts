import { sourcesOf } from '../advice/run-sources';
import { type Option, search, searched } from '../advice/search';
import { formatDuration, formatUsd } from '../results/time-labels';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { readRun } from './read-run';
import { displayPath, SCHEMA_VERSION } from './report';

export interface SearchOptions {
  /** GPU counts up to this one. */
  readonly maxGpus?: number;
  /** Cloud machines with a known price instead of the run's GPUs. */
  readonly instances?: boolean;
}

/** `oomlint search`: runs of one config that fit and that no other beats in memory, time and cost. */
export async function searchFile(file: string, options: SearchOptions, context: CliContext): Promise<number> {
  const { output, folder } = context;
  const analysis = await readRun(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const files = await sourcesOf(analysis, context.workspace);
  const scope = { files, mostGpus: options.maxGpus, instances: options.instances };
  const result = await searched(search(analysis, scope), () => false);
  if (!result) return EXIT.couldNotRun;
  const name = displayPath(analysis.uri, folder);
  if (context.options.format === 'json') {
    output.write(`${JSON.stringify({ schemaVersion: SCHEMA_VERSION, file: name, ...result }, null, 2)}\n`);
    return result.front.length > 0 ? EXIT.fine : EXIT.foundErrors;
  }
  const { paint } = output;
  output.write(`${paint('bold', name)}  ${say('{0} of {1} tried runs fit', result.fitting, result.tried)}\n`);
  for (const option of result.front) output.write(`${row(option)}\n`);
  if (result.front.length === 0) output.write(`${say('Nothing that was tried fits.')}\n`);
  return result.front.length > 0 ? EXIT.fine : EXIT.foundErrors;
}

function row({
  label,
  peakBytes,
  capacityBytes,
  stepSeconds,
  usdPerBillionTokens,
  gpus,
  gpu,
  current,
}: Option): string {
  const columns = [
    say('{0} of {1}', formatBytes(peakBytes), formatBytes(capacityBytes)).padEnd(22),
    (stepSeconds === undefined ? '' : say('{0}/step', formatDuration(stepSeconds))).padEnd(16),
    (usdPerBillionTokens === undefined ? '' : say('{0}/B tokens', formatUsd(usdPerBillionTokens))).padEnd(20),
    `${gpus}×${gpu}`.padEnd(22),
    current ? say('{0} (as it is)', label) : label,
  ];
  return columns.join(' ').trimEnd();
}
