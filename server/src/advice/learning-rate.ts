import { Lines } from '../config/lines';
import { eachEntry } from '../config/lookup';
import type { ScalarNode } from '../config/node';
import { parseConfig } from '../config/parse';
import { evenDataParallelSize } from '../run/derive';
import type { TrainingRun } from '../run/fields';
import type { OptimizerName } from '../terms/optimizers';
import { replaceRange } from './write/splice';

/** What the optimizer sees at once, over all GPUs: a global batch that is only stated may not be what is run. */
function samplesPerStep(run: TrainingRun): number | undefined {
  const copies = evenDataParallelSize(run);
  return copies && run['batch.micro'] * run['batch.accumulation'] * copies;
}

/** How the learning rate follows a larger or smaller batch. */
interface LearningRateRule {
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
  const [old, now] = [samplesPerStep(before), samplesPerStep(after)];
  if (old === undefined || now === undefined || old === now) return undefined;
  const ratio = now / old;
  return PLAIN.includes(before['optimizer.name'])
    ? { name: 'linear', factor: ratio, source: 'https://arxiv.org/abs/1706.02677' }
    : { name: 'square root', factor: Math.sqrt(ratio), source: 'https://arxiv.org/abs/2205.10287' };
}

/** The learning rate of a text, where one key states it. */
function stated(
  uri: string,
  text: string,
): { readonly node: ScalarNode; readonly value: number } | undefined {
  const found: { readonly node: ScalarNode; readonly value: number }[] = [];
  eachEntry(parseConfig(uri, text).root, ({ key, value: node }) => {
    if (!/^-{0,2}(learning[_-]rate|lr)$/.test(key) || node.kind !== 'scalar') return;
    const value = Number(node.text);
    if (node.text !== '' && Number.isFinite(value) && value > 0) found.push({ node, value });
  });
  const places = new Set(found.map(({ node }) => JSON.stringify(node.range)));
  return places.size === 1 ? found[0] : undefined;
}

/** Three digits as people write learning rates, with the dot that YAML 1.1 needs: `2.83e-5`, `1.0e-4`. */
export function shownRate(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential(2).split('e');
  const power = Number(exponent);
  const short = String(Number(digits));
  return power < -2 || power > 3
    ? `${short.includes('.') ? short : `${short}.0`}e${power}`
    : String(Number(value.toPrecision(3)));
}

/** A file's text with its learning rate scaled; undefined where no single key states it. */
export function withLearningRate(
  uri: string,
  text: string,
  factor: number,
): { readonly text: string; readonly before: number; readonly after: number } | undefined {
  const rate = stated(uri, text);
  if (!rate) return undefined;
  const after = Number((rate.value * factor).toPrecision(3));
  const lines = new Lines(text);
  const written = text.slice(lines.offset(rate.node.range.start), lines.offset(rate.node.range.end));
  const shown = /e/i.test(rate.node.text) ? shownRate(after) : decimal(after);
  const next = written.replace(rate.node.text, shown);
  if (next === written) return undefined;
  return { text: replaceRange(text, rate.node.range, next), before: rate.value, after };
}

/** Without an exponent. */
function decimal(value: number): string {
  const plain = String(value);
  return /e/.test(plain) ? value.toFixed(12).replace(/0+$/, '') : plain;
}
