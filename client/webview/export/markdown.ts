import type { Breakdown } from '../../../server/src/shared/protocol';
import { fieldLabel, formatBytes, say } from '../../../server/src/shared/words';
import { changes, signedBytes, timeChange } from '../changes';
import { gib, share } from '../component-table';
import { componentLabel, stackOrder } from '../components';
import { peakText, verdictText } from '../headline';
import type { ComparedMessage } from '../messages';
import { runFacts } from '../run-facts';
import { t } from '../strings';
import { madeBy } from './made-by';

/** A breakdown as Markdown: for an issue, a review, a chat. `settings`: what the run has; `tried`: what is changed against the file. */
export function breakdownMarkdown(
  file: string,
  breakdown: Breakdown,
  settings: string,
  tried?: string,
): string {
  const parts = stackOrder(breakdown.parts);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines = [`## ${escaped(file)}: ${escaped(verdictText(breakdown))}`, ''];
  const detail = peakText(breakdown);
  if (detail) lines.push(escaped(detail), '');
  if (tried) lines.push(escaped(tried), '');
  if (parts.length > 0) {
    lines.push(`| ${t('component')} | ${say('GiB')} | ${t('share')} |`, '| --- | ---: | ---: |');
    for (const part of parts) {
      lines.push(`| ${componentLabel(part.category)} | ${gib(part.bytes)} | ${share(part.bytes, total)} |`);
    }
    lines.push(`| **${t('total')}** | **${gib(total)}** | 100 % |`, '');
  }
  for (const { name, value, detail: more } of runFacts(breakdown)) {
    lines.push(`- ${escaped(name)}: ${escaped(value)}${more ? ` (${escaped(more)})` : ''}`);
  }
  if (settings) lines.push(`- ${escaped(settings)}`);
  const capacity = breakdown.hardware?.capacityBytes;
  if (capacity) lines.push(`- ${t('usable', formatBytes(capacity))}`);
  // Whoever reads it elsewhere does not see what the figures hang on, nor how old they are.
  for (const { sentence } of breakdown.open ?? []) lines.push(`- ${escaped(sentence)}`);
  lines.push('', escaped(madeBy()));
  return `${lines.join('\n').trimEnd()}\n`;
}

/** A comparison as Markdown: both answers, what makes the difference, and the figures side by side. */
export function comparisonMarkdown({ before, after, comparison }: ComparedMessage): string | undefined {
  if (!comparison) return undefined;
  const heads = [before ?? t('was'), after ?? t('after')] as const;
  const names = heads.map(escaped);
  const { differences } = comparison;
  const lines = [
    `## ${t('comparedWith', names[1] ?? '', names[0] ?? '')}`,
    '',
    `- ${names[0]}: ${escaped(verdictText(comparison.before))}`,
    `- ${names[1]}: ${escaped(verdictText(comparison.after))}`,
    '',
  ];
  if (differences.length > 0) {
    lines.push(
      row([t('difference'), ...heads, t('costs'), t('stepTime')]),
      '| --- | --- | --- | ---: | ---: |',
      ...differences.map(({ fields, before: was, after: is, bytes, seconds, speed }) =>
        row([fields.map(fieldLabel).join(', '), was, is, signedBytes(bytes), timeChange(seconds, speed)]),
      ),
      '',
    );
  }
  lines.push(
    row([t('figure'), ...heads, t('change')]),
    '| --- | ---: | ---: | ---: |',
    ...changes(comparison.before, comparison.after).map(row),
    '',
    escaped(madeBy()),
  );
  return `${lines.join('\n').trimEnd()}\n`;
}

const row = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`;

/** Names of files and models are text, never markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|]/g, '\\$&');
}
