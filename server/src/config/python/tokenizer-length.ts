import type { Machine } from './machine';
import type { PyObject } from './value';

/**
 * How many tokens published tokenizers have, `len(tokenizer)`: the `vocab_size` of the `config.json` of the models that were trained with
 * them, where that has no room to spare. The course's own is that of `huggingface-course/codeparrot-ds`; its chapter 7 prints 124.2 million
 * parameters for GPT-2 with 50,000 tokens, 124.4 with GPT-2's 50,257.
 */
const TOKENS: Readonly<Record<string, number>> = {
  gpt2: 50257,
  'openai-community/gpt2': 50257,
  distilgpt2: 50257,
  'bert-base-uncased': 30522,
  'google-bert/bert-base-uncased': 30522,
  'bert-base-cased': 28996,
  'google-bert/bert-base-cased': 28996,
  'distilbert-base-uncased': 30522,
  'roberta-base': 50265,
  'FacebookAI/roberta-base': 50265,
  'huggingface-course/code-search-net-tokenizer': 50000,
};

/** Methods that make a tokenizer longer. */
const GROWS = /^add_(?:special_)?tokens$/;

/** How many tokens the tokenizer has that a call has loaded; undefined where it is not known, or may have been given more. */
export function tokenizerLength(machine: Machine, tokenizer: PyObject): number | undefined {
  const load = machine.calls[tokenizer.id];
  if (tokenizer.item !== undefined || !load || !/Tokenizer(?:Fast)?\.from_pretrained$/.test(load.callee))
    return undefined;
  const [name] = load.positional;
  // A token of a new name is one more.
  const isGiven = [
    ...(machine.attributes.get(load.id)?.values() ?? []),
    ...load.named.map(({ value }) => value),
  ];
  const grows =
    machine.calls.some(({ of, callee }) => of?.id === load.id && GROWS.test(callee)) ||
    isGiven.some((value) => value.kind === 'scalar' && typeof value.value === 'string');
  if (grows || name?.kind !== 'scalar' || typeof name.value !== 'string') return undefined;
  return Object.hasOwn(TOKENS, name.value) ? TOKENS[name.value] : undefined;
}
