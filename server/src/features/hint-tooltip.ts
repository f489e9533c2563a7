import { causation, heldBy } from '../memory/causes';
import { categoryLabel, momentLabel } from '../results/labels';
import type { FieldPath } from '../run/fields';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { whatIfSection } from './hover-what-if';
import { code, escapeMarkdown, sourceLink } from './markdown';

/**
 * What stands behind an inlay hint, as Markdown: the parts that its key shapes, each with this run's formula, and what
 * neighbouring values of the key would give. Some milliseconds; asked for when a person points at the hint.
 */
export function hintTooltip(analysis: Analysis, fields: readonly FieldPath[]): string {
  const { estimate, resolved } = analysis;
  const caused = causation(fields, estimate);
  if (!estimate || !caused) return '';
  const key = fields.map((field) => resolved.origins[field]?.key).find((name) => name !== undefined);
  const { peak } = estimate;
  const when = say('at the peak of {0}, in {1}', formatBytes(peak.processBytes), momentLabel(peak.moment));
  const title = `**${code(key ?? fields[0] ?? '')}** · ${escapeMarkdown(when)}`;
  const held = heldBy(caused.categories, estimate);
  const parts = held.map(({ category, bytes, formula, source }) => {
    const how = formula === undefined ? '' : ` = ${code(formula)}`;
    const link = sourceLink(say('source'), source);
    return `- **${categoryLabel(category)}** ${formatBytes(bytes)}${how}${link ? ` · ${link}` : ''}`;
  });
  if (caused.host && estimate.host.bytesPerNode > 0) {
    parts.push(`- ${say('{0} of host memory per node', formatBytes(estimate.host.bytesPerNode))}`);
  }
  const together = held.reduce((sum, { bytes }) => sum + bytes, 0);
  // What the bar of the hint is of.
  const share = together > 0 && say('{0} of one GPU.', formatBytesOf(together, estimate.capacityBytes));
  const sections = [title, share, parts.join('\n'), whatIfSection(analysis, fields)];
  return sections.filter((section) => section).join('\n\n');
}
