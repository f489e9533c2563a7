import { causation, heldBy } from '../memory/causes';
import { categoryLabel } from '../results/labels';
import type { FieldPath } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';

/** One line on what these fields cost on one GPU at the peak, or undefined where nothing can be stated yet. */
export function memoryEffect(analysis: Analysis, fields: readonly FieldPath[]): string | undefined {
  const estimate = analysis.estimate;
  const caused = causation(fields, estimate);
  if (!caused) return undefined;
  const { categories, capacity, host } = caused;
  if (categories.size === 0 && !capacity && !host) {
    return say('no effect on the peak');
  }
  if (!estimate) {
    return undefined;
  }
  const phrases: string[] = [];
  const parts = heldBy(categories, estimate).map(
    (part) => `${categoryLabel(part.category)} ${formatBytes(part.bytes)}`,
  );
  if (parts.length > 0) {
    phrases.push(say('{0} of the {1} peak', parts.join(', '), formatBytes(estimate.peak.processBytes)));
  } else if (categories.size > 0) {
    const names = [...categories].map(categoryLabel);
    phrases.push(say('not held at the peak ({0})', names.join(', ')));
  }
  if (capacity) {
    phrases.push(say('{0} usable per GPU', formatBytes(estimate.capacityBytes)));
  }
  if (host && estimate.host.bytesPerNode > 0) {
    phrases.push(say('{0} of host memory per node', formatBytes(estimate.host.bytesPerNode)));
  }
  return phrases.length === 0 ? say('no effect on the peak') : phrases.join('; ');
}
