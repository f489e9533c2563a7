import { isAtLeast } from '../terms/version';

type Span = readonly [since: string, until: string | null];

interface KernelsFile {
  /** Releases of transformers without a kernel, by model type. */
  readonly sdpa: Readonly<Record<string, readonly Span[]>>;
  readonly flash: Readonly<Record<string, readonly Span[]>>;
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
