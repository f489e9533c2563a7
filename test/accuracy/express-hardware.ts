import type { Accelerator } from '../../server/src/hardware/accelerator';
import { matchAccelerator } from '../../server/src/hardware/catalog';
import type { RunValues } from '../../server/src/run/fields';
import { lower, type MeasuredRow } from './row';

/**
 * The row's card. Of the card only its generation matters (library workspaces): where the row does not name one, or one
 * that the catalog lacks, an Ampere card of 80 GB stands for it.
 */
export function accelerator(row: MeasuredRow): Accelerator {
  const text = lower(row.device)
    .replace(/\(.*\)/, '')
    .replace(/\?/g, '')
    .trim();
  const names = [
    text,
    text.replace(/-?\d+\s*gb$/, ''),
    /\b([abhlv]\d{2,3}|mi\d{3}x?|rtx ?\d{4})/.exec(text)?.[0] ?? '',
  ];
  for (const name of names) {
    const match = name === '' ? undefined : matchAccelerator(name);
    if (match) return match.accelerator;
  }
  const fallback = matchAccelerator('A100-SXM4-80GB');
  if (!fallback) throw new Error('the catalog has no A100');
  return fallback.accelerator;
}

/** Memory that the row states where the catalog's card has another: as much of it is usable as of that one. */
export function memory(row: MeasuredRow, card: Accelerator): RunValues {
  const stated = Number(/(\d+)\s*gb\b/.exec(lower(row.device))?.[1] ?? Number.NaN);
  if (!Number.isFinite(stated) || stated === card.marketedGb) return {};
  return { 'hardware.gpuMemory': Math.round((card.usableBytes * stated) / card.marketedGb) };
}

/**
 * torchtitan's launch script sets expandable segments (`run_train.sh`, `run_llama_train.sh`); ROCm's allocator of those
 * years ignored them with a warning.
 */
export function allocator(row: MeasuredRow): RunValues {
  const set = /torchtitan/.test(lower(row.framework)) && !/\bmi\d/.test(lower(row.device));
  return set ? { 'allocator.expandableSegments': true } : {};
}
