import { elementsWords } from '../formula-words';
import { emptyLedger, type Ledger, post } from '../ledger';
import { ledger, NONE } from '../sharding-scheme';
import { SOURCES } from '../sources';
import type { FsdpSettings } from './settings';

/** Bytes with what they are, for explanations. */
export function gatheredLedger(bytes: number, name: string, settings: FsdpSettings): Ledger {
  if (bytes === 0) return NONE;
  const sum = emptyLedger();
  const source = settings.second ? SOURCES.fsdp2 : SOURCES.fsdp1;
  post(sum, 'gathered-parameters', bytes, {
    name,
    formula: elementsWords(bytes / settings.compute, settings.compute),
    source,
  });
  return sum;
}

/** Bytes of a buffer of the reduction, under a name. */
export function bufferedLedger(bytes: number, name: string, settings: FsdpSettings): Ledger {
  if (bytes === 0) return NONE;
  const sum = emptyLedger();
  post(sum, 'communication-buffers', bytes, {
    name,
    formula: elementsWords(bytes / settings.reduce, settings.reduce),
    source: settings.second ? SOURCES.fsdp2 : SOURCES.fsdp1,
  });
  return sum;
}

/** Gradients that are there already and go, or shards that come. */
export function gradedLedger(bytes: number): Ledger {
  return bytes === 0 ? NONE : ledger(['gradients', bytes]);
}
