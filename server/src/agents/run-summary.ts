import * as z from 'zod/mini';
import { breakdownOf } from '../features/breakdown';
import { breakdownOutcome } from '../features/breakdown-outcome';
import type { Breakdown } from '../features/protocol';
import { categoryLabel } from '../results/labels';
import { formatDurations, formatUsd } from '../results/time-labels';
import { formatBytes } from '../wording/figures';
import type { Analysis } from '../workspace/analysis';
import type { Workspace } from '../workspace/analyze';
import { type Desk, nameOf, placeOf } from './desk';
import { MISSING_FACT, questionsOf } from './questions';
import { described } from './stated';
import { ToolError } from './tool-error';

const SPREAD = z.object({ low: z.number(), likely: z.number(), high: z.number() });

/** A run and its estimate as tools tell them. Bytes are per GPU, host bytes per machine. */
export const RUN = z.object({
  file: z.string(),
  family: described(z.string(), 'Kind of config.'),
  files: described(z.array(z.string()), 'Files that make up the run.'),
  verdict: described(
    z.enum(['fits', 'tight', 'exceeds', 'unknown']),
    'fits: even the upper end of the band does; exceeds: not even the lower end does; tight: in between; unknown: no verdict, which is no permission to start.',
  ),
  model: z.nullable(z.string()),
  hardware: z.nullable(
    z.object({ gpu: z.string(), gpus: z.number(), nodes: z.number(), usable_bytes: z.number() }),
  ),
  peak: z.nullable(
    z.object({
      bytes: described(z.number(), 'What nvidia-smi would show for the process, at its highest.'),
      lower_bytes: z.number(),
      upper_bytes: z.number(),
      moment: z.string(),
    }),
  ),
  parts: z.array(z.object({ name: z.string(), bytes: z.number(), formula: z.optional(z.string()) })),
  host_bytes: z.nullable(z.number()),
  step_seconds: z.nullable(SPREAD),
  cost_usd: z.nullable(SPREAD),
  unknown: described(
    z.array(MISSING_FACT),
    'What nobody states. While it is not empty there is no estimate.',
  ),
  open: described(
    z.array(z.string()),
    'What decides the run and is assumed, with what it would need otherwise. Ask the person where it changes the verdict.',
  ),
  assumptions: z.array(z.object({ field: z.string(), value: z.string(), source: z.string() })),
  not_understood: described(
    z.array(z.object({ file: z.string(), line: z.number(), message: z.string() })),
    'What of the files was not understood, so that it is not part of the figures.',
  ),
  problems: z.array(
    z.object({ severity: z.string(), rule: z.string(), message: z.string(), line: z.number() }),
  ),
});
type RunSummary = z.output<typeof RUN>;

/** Listed at most of each; the rest adds nothing to a decision. */
const MOST_LISTED = 40;

/** The analysis of a config that a tool names. Throws `ToolError` where there is none. */
export async function configAt(path: string, workspace: Workspace, desk: Desk): Promise<Analysis> {
  const uri = await placeOf(path, desk);
  const analysis = await workspace.analyze(uri);
  if (analysis) return analysis;
  if (await workspace.readable(uri))
    throw new ToolError(
      `${path} is no training config that Oomlint knows, or is switched off by a comment in it.`,
      'Call find_runs for the configs that there are.',
    );
  throw new ToolError(`${path} cannot be read.`, 'Call find_runs for the configs that there are.');
}

export function summaryOf(analysis: Analysis, desk: Desk): RunSummary {
  const run = breakdownOf(analysis);
  const { peak, hardware, compute } = run;
  return {
    file: nameOf(run.file, desk),
    family: run.dialect.name,
    files: run.files.map((uri) => nameOf(uri, desk)),
    verdict: run.verdict,
    model: run.model?.id ?? null,
    hardware: hardware
      ? {
          gpu: hardware.gpu,
          gpus: hardware.gpus,
          nodes: hardware.nodes,
          usable_bytes: hardware.capacityBytes,
        }
      : null,
    peak: peak
      ? {
          bytes: peak.processBytes,
          lower_bytes: peak.lowerBytes,
          upper_bytes: peak.upperBytes,
          moment: peak.label,
        }
      : null,
    parts: run.parts.map(({ category, bytes, formula }) => ({
      name: categoryLabel(category),
      bytes,
      ...(formula === undefined ? {} : { formula }),
    })),
    host_bytes: run.host?.bytesPerNode ?? null,
    step_seconds: compute?.time?.stepSeconds ?? null,
    cost_usd: compute?.time?.costUsd ?? null,
    unknown: questionsOf(analysis),
    open: (run.open ?? []).map(({ sentence }) => sentence),
    assumptions: run.assumptions.slice(0, MOST_LISTED).map(({ field, value, source }) => ({
      field,
      value: typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
      source,
    })),
    not_understood: (run.notUnderstood ?? []).slice(0, MOST_LISTED).map(({ message, location }) => ({
      file: nameOf(location.uri, desk),
      line: location.range.start.line + 1,
      message,
    })),
    problems: run.diagnostics.slice(0, MOST_LISTED).map(({ severity, code, message, range }) => ({
      severity,
      rule: code,
      message,
      line: range.start.line + 1,
    })),
  };
}

/** The same in a sentence or two. */
export function sentenceOf(analysis: Analysis, desk: Desk): string {
  const run = breakdownOf(analysis);
  const questions = questionsOf(analysis).map(({ question }) => question);
  const name = nameOf(run.file, desk);
  if (questions.length > 0) return `${name}: no verdict yet. Ask the person: ${questions.join(' ')}`;
  const { peak, hardware } = run;
  if (!peak || !hardware) return `${name}: no verdict. ${problemWords(run)}`;
  const figures = `the peak is ${formatBytes(peak.processBytes)} (${formatBytes(peak.lowerBytes)} to ${formatBytes(peak.upperBytes)}) of ${formatBytes(hardware.capacityBytes)} on each of ${hardware.gpus} × ${hardware.gpu}`;
  const time = run.compute?.time;
  const costs = [
    time ? `${formatDurations(time.stepSeconds)} a step` : undefined,
    time?.costUsd ? `about ${formatUsd(time.costUsd.likely)} for the whole run` : undefined,
  ].filter((words) => words !== undefined);
  const rest = costs.length > 0 ? `; ${costs.join(', ')}` : '';
  const open = (run.open ?? []).map(({ sentence }) => ` ${sentence}`).slice(0, 3);
  const unread = run.notUnderstood?.length ?? 0;
  const doubt = unread > 0 ? ` ${unread} places in its files were not understood.` : '';
  // A verdict without a file that the run names is one on another run.
  const absent = run.diagnostics.flatMap(({ code, message }) =>
    code === 'missing-file' ? [` ${message}`] : [],
  );
  return `${name}: ${breakdownOutcome(run)}; ${figures}${rest}.${doubt}${absent.join('')}${open.join('')}`;
}

function problemWords({ diagnostics }: Breakdown): string {
  return diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ message }) => message)
    .slice(0, 3)
    .join(' ');
}
