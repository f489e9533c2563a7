import { nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyProgram, PyScalar, PyValue } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { findModel } from '../../model/catalog';
import { findRepackaged } from '../../model/repackaged';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';

const RESIZES = 'resize_token_embeddings';
const LOADS_TOKENIZER = /(?:Tokenizer(?:Fast)?|Processor)\.from_pretrained$/;
const LARGEST = 2 ** 31;

/**
 * Embeddings, and a head of their own, of another number of tokens (`modeling_utils.py`, `resize_token_embeddings`): those that the code
 * states, or those of a tokenizer. A tokenizer that is loaded by the model's name has about as many as the model.
 */
export function readResized(
  calls: Calls,
  chain: ModelChain,
  on: readonly PyCall[],
  context: ReadContext,
): void {
  const { program, draft } = calls;
  const resized = on.findLast(({ callee }) => callee === RESIZES);
  const count = resized && argumentOf(resized, 'new_num_tokens', 0);
  if (!resized || !count || draft.states('model.changes')) return;
  if (count.kind === 'scalar' && typeof count.value === 'number') {
    const padded = paddedTo(count.value, argumentOf(resized, 'pad_to_multiple_of', 1));
    if (padded !== undefined && hasOwnVocabulary(context))
      draft.state('model.changes', { vocab_size: padded }, { range: count.range }, RESIZES);
    else {
      const words = say(
        '`{0}` makes another model than the one that is named, which is not counted.',
        RESIZES,
      );
      draft.leave('value', { range: count.range }, RESIZES, words, ['model.config']);
    }
    return;
  }
  const [tokenizer, model] = [tokenizerNamed(program, count), nameOf(chain.load) ?? chain.name];
  if (!tokenizer || !model || isOneName(tokenizer, model)) return;
  const [held, own] = [vocabularyOf(tokenizer), context.model?.config?.vocab_size ?? vocabularyOf(model)];
  if (held !== undefined && held === own) return;
  if (held !== undefined && own !== undefined && hasOwnVocabulary(context)) {
    const note = say('as many tokens as `{0}` has', String(tokenizer.value));
    draft.state('model.changes', { vocab_size: held }, { range: tokenizer.range }, RESIZES, note, true);
    return;
  }
  const words = say(
    'The embeddings get as many rows as the tokenizer of `{0}` has tokens, which is another than that of the model and not known: give it by `model.changes`, such as {1}.',
    String(tokenizer.value),
    '`{"vocab_size": 50000}`',
  );
  draft.leave('value', { range: count.range }, RESIZES, words, ['model.changes']);
}

/** The number that embeddings get; undefined where what it is filled up to is not known. */
function paddedTo(count: number, multiple: PyValue | undefined): number | undefined {
  const of = multiple === undefined ? 1 : multiple.kind === 'scalar' ? (multiple.value ?? 1) : undefined;
  const isCount = Number.isInteger(count) && count > 0 && count < LARGEST;
  return typeof of === 'number' && of > 0 && isCount ? Math.ceil(count / of) * of : undefined;
}

/** Whether the model's config states its vocabulary itself, not that of a model inside it. */
const hasOwnVocabulary = ({ model }: ReadContext): boolean =>
  model === undefined || typeof model.config?.vocab_size === 'number';

/** What names the tokenizer that a number of tokens is of: `len(tokenizer)`, `tokenizer.vocab_size`. */
function tokenizerNamed({ calls }: PyProgram, count: PyValue): PyScalar | undefined {
  if (count.kind !== 'unknown') return undefined;
  const id = count.countOf ?? (/^(?:tokenizer\.)?vocab_size$/.test(count.path ?? '') ? count.of : undefined);
  const load = id === undefined ? undefined : calls[id];
  return load && LOADS_TOKENIZER.test(load.callee) ? nameOf(load) : undefined;
}

function nameOf(load: PyCall | undefined): PyScalar | undefined {
  const name = load && argumentOf(load, 'pretrained_model_name_or_path', 0);
  return name?.kind === 'scalar' && textOf(nodeOf(name)) !== undefined ? name : undefined;
}

const spelled = ({ value }: PyScalar): string => String(value).trim().replace(/\/+$/, '').toLowerCase();
const isOneName = (a: PyScalar, b: PyScalar): boolean => spelled(a) === spelled(b);

/** How many tokens the model of a name has, where it is a published one, or a copy of one by its name. */
function vocabularyOf({ value }: PyScalar): number | undefined {
  const name = String(value);
  return (findModel(name) ?? findRepackaged(name)?.model)?.vocabulary;
}
