import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { flagOf } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import { samplesIn } from './data-rows';

const SOURCE = fileIn(TRANSFORMERS, 'src/transformers/trainer.py');
const KEY = 'compute_metrics';
/** In place of what the model's config leaves out, its cache among it (`prediction_step`). */
const LEFT_OUT = 'ignore_keys_for_eval';
const SMALLER = 'preprocess_logits_for_metrics';

/**
 * What gives scores of every token, frame or pixel: those of whole samples are few numbers however many samples there are. An encoder before
 * a decoder hands over states of every token whatever is scored, which are kept with the scores.
 */
const SCORES_MUCH: ReadonlySet<unknown> = new Set(['lm', 'ctc', 'segmentation']);

/**
 * What an evaluation keeps for metrics (`evaluation_loop`): with `compute_metrics` what the model returns of each batch is gathered on the GPU,
 * batch after batch, until `eval_accumulation_steps` batches or all of them go to the host. How many samples are evaluated the text seldom shows.
 */
export function readKeptPredictions(
  { draft, program }: Calls,
  trainer: PyCall,
  config: PyCall | undefined,
  { model }: ReadContext,
): void {
  const given = (name: string) => {
    const value = argumentOf(trainer, name);
    return value !== undefined && !isNone(value) ? value : undefined;
  };
  const isOn = (key: string) => flagOf(config && knownNode(argumentOf(config, key))) === true;
  const metrics = given(KEY);
  if (!metrics || isOn('prediction_loss_only') || draft.valueOf('evaluation.enabled') !== true) return;
  const smaller = given(SMALLER);
  const scoresMuch = SCORES_MUCH.has(draft.valueOf('method.objective') ?? 'lm');
  if (!scoresMuch && (!model?.decoder || smaller)) return;
  const starts = program.calls.find(({ callee, of }) => of?.id === trainer.id && callee === 'train');
  const left = starts && argumentOf(starts, LEFT_OUT);
  if (left && !isNone(left)) {
    const words = say(
      '`{0}` decides what the evaluation keeps of what the model returns: it is not read.',
      LEFT_OUT,
    );
    draft.leave('value', left, LEFT_OUT, words, ['evaluation.predictions', 'evaluation.samples']);
    return;
  }
  if (isOn('predict_with_generate')) draft.state('evaluation.predictions', 'tokens', metrics, KEY);
  else if (smaller)
    draft.assume(
      'evaluation.predictions',
      'tokens',
      say('`{0}` is taken to leave one number of each position', SMALLER),
      SOURCE,
      SMALLER,
    );
  else draft.state('evaluation.predictions', 'logits', metrics, KEY);
  const data = given('eval_dataset');
  const samples = samplesIn(program, data);
  if (data && samples !== undefined && !draft.knows('evaluation.samples'))
    draft.infer('evaluation.samples', samples, say('samples of `{0}`', 'eval_dataset'), data, 'eval_dataset');
  if (draft.knows('evaluation.accumulation') || draft.knows('evaluation.samples')) return;
  const words = say(
    '`{0}` has the evaluation keep what the model returns of every sample on the GPU: how many samples there are is not known.',
    KEY,
  );
  draft.leave('value', metrics, KEY, words, ['evaluation.samples']);
}
