/** Architecture of a flavour: its name on the Hugging Face Hub, or its sizes. */
type TitanModel = { readonly id: string } | { readonly config: Readonly<Record<string, unknown>> };

/** Llama that torchtitan's tests run (`models/llama3/__init__.py`, `debugmodel`): 2/3 of 4 x 256, rounded up to 256. */
const DEBUG: TitanModel = {
  config: {
    model_type: 'llama',
    hidden_size: 256,
    num_hidden_layers: 6,
    num_attention_heads: 16,
    num_key_value_heads: 16,
    intermediate_size: 768,
    vocab_size: 2048,
    max_position_embeddings: 2048,
    tie_word_embeddings: false,
  },
};

/** Flavours by model, in lower case (torchtitan `models/*\/__init__.py`). */
const FLAVORS: Readonly<Record<string, Readonly<Record<string, TitanModel>>>> = {
  llama3: {
    debugmodel: DEBUG,
    '8b': { id: 'meta-llama/Llama-3.1-8B' },
    '70b': { id: 'meta-llama/Llama-3.1-70B' },
    '405b': { id: 'meta-llama/Llama-3.1-405B' },
  },
  llama2: {
    debugmodel: DEBUG,
    '7b': { id: 'meta-llama/Llama-2-7b-hf' },
    '13b': { id: 'meta-llama/Llama-2-13b-hf' },
    '70b': { id: 'meta-llama/Llama-2-70b-hf' },
  },
  llama: {
    debugmodel: DEBUG,
    '7b': { id: 'huggyllama/llama-7b' },
    '13b': { id: 'huggyllama/llama-13b' },
    '70b': { id: 'meta-llama/Llama-2-70b-hf' },
  },
  llama4: {
    debugmodel: DEBUG,
    '17bx16e': { id: 'meta-llama/Llama-4-Scout-17B-16E' },
    '17bx128e': { id: 'meta-llama/Llama-4-Maverick-17B-128E' },
  },
  qwen3: {
    '0.6b': { id: 'Qwen/Qwen3-0.6B' },
    '1.7b': { id: 'Qwen/Qwen3-1.7B' },
    '4b': { id: 'Qwen/Qwen3-4B' },
    '8b': { id: 'Qwen/Qwen3-8B' },
    '14b': { id: 'Qwen/Qwen3-14B' },
    '32b': { id: 'Qwen/Qwen3-32B' },
    '30b-a3b': { id: 'Qwen/Qwen3-30B-A3B' },
    '235b-a22b': { id: 'Qwen/Qwen3-235B-A22B' },
  },
  deepseek_v3: {
    '16b': { id: 'deepseek-ai/deepseek-moe-16b-base' },
    '236b': { id: 'deepseek-ai/DeepSeek-V2' },
    '671b': { id: 'deepseek-ai/DeepSeek-V3' },
  },
  gpt_oss: { '20b': { id: 'openai/gpt-oss-20b' }, '120b': { id: 'openai/gpt-oss-120b' } },
};

/** The architecture of a model and its flavour; names with a slash are names on the Hub (`transformers` back ends). */
export function titanModel(name: string, flavor: string): TitanModel | undefined {
  if (flavor.includes('/')) return { id: flavor };
  const known = FLAVORS[name.toLowerCase()]?.[flavor.toLowerCase()];
  if (known) return known;
  return flavor.toLowerCase() === 'debugmodel' && !/flux|vlm/.test(name) ? DEBUG : undefined;
}
