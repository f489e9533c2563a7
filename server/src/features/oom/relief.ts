import { type Estimated, tryChanges } from '../../advice/changed-run';
import { fixesFor } from '../../advice/fixes';
import { movesOf } from '../../advice/moves';
import { trainingTakes } from '../../advice/training-takes';
import type { World } from '../../advice/world';
import type { Verdict } from '../../results/estimate';
import { outcomeLabel } from '../../results/labels';
import type { RunValues } from '../../run/fields';
import { formatBytes } from '../../wording/figures';
import { say } from '../../wording/say';
import type { Diagnosis } from './diagnose';

/** A change of the run, with what it does to the peak. Bytes of one GPU. */
export interface Relief {
  readonly title: string;
  readonly verdict: Verdict;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  /** Of the run's fields. */
  readonly changes: RunValues;
  /** Its title, where it is a fix that is written and read again. */
  readonly fix?: string;
}

const MOST = 6;

/**
 * Changes that would have made room: fixes of the run, each written, read again and fitting, where the config names the card
 * of the message; else single changes that lower the peak by at least what was missing, each with the verdict for that card.
 */
export async function reliefOf(
  diagnosis: Diagnosis,
  analysis: Estimated,
  world: World,
): Promise<readonly Relief[]> {
  const { verdict } = analysis.estimate;
  const { expected, message } = diagnosis;
  if (!expected?.otherCard && (verdict === 'exceeds' || verdict === 'tight')) {
    const fixes = await fixesFor(analysis, world);
    if (fixes.length > 0) return fixes.slice(0, MOST).map((fix) => ({ ...fix, fix: fix.title }));
  }
  const { torch } = message;
  const card: RunValues =
    expected?.otherCard && torch?.total ? { 'hardware.gpuMemory': torch.total.bytes } : {};
  const missing = Math.max(1, (torch?.requested.bytes ?? 0) - (torch?.free?.bytes ?? 0));
  const before = (expected?.estimate ?? analysis.estimate).peak.processBytes;
  const kinds = new Set<string>();
  const found: (Relief & { readonly price: number })[] = [];
  for (const { kind, name, changes, fields, price } of movesOf(analysis)) {
    // Another card than that of the message is no change of the run.
    if (kinds.has(kind) || changes['hardware.gpu'] !== undefined) continue;
    if (!trainingTakes(analysis, changes, fields)) continue;
    const after = tryChanges(analysis, { ...card, ...changes })?.estimate;
    if (!after || before - after.peak.processBytes < missing) continue;
    kinds.add(kind);
    const { processBytes: afterBytes } = after.peak;
    const title = `${name}: ${say('{0} → {1} by the estimate', formatBytes(before), formatBytes(afterBytes))}, ${outcomeLabel(after)}`;
    found.push({ title, verdict: after.verdict, beforeBytes: before, afterBytes, changes, price });
  }
  const rank = ({ verdict: own }: Relief) => (own === 'fits' ? 0 : own === 'tight' ? 1 : 2);
  return found.sort((a, b) => rank(a) - rank(b) || a.price - b.price).slice(0, MOST);
}
