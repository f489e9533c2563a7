import { causation, heldBy } from '../memory/causes';
import type { FieldPath } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { CATEGORY_LABELS } from '../wording/labels';
import type { Analysis } from '../workspace/analysis';

/** One line on what these fields cost on one GPU at the peak, or undefined where nothing can be said yet. */
export function memoryEffect(analysis: Analysis, fields: readonly FieldPath[]): string | undefined {
  const estimate = analysis.estimate;
  const caused = causation(fields, estimate);
  if (!caused) return undefined;
  const { categories, capacity, host } = caused;
  if (categories.size === 0 && !capacity && !host) {
    return 'no effect on the peak';
  }
  if (!estimate) {
    return undefined;
  }
  const phrases: string[] = [];
  const parts = heldBy(categories, estimate).map(
    (part) => `${CATEGORY_LABELS[part.category]} ${formatBytes(part.bytes)}`,
  );
  if (parts.length > 0) {
    phrases.push(`${parts.join(', ')} of the ${formatBytes(estimate.peak.processBytes)} peak`);
  } else if (categories.size > 0) {
    const names = [...categories].map((category) => CATEGORY_LABELS[category]);
    phrases.push(`nothing at the peak (${names.join(', ')})`);
  }
  if (capacity) {
    phrases.push(`${formatBytes(estimate.capacityBytes)} usable per GPU`);
  }
  if (host && estimate.hostBytesPerNode > 0) {
    phrases.push(`${formatBytes(estimate.hostBytesPerNode)} of host memory per node`);
  }
  return phrases.length === 0 ? 'no effect on the peak' : phrases.join('; ');
}
