/** Kinds of adapters. */
export const ADAPTERS = [
  'lora',
  'adalora',
  'vera',
  'vblora',
  'fourierft',
  'loha',
  'lokr',
  'oft',
  'boft',
  'miss',
  'ia3',
  'ln-tuning',
  'prompt-tuning',
  'prefix-tuning',
  'p-tuning',
  'llama-adapter',
  'llama-adapter-v2',
] as const;
export type AdapterKind = (typeof ADAPTERS)[number];

/** Those that have a rank, or a number of frequencies in its place (`tuners/<kind>/config.py` of peft 0.21). */
export const RANKED_ADAPTERS: ReadonlySet<AdapterKind> = new Set([
  'lora',
  'adalora',
  'vera',
  'vblora',
  'fourierft',
  'loha',
  'lokr',
  'miss',
]);
