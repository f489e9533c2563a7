import { l10n } from 'vscode';
import type { KnownConfig } from '../../server/src/shared/protocol';
import { formatBytesOf, joinWords, verdictAt } from '../../server/src/shared/words';
import { type JudgedRun, verdictSign } from './verdict-sign';

/** A config in a list, with the icon of its verdict. */
export function knownConfigLabel(config: JudgedRun & Pick<KnownConfig, 'name'>): string {
  return `$(${verdictSign(config)}) ${config.name}`;
}

/** How a config comes out: `51.0 of 79.1 GiB, fits`, or what is missing. */
export function knownConfigText(config: KnownConfig): string {
  const { verdict, peakBytes, capacityBytes, missing } = config;
  if (peakBytes !== undefined && capacityBytes !== undefined)
    return `${formatBytesOf(peakBytes, capacityBytes)}, ${verdictAt(verdict, peakBytes, capacityBytes)}`;
  return missing.length > 0 ? l10n.t('needs {0}', joinWords(missing)) : l10n.t('not estimated');
}
