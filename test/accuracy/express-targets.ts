import type { Model } from '../../server/src/model/model';
import { lower, NotExpressed, type RowLora } from './row';

/** Module names by what they do, over the naming habits of model code. */
const MODULES = {
  q: ['q_proj', 'query', 'wq', 'q'],
  k: ['k_proj', 'key', 'wk', 'k'],
  v: ['v_proj', 'value', 'wv', 'v'],
  /** One linear for all three. */
  qkv: ['c_attn', 'query_key_value', 'qkv_proj', 'Wqkv', 'W_pack', 'qkv', 'attn.attn'],
  o: [
    'o_proj',
    'self_attention.dense',
    'self_attn.dense',
    'attention.dense',
    'attn.c_proj',
    'attn.out_proj',
    'wo',
  ],
  gate: ['gate_proj', 'w2', 'gate_up_proj', 'w1'],
  up: ['up_proj', 'dense_h_to_4h', 'fc1', 'c_fc', 'w1', 'w3'],
  down: ['down_proj', 'dense_4h_to_h', 'fc2', 'mlp.c_proj'],
  head: ['lm_head', 'embed_out'],
} as const;

type Part = keyof typeof MODULES;

/** What a word of the row means. */
const WORDS: readonly (readonly [RegExp, readonly Part[]])[] = [
  [/^(q|query|q_proj|wq)$/, ['q', 'qkv']],
  [/^(k|key|k_proj|wk)$/, ['k', 'qkv']],
  [/^(v|value|v_proj|wv)$/, ['v', 'qkv']],
  [/^(o|o_proj|out|output|proj|wo)$/, ['o']],
  [/^mlp$/, ['gate', 'up', 'down']],
  [/^(gate|gate_proj)$/, ['gate']],
  [/^(up|up_proj)$/, ['up']],
  [/^(down|down_proj)$/, ['down']],
  [/^(lm_head|head|output_head)$/, ['head']],
  [/^(qkv|c_attn|query_key_value)$/, ['qkv', 'q', 'k', 'v']],
];

/** Modules that get an adapter, in the vocabulary's terms. */
export function loraTargets(lora: RowLora, model: Model): string[] {
  const found: string[] = [];
  const { targets } = lora;
  // A list, or one text such as `q_proj, v_proj`.
  const words = typeof targets === 'string' ? targets.split(/\s*[,;+]\s*/) : (targets ?? []);
  for (const word of words.map((target) => lower(target).trim())) {
    if (/^all[- _]?linear/.test(word)) return ['all-linear'];
    if (/\bmodel default\b|^default$/.test(word) && !/qkv|attn/.test(word)) {
      if (model.loraDefaultTargets.length === 0)
        throw new NotExpressed('the model has no default LoRA targets');
      found.push(...model.loraDefaultTargets);
      continue;
    }
    found.push(...modulesOf(word));
  }
  if (found.length === 0) throw new NotExpressed('the row names no LoRA targets');
  return [...new Set(found)];
}

function modulesOf(word: string): readonly string[] {
  // `c_proj(attn+mlp)`: a module name and where it occurs.
  const both = /^([a-z_\d]+)\s*\((?:attn|attention)\s*\+\s*mlp\)$/.exec(word);
  if (both?.[1]) return [both[1]];
  const plain = word.replace(/\s*\(.*\)$/, '');
  const meaning = WORDS.find(([pattern]) => pattern.test(plain));
  if (meaning) return meaning[1].flatMap((part) => MODULES[part]);
  if (/^[a-z_\d.]+$/.test(plain)) return [plain];
  throw new NotExpressed(`LoRA target "${word}" is not understood`);
}
