import type { Objective } from '../../terms/objectives';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/** One score per sample: how good it is, or how well an answer fits its question. */
const SCORES_ONE: ReadonlySet<Objective> = new Set(['reward', 'multiple-choice']);

interface ClassificationSpec {
  /** Module path of the last linear, for example `score` or `classifier`. */
  readonly name: string;
  readonly labels?: number;
  readonly bias?: boolean;
}

/** Whether a run labels each token, or looks for where an answer begins and ends. */
export function scoresTokens({ settings }: Tracer): boolean {
  return settings.objective === 'token-classification' || settings.objective === 'question-answering';
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
  const own = t.settings.labels ?? spec.labels ?? 2;
  const labels = spec.labels === undefined && SCORES_ONE.has(t.settings.objective) ? 1 : own;
  const scores = t.linear(hidden, { name: spec.name, out: labels, bias: spec.bias, role: 'head' });
  const chosen = scores.shape.length > 2 ? t.slice(scores, [scores.shape[0] ?? 1, labels]) : scores;
  const logProbabilities = t.softmax(chosen, 'loss.log_softmax');
  return t.fused({
    name: 'loss.nll',
    inputs: [logProbabilities],
    outputs: [{ shape: [1], dtype: chosen.dtype }],
  });
}

/** Names of the last linear of either head, and what is dropped out before the one that labels tokens. */
interface TokenHeadSpec {
  readonly classifier: string;
  readonly answer: string;
  readonly dropout: number;
  /** Dropout before the head that looks for an answer, which most have none of. */
  readonly answerDropout?: number;
}

/**
 * A linear on every token `[b, s, h]` and cross-entropy: of each token's label (`*ForTokenClassification`), or over the
 * positions, once for the first token of the answer and once for its last (`*ForQuestionAnswering`).
 */
export function tokenHead(t: Tracer, hidden: Tensor, spec: TokenHeadSpec): Tensor {
  const answers = t.settings.objective === 'question-answering';
  const rate = answers ? (spec.answerDropout ?? 0) : spec.dropout;
  const dropped = t.dropout(hidden, rate, 'head_dropout');
  const name = answers ? spec.answer : spec.classifier;
  const labels = answers ? 2 : (t.settings.labels ?? 2);
  const scores = t.linear(dropped, { name, out: labels, bias: true, role: 'head' });
  const nll = (logits: Tensor, of: string) =>
    t.fused({
      name: `${of}.nll`,
      inputs: [t.softmax(logits, `${of}.log_softmax`)],
      outputs: [{ shape: [1], dtype: logits.dtype }],
    });
  if (!answers) return nll(scores, 'loss');
  const position = (of: string) => nll(t.copy(scores, scores.shape.slice(0, -1), of), `loss.${of}`);
  return t.add(position('start_logits'), position('end_logits'), 'loss');
}
