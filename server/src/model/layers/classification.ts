import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

interface ClassificationSpec {
  /** Module path of the last linear, for example `score` or `classifier`. */
  readonly name: string;
  readonly labels?: number;
  readonly bias?: boolean;
}

/** Whether a run scores sequences instead of tokens. */
export function classifies({ settings }: Tracer): boolean {
  return settings.objective === 'classification' || settings.objective === 'reward';
}

/**
 * A linear to a handful of labels and its cross-entropy. `hidden` is `[b, s, h]` for decoders, which score every token
 * and read the last one, or `[b, h]`. transformers' default is two labels, reward models have one.
 */
export function classificationHead(t: Tracer, hidden: Tensor, spec: ClassificationSpec): Tensor {
  const labels = spec.labels ?? (t.settings.objective === 'reward' ? 1 : 2);
  const scores = t.linear(hidden, { name: spec.name, out: labels, bias: spec.bias, role: 'head' });
  const chosen = scores.shape.length > 2 ? t.slice(scores, [scores.shape[0] ?? 1, labels]) : scores;
  const logProbabilities = t.softmax(chosen, 'loss.log_softmax');
  return t.fused({
    name: 'loss.nll',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: chosen.dtype }],
  });
}
