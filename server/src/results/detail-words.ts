import {
  decimal,
  formatBytes,
  formatCount,
  formatFlops,
  formatInteger,
  significant,
} from '../wording/figures';
import { say } from '../wording/say';
import type { DetailNode, Unit } from './detail-node';
import { formatDuration, formatUsd } from './time-labels';

/** The value of an opened figure as people read it. */
export function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case 'bytes':
      return formatBytes(value);
    case 'FLOP':
      return formatFlops(value);
    case 'parameters':
      return formatCount(value);
    case 'tokens':
      return value < 100 && !Number.isInteger(value) ? decimal(value, 1) : formatInteger(value);
    case 'seconds':
      return formatDuration(value);
    case 'tokens/s':
      return say('{0} tokens/s', formatInteger(value));
    case 'kWh':
      return `${value < 100 ? significant(value, 2) : formatInteger(value)} ${say('kWh')}`;
    case 'USD':
      return formatUsd(value);
  }
}

/** Names that a person may call a figure by: capitals, dashes and spaces do not matter. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * The figure of that name, in English or as it is stated: a whole one first, else the first of that name inside them, as deep
 * as need be.
 */
export function figureCalled(name: string, figures: readonly DetailNode[]): DetailNode | undefined {
  const wanted = [plain(name), plain(say(name))];
  let level = figures;
  while (level.length > 0) {
    const found = level.find((node) => wanted.includes(plain(node.name)));
    if (found) return found;
    level = level.flatMap((node) => node.children ?? []);
  }
  return undefined;
}
