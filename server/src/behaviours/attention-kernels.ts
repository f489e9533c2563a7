import { isAtLeast } from '../terms/version';

type Span = readonly [since: string, until: string | null];

interface KernelsFile {
  /** Releases of transformers without a kernel, by model type. */
  readonly sdpa: Readonly<Record<string, readonly Span[]>>;
  readonly flash: Readonly<Record<string, readonly Span[]>>;
}

/** `_supports_sdpa` came with this release. */
const CHOOSES_SDPA = '4.36';
/** Classes whose attention called SDPA before, by the first release that has them (`modeling_falcon.py`, `modeling_idefics.py`). */
const CALLED_SDPA: Readonly<Record<string, string>> = { falcon: '4.31', idefics: '4.32' };
/** Models whose code comes with them alone: no release of transformers decides over their attention. */
const OF_THEIR_OWN = /^(?:chatglm|qwen|baichuan|internlm2?|aquila|xverse)$/;

/** Whether transformers chooses SDPA for no model, whichever it is. */
export const precedesSdpa = (release: string | undefined): boolean =>
  isAtLeast(release, CHOOSES_SDPA) === false;

/** Whether transformers had no SDPA for any class of today, but those that called it themselves. */
export function predatesSdpa(modelType: string, release: string | undefined): boolean {
  if (isAtLeast(release, CHOOSES_SDPA) !== false || OF_THEIR_OWN.test(modelType)) return false;
  const called = Object.hasOwn(CALLED_SDPA, modelType) ? CALLED_SDPA[modelType] : undefined;
  return called === undefined || isAtLeast(release, called) === false;
}

/** FlashAttention 2 came with this release for the first of these, and with the next for the others (`_supports_flash_attn_2`). */
const FIRST_FLASH = /^(?:llama|mistral|falcon)$/;
const SECOND_FLASH = /^(?:llama|mistral|falcon|bart|mbart|whisper|gpt_bigcode)$/;

function predatesFlash(modelType: string, release: string | undefined): boolean {
  if (isAtLeast(release, CHOOSES_SDPA) !== false || OF_THEIR_OWN.test(modelType)) return false;
  if (isAtLeast(release, '4.34') === false) return true;
  return !(isAtLeast(release, '4.35') === false ? FIRST_FLASH : SECOND_FLASH).test(modelType);
}

/**
 * Whether transformers has no SDPA, or no FlashAttention 2, for models of a type: SDPA that nobody asks for is the eager attention then, and
 * what is asked for is refused (`modeling_utils.py`, `get_correct_attn_implementation`). `release` is that of transformers; the newest where it
 * is not known. Types that transformers does not have are taken to have all.
 */
export function lacksKernel(
  kernel: 'sdpa' | 'flash',
  modelType: string,
  release: string | undefined,
): boolean {
  if (kernel === 'sdpa' ? predatesSdpa(modelType, release) : predatesFlash(modelType, release)) return true;
  // `require` keeps the table out of the start-up path: the bundler evaluates it at the first call.
  const file = require('../../data/attention-kernels.json') as KernelsFile;
  const spans = Object.hasOwn(file[kernel], modelType) ? (file[kernel][modelType] ?? []) : [];
  return spans.some(
    ([since, until]) =>
      isAtLeast(release, since) !== false && (until === null || isAtLeast(release, until) === false),
  );
}

/** The type of the model that reads and writes text: of several in one config that of the language model. */
export function languageType({
  model_type: type,
  text_config: text,
}: Readonly<Record<string, unknown>>): string {
  const own =
    typeof text === 'object' && text !== null
      ? (text as { readonly model_type?: string }).model_type
      : undefined;
  return own ?? String(type);
}
