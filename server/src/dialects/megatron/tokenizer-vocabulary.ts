import { findModel } from '../../model/catalog';
import { say } from '../../wording/say';

/** Size of a vocabulary, and who states it. */
export interface TokenizerVocabulary {
  readonly size: number;
  readonly note: string;
}

/** Tokenizer types whose vocabulary does not depend on a file (Megatron `core/tokenizers`, GPT-NeoX `tokenizer.py`). */
const BY_TYPE: Readonly<Record<string, number>> = {
  gpt2bpetokenizer: 50257,
  hfgpt2tokenizer: 50257,
  gpt2: 50257,
  llama2tokenizer: 32000,
  llama3tokenizer: 128256,
  bertwordpiecelowercase: 30522,
  bertwordpiececase: 29096,
  charleveltokenizer: 512,
};

/** Tokenizers by the names of their files and repositories: entries of their vocabularies, not rows of a model's embedding. */
const BY_NAME: readonly (readonly [pattern: RegExp, size: number])[] = [
  [/gpt2[^/]*\.(json|model)$|^gpt2$|openai-community\/gpt2/i, 50257],
  [/20b_tokenizer|pythia|gpt-neox-20b/i, 50277],
  [/nemotron_2_256k|nemotron[-_]4|minitron|multimodal.*256k/i, 256000],
  [/llama-?_?(3|31|32|33)(\.\d)?(?!\d)/i, 128256],
  [/llama-?_?2|open_?llama|tinyllama/i, 32000],
  [/codellama|code-llama/i, 32016],
  [/mixtral|mistral-7b-(instruct-)?v0\.[12]|zephyr/i, 32000],
  [/mistral-7b-(instruct-)?v0\.3/i, 32768],
  [/mistral-nemo/i, 131072],
  [/qwen3/i, 151669],
  [/qwen2\.5|qwen-2\.5/i, 151665],
  [/qwen2|qwen1\.5/i, 151646],
  [/deepseek-(v3|r1)(?!-distill)/i, 128815],
  [/gemma/i, 256000],
  [/bert-(base|large)-uncased/i, 30522],
  [/bloom/i, 250680],
  [/starcoder2/i, 49152],
  [/gpt-oss/i, 200019],
];

/** `--tiktoken` vocabularies end at a power of two (`tiktoken_tokenizer.py`, `DEFAULT_TIKTOKEN_MAX_VOCAB`). */
const TIKTOKEN = 2 ** 17;

/**
 * Entries of a tokenizer's vocabulary, before padding: from its type where that settles it, else from the name of its file
 * or repository. Undefined where neither is known.
 */
export function vocabularyOf(
  type: string | undefined,
  model: string | undefined,
): TokenizerVocabulary | undefined {
  const kind = type?.toLowerCase();
  const byType = kind !== undefined && Object.hasOwn(BY_TYPE, kind) ? BY_TYPE[kind] : undefined;
  if (byType !== undefined) return { size: byType, note: say('vocabulary of {0}', String(type)) };
  if (model !== undefined && model !== '') {
    const known = BY_NAME.find(([pattern]) => pattern.test(model));
    if (known) return { size: known[1], note: say('vocabulary of the tokenizer {0}', model) };
    const published = findModel(model);
    if (published) return { size: published.vocabulary, note: say('embedding of {0}', model) };
  }
  if (kind === 'tiktokenizer')
    return { size: TIKTOKEN, note: say('largest vocabulary of the tiktoken tokenizer') };
  return undefined;
}

/** Rows of the embedding: the vocabulary up to a multiple (`build_tokenizer.py`, `vocab_size_with_padding`). */
export function paddedVocabulary(size: number, multiple: number, tensorParallel: number): number {
  const unit = Math.max(1, multiple) * Math.max(1, tensorParallel);
  return Math.ceil(size / unit) * unit;
}
