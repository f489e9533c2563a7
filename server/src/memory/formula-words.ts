import { formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import { isJournaled } from './ledger';

/** `1,234,567 B`: bytes to the last. */
export function bytesWords(bytes: number): string {
  return `${formatInteger(bytes)} ${say('B')}`;
}

/**
 * `2 B x 500,000,000 elements`: so many elements of that width in bytes. A formula for the journal: nothing where none is
 * kept, as every step would pay for it.
 */
export function elementsWords(elements: number, width: number): string {
  if (!isJournaled()) return '';
  return say('{0} B × {1} {1|element|elements}', width, Math.round(elements));
}

/** `4 samples x 1024 tokens x 2 B`: what there is of each token, of that width in bytes. */
export function tokensWords(samples: number, tokens: number, width: number): string {
  return say(
    '{0} {0|sample|samples} × {1} {1|token|tokens} × {2} B',
    String(samples),
    String(tokens),
    String(width),
  );
}
