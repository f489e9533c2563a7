import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/** Names of litgpt (`config.py`) that are not those of the Hub. */
const NAMES: Readonly<Record<string, string>> = {
  'tiny-llama-1.1b': 'TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T',
  'tiny-llama-1.1b-chat': 'TinyLlama/TinyLlama-1.1B-Chat-v1.0',
};

/** `checkpoints/meta-llama/Meta-Llama-3-8B` holds the model of that name. */
export function modelName(node: ConfigNode): string | undefined {
  const path = textOf(node);
  if (path === undefined) return undefined;
  const known = NAMES[path];
  if (known) return known;
  const parts = path
    .replace(/(?<!\/)\/+$/, '')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return parts[0] === 'checkpoints' && parts.length === 3 ? parts.slice(1).join('/') : path;
}
