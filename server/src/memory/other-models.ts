import type { TrainingRun } from '../run/fields';
import { DTYPES, type DType } from '../terms/dtypes';
import { formatCount } from '../wording/figures';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { combine, empty, type Ledger, post } from './ledger';
import { SOURCES } from './sources';
import { bytesPer } from './weights';

/** A model that lies on the GPU beside the training, and has no part in it. */
interface OtherModel {
  readonly name: string;
  readonly parameters: number;
  readonly dtype: DType;
  /** What its buffers take beside the parameters. */
  readonly bufferBytes: number;
  /** It comes once the trained model is loaded. */
  readonly later: boolean;
}

const isDtype = (word: unknown): word is DType => DTYPES.some((one) => one === word);
const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

/** The other models of a run; what is no such entry takes nothing. */
export function otherModels(run: Pick<TrainingRun, 'method.otherModels'>): OtherModel[] {
  return Object.entries(run['method.otherModels'] ?? {}).flatMap(([name, entry]) => {
    if (typeof entry !== 'object' || entry === null) return [];
    const { parameters, dtype, bufferBytes, later } = entry as Readonly<Record<string, unknown>>;
    if (!isCount(parameters) || !isDtype(dtype)) return [];
    return [
      {
        name,
        parameters,
        dtype,
        bufferBytes: isCount(bufferBytes) ? bufferBytes : 0,
        later: later === true,
      },
    ];
  });
}

const bytesOf = ({ parameters, dtype, bufferBytes }: OtherModel): number =>
  parameters * bytesPer(dtype) + bufferBytes;

/** Adds what other models take. */
export function postOtherModels(ledger: Ledger, run: TrainingRun): void {
  for (const one of otherModels(run)) postOne(ledger, one);
}

/** What lasts the whole run, without other models that are not there yet while the trained one is loaded. */
export function beforeLaterModels(constant: Ledger, run: TrainingRun): Ledger {
  const all = otherModels(run);
  if (!all.some(({ later }) => later)) return constant;
  const before = combine(constant);
  empty(before, 'other-models');
  for (const one of all) if (!one.later) postOne(before, one);
  return before;
}

function postOne(ledger: Ledger, one: OtherModel): void {
  post(ledger, 'other-models', bytesOf(one), {
    name: one.name,
    formula: elementsWords(one.parameters, bytesPer(one.dtype)),
    source: SOURCES.modules,
  });
}

/** One of them in words. */
export const otherModelWords = ({ name, parameters, dtype }: OtherModel): string =>
  say('{0}: {1} parameters in {2}', name, formatCount(parameters), dtype);
