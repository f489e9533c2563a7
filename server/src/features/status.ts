import {
  hostMomentLabel,
  joinWords,
  momentLabel,
  outcomeLabel,
  shortModelName,
  verdictLabel,
} from '../results/labels';
import { formatDurations } from '../results/time-labels';
import { fieldLabel } from '../run/field-labels';
import { formatBytes, formatBytesOf, formatFlops } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { verdictSeverity } from '../workspace/verdict-severity';
import { baseName } from './markdown';
import type { StatusParams } from './protocol';
import { runPhrase } from './run-lens';

/** What it showed before an edit broke the syntax, reported as such: half a text has no verdict, and the last one is not forgotten. */
export function statusBefore(last: NonNullable<StatusParams['status']>): NonNullable<StatusParams['status']> {
  const detail = `${say('Fix the syntax first. As of the last text that could be read:')}\n${last.detail}`;
  return { ...last, verdict: 'unknown', outcome: verdictLabel('unknown'), severity: undefined, detail };
}

/** What the status item states about a training config. */
export function status(analysis: Analysis): NonNullable<StatusParams['status']> {
  const { accelerator, dialect, estimate, resolved } = analysis;
  if (!estimate && analysis.broken) {
    const names = analysis.broken.map(baseName).join(', ');
    return {
      dialect: dialect.name,
      verdict: 'unknown',
      outcome: verdictLabel('unknown'),
      text: say('fix the syntax first'),
      detail: say('{0} cannot be read as it stands: there is no estimate before its syntax is fixed.', names),
    };
  }
  if (!estimate) {
    const missing = joinWords(resolved.unknown.map((unknown) => fieldLabel(unknown.field)));
    return {
      dialect: dialect.name,
      verdict: 'unknown',
      outcome: verdictLabel('unknown'),
      text: missing ? say('needs {0}', missing) : say('no estimate'),
      detail: [say('{0} config.', dialect.name), ...resolved.unknown.map((unknown) => unknown.reason)].join(
        '\n',
      ),
    };
  }
  const { peak } = estimate;
  const model = analysis.model?.id ?? resolved.values['model.id'];
  const gpus = resolved.values['hardware.gpus'] ?? 1;
  const gpu = `${gpus} × ${accelerator?.name ?? resolved.values['hardware.gpu'] ?? 'GPU'}`;
  const subject = model ? say('{0} on {1}', shortModelName(model), gpu) : gpu;
  const lines = [
    `${subject}: ${outcomeLabel(estimate)}.`,
    say(
      'Peak {0} of {1} per GPU, in {2} ({3}).',
      formatBytes(peak.processBytes),
      formatBytes(estimate.capacityBytes),
      momentLabel(peak.moment),
      peak.label,
    ),
    say('Between {0} and {1}.', formatBytes(peak.lowerBytes), formatBytes(peak.upperBytes)),
  ];
  if (estimate.host.bytesPerNode > 0) {
    const when = hostMomentLabel(estimate.host.moment);
    lines.push(say('Host memory {0} per node {1}.', formatBytes(estimate.host.bytesPerNode), when));
  }
  const run = runPhrase(analysis.runs ?? [], analysis.run);
  if (run !== undefined) lines.push(`${run.slice(0, 1).toUpperCase()}${run.slice(1)}.`);
  const { flopsPerStep, time } = estimate.compute;
  const perStep = say('{0} per step', formatFlops(flopsPerStep));
  lines.push(`${perStep}${time ? `, ${formatDurations(time.stepSeconds)}` : ''}.`);
  return {
    dialect: dialect.name,
    verdict: estimate.verdict,
    outcome: outcomeLabel(estimate),
    severity: verdictSeverity(analysis),
    gpu: accelerator && `${gpus}×${accelerator.name}`,
    text: formatBytesOf(peak.processBytes, estimate.capacityBytes),
    detail: lines.join('\n'),
  };
}
