import { formatBytes, formatBytesOf, formatFlops } from '../wording/figures';
import {
  fieldLabel,
  HOST_MOMENT_LABELS,
  joinWords,
  MOMENT_LABELS,
  shortModelName,
  VERDICT_LABELS,
} from '../wording/labels';
import { formatDurations } from '../wording/time';
import type { Analysis } from '../workspace/analysis';
import type { StatusParams } from './protocol';

/** What the status item says about a training config. */
export function status(analysis: Analysis): NonNullable<StatusParams['status']> {
  const { dialect, estimate, resolved } = analysis;
  if (!estimate) {
    const missing = joinWords(resolved.unknown.map((unknown) => fieldLabel(unknown.field)));
    return {
      dialect: dialect.name,
      verdict: 'unknown',
      text: missing ? `needs ${missing}` : 'no estimate',
      detail: [`${dialect.name} config.`, ...resolved.unknown.map((unknown) => unknown.reason)].join('\n'),
    };
  }
  const { peak } = estimate;
  const model = analysis.model?.id ?? resolved.values['model.id'];
  const gpus = resolved.values['hardware.gpus'] ?? 1;
  const subject = model ? `${shortModelName(model)} on ` : '';
  const gpu = analysis.accelerator?.name ?? resolved.values['hardware.gpu'] ?? 'GPU';
  const lines = [
    `${subject}${gpus} × ${gpu}: ${VERDICT_LABELS[estimate.verdict]}.`,
    `Peak ${formatBytes(peak.processBytes)} of ${formatBytes(estimate.capacityBytes)} per GPU, in ${MOMENT_LABELS[peak.moment]} (${peak.label}).`,
    `Between ${formatBytes(peak.lowerBytes)} and ${formatBytes(peak.upperBytes)}.`,
  ];
  if (estimate.hostBytesPerNode > 0) {
    lines.push(
      `Host memory ${formatBytes(estimate.hostBytesPerNode)} per node ${HOST_MOMENT_LABELS[estimate.host.moment]}.`,
    );
  }
  const { flopsPerStep, time } = estimate.compute;
  lines.push(`${formatFlops(flopsPerStep)} per step${time ? `, ${formatDurations(time.stepSeconds)}` : ''}.`);
  return {
    dialect: dialect.name,
    verdict: estimate.verdict,
    text: formatBytesOf(peak.processBytes, estimate.capacityBytes),
    detail: lines.join('\n'),
  };
}
