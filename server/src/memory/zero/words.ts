import type { TrainingRun } from '../../run/fields';
import type { SchemeWords } from '../sharding-scheme';
import { SOURCES } from '../sources';

/** What explanations of DeepSpeed's parts follow. */
export function zeroWords(run: TrainingRun): SchemeWords {
  return {
    gathers: SOURCES.zeroParameters,
    reduces: run['zero.stage'] === 3 ? SOURCES.zero3 : SOURCES.zero12,
    bucket: run['zero.reduceBucket'],
    flat: 'partitions',
  };
}
