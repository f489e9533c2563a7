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
