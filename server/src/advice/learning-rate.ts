import { eachEntry } from '../config/lookup';
import { numberOf } from '../config/scalar';
import type { OptimizerName, TrainingRun } from '../run/fields';
import { setKey } from './write/set-key';
import type { SourceFile } from './write/source-file';

/** How the learning rate follows a larger or smaller batch. */
export interface LearningRateRule {
  readonly name: 'linear' | 'square root';
  readonly factor: number;
  readonly source: string;
}

const PLAIN: readonly OptimizerName[] = ['sgd', 'sgd-momentum', 'sgd-8bit', 'sgd-32bit', 'lars'];

/**
 * Linear for SGD (arXiv 1706.02677, section 2.1), square root for Adam and its kin (arXiv 2205.10287). Undefined where the
 * global batch stays.
 */
export function learningRateRule(before: TrainingRun, after: TrainingRun): LearningRateRule | undefined {
  const [old, now] = [before['batch.global'], after['batch.global']];
  if (old === undefined || now === undefined || old === now) return undefined;
  const ratio = now / old;
  return PLAIN.includes(before['optimizer.name'])
    ? { name: 'linear', factor: ratio, source: 'https://arxiv.org/abs/1706.02677' }
    : { name: 'square root', factor: Math.sqrt(ratio), source: 'https://arxiv.org/abs/2205.10287' };
}

/** The learning rate of a file, where one key states it. */
function stated({
  document,
}: SourceFile): { readonly path: readonly string[]; readonly value: number } | undefined {
  const found: { readonly path: readonly string[]; readonly value: number }[] = [];
  eachEntry(document.root, ({ key, value }, path) => {
    if (!/^-{0,2}(learning[_-]rate|lr)$/.test(key)) return;
    const number = value.kind === 'scalar' ? (numberOf(value) ?? Number(value.text)) : Number.NaN;
    if (Number.isFinite(number) && number > 0) found.push({ path, value: number });
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Three digits, as people write learning rates: `2.83e-5`. */
export function shownRate(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential(2).split('e');
  const power = Number(exponent);
  const short = String(Number(digits));
  return power < -2 || power > 3 ? `${short}e${power}` : String(Number(value.toPrecision(3)));
}

/** A file's text with its learning rate scaled; undefined where no single key states it. */
export function withLearningRate(
  file: SourceFile,
  text: string,
  factor: number,
): { readonly text: string; readonly before: number; readonly after: number } | undefined {
  const rate = stated(file);
  if (!rate) return undefined;
  const after = Number((rate.value * factor).toPrecision(3));
  const next = setKey(text, file.document.format, rate.path, after);
  return next === undefined || next === text ? undefined : { text: next, before: rate.value, after };
}
