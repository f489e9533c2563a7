import type { Breakdown } from '../../../server/src/features/protocol';
import { formatBytes } from '../../../server/src/wording/figures';
import { say } from '../../../server/src/wording/say';
import { gib, share } from '../component-table';
import { componentLabel, stackOrder } from '../components';
import { peakText, verdictText } from '../headline';
import { runFacts } from '../run-facts';
import { t } from '../strings';

/** A breakdown as Markdown: for an issue, a review, a chat. `tried`: what is changed against the file. */
export function breakdownMarkdown(file: string, breakdown: Breakdown, tried?: string): string {
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
  const capacity = breakdown.hardware?.capacityBytes;
  if (capacity) lines.push(`- ${t('usable', formatBytes(capacity))}`);
  return `${lines.join('\n').trimEnd()}\n`;
}

/** Names of files and models are text, never markup. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|]/g, '\\$&');
}
