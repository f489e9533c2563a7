import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/** `MODEL_PRESETS` of Ludwig (`schema/llms/base_model.py`). */
const PRESETS: Readonly<Record<string, string>> = {
  'bloomz-3b': 'bigscience/bloomz-3b',
  'bloomz-7b1': 'bigscience/bloomz-7b1',
  'codellama-7b': 'codellama/CodeLlama-7b-hf',
  'codellama-13b': 'codellama/CodeLlama-13b-hf',
  'codellama-34b': 'codellama/CodeLlama-34b-hf',
  'codellama-7b-instruct': 'codellama/CodeLlama-7b-instruct-hf',
  'codellama-13b-instruct': 'codellama/CodeLlama-13b-instruct-hf',
  'codellama-34b-instruct': 'codellama/CodeLlama-34b-instruct-hf',
  'gpt-neo-2.7B': 'EleutherAI/gpt-neo-2.7B',
  'gpt-j-6b': 'EleutherAI/gpt-j-6b',
  'llama-2-7b': 'meta-llama/Llama-2-7b-hf',
  'llama-2-13b': 'meta-llama/Llama-2-13b-hf',
  'llama-2-70b': 'meta-llama/Llama-2-70b-hf',
  'llama-2-7b-chat': 'meta-llama/Llama-2-7b-chat-hf',
  'llama-2-13b-chat': 'meta-llama/Llama-2-13b-chat-hf',
  'llama-2-70b-chat': 'meta-llama/Llama-2-70b-chat-hf',
  'mistral-7b': 'mistralai/Mistral-7B-v0.1',
  'mistral-7b-instruct': 'mistralai/Mistral-7B-Instruct-v0.1',
  'mixtral-8x7b': 'mistralai/Mixtral-8x7B-v0.1',
  'mixtral-8x7b-instruct': 'mistralai/Mixtral-8x7B-Instruct-v0.1',
  'opt-350m': 'facebook/opt-350m',
  'opt-1.3b': 'facebook/opt-1.3b',
  'opt-6.7b': 'facebook/opt-6.7b',
  'pythia-2.8b': 'EleutherAI/pythia-2.8b',
  'pythia-12b': 'EleutherAI/pythia-12b',
  'vicuna-7b': 'lmsys/vicuna-7b-v1.3',
  'vicuna-13b': 'lmsys/vicuna-13b-v1.3',
  'zephyr-7b-alpha': 'HuggingFaceH4/zephyr-7b-alpha',
  'zephyr-7b-beta': 'HuggingFaceH4/zephyr-7b-beta',
  'phi-1': 'microsoft/phi-1',
  'phi-1_5': 'microsoft/phi-1_5',
  'phi-2': 'microsoft/phi-2',
};

/** A preset stands for a model of the Hub; other names are those of the Hub, or folders. */
export function baseModelName(node: ConfigNode): string | undefined {
  const name = textOf(node);
  return name !== undefined && Object.hasOwn(PRESETS, name) ? PRESETS[name] : name;
}
