import type { QuantizationKind } from '../terms/quantizations';
import { findModel } from './catalog';
import type { Model } from './model';
import { checkpointSize, isPartlyQuantized } from './quantized-checkpoints';

/** How weights are stored, as run fields. */
interface Storage {
  readonly 'quantization.kind'?: QuantizationKind;
  readonly 'quantization.bits'?: number;
  readonly 'quantization.partial'?: boolean;
  readonly 'quantization.checkpointBytes'?: number;
}

/** A copy of known weights under another name. */
interface Repackaged {
  readonly model: Model;
  /** How the copy stores its weights, where its name states it. */
  readonly values: Storage;
  /** The end of its name that states it. */
  readonly ending?: string;
}

/** Endings by which copies on hubs say how they are stored. */
const PACKAGINGS: readonly (readonly [ending: RegExp, values: Storage])[] = [
  [/[-_.]gptq[-_]?(?:int)?8(?:[-_]?bits?)?$/i, { 'quantization.kind': 'gptq', 'quantization.bits': 8 }],
  [
    /[-_.](?:gptq(?:[-_]?(?:int)?4(?:[-_]?bits?)?)?|int4)$/i,
    { 'quantization.kind': 'gptq', 'quantization.bits': 4 },
  ],
  [/[-_.]int8$/i, { 'quantization.kind': 'gptq', 'quantization.bits': 8 }],
  [/[-_.]awq(?:[-_]?(?:int)?4(?:[-_]?bits?)?)?$/i, { 'quantization.kind': 'awq' }],
  [/[-_.]aqlm(?:[-_]2bit)?(?:[-_]\d+x\d+)?(?:[-_]hf)?$/i, { 'quantization.kind': 'aqlm' }],
  [/[-_.](?:(?:unsloth|linearized)[-_])?bnb[-_](?:4bit|nf4(?:[-_]bf16)?)$/i, { 'quantization.kind': 'nf4' }],
  [/[-_.]fp8(?:[-_](?:dynamic|block))?$/i, { 'quantization.kind': 'fp8' }],
  [/[-_.](?:bf16|fp16|hf|safetensors|dequantized)$/i, {}],
  // The same weights in smaller files: `falcon-7b-sharded-bf16`, `llama-2-7b-hf-small-shards`.
  [/[-_.]shard(?:s|ed)(?:[-_](?:bf16|fp16|hf))?$/i, {}],
  // LoftQ's bases, which are stored whole, as what so few bits leave of them (peft 0.21.2, `examples/loftq_finetuning/quantize_save_load.py`).
  [/-[248]bit-\d+rank$/i, {}],
  [/[-_.](?:bf16|fp16|small)[-_]shard(?:s|ed)(?:[-_](?:bf16|fp16|hf))?$/i, {}],
];

/** How weights are stored, where the end of a name states it, whatever model they are of. */
export const packagingOf = (name: string): Storage | undefined =>
  PACKAGINGS.find(([ending]) => ending.test(name))?.[1];

/** The type that the name of a copy states of its weights. */
function typeIn(name: string): Model['publishedDtype'] {
  const word = /[-_.](bf16|fp16)(?=[-_.]|$)/i.exec(name)?.[1]?.toLowerCase();
  return word === 'bf16' || word === 'fp16' ? word : undefined;
}

/** The folders that ModelScope downloads into are named after the model with `___` for each dot. modelscope 1.20.1, `hub/utils/utils.py`, `get_model_masked_directory`. */
const ofModelScope = (path: string): string => path.replaceAll('___', '.');

/**
 * The catalog's model that a name is a copy of: the same name from another owner, in a folder, or with an ending that
 * states how the copy is stored. Names that say anything else (what it was fine-tuned on) are not guessed at.
 */
export function findRepackaged(name: string): Repackaged | undefined {
  const path = ofModelScope(name.trim()).replace(/(?<!\/)\/+$/, '');
  // A folder of the Hugging Face cache has the name in its path: `models--Qwen--Qwen2.5-1.5B/snapshots/8faed761...`.
  const cached = /(?:^|\/)models--[\w.-]+?--([\w.-]+)\/snapshots\/\w+$/.exec(path)?.[1];
  const own = cached ?? path.split('/').at(-1) ?? '';
  const owner = path.split('/').at(-2) ?? '';
  for (const [ending, values] of [[/$/, {}] as const, ...PACKAGINGS]) {
    const short = own.replace(ending, '');
    if (short === '' || (short === own && ending.source !== '$')) continue;
    const named = findModel(short) ?? findModel(`${short}-hf`);
    // The same owner may keep the model in another form, such as Unsloth its Phi in layers of Llama.
    const kept = findModel(`${owner}/${short}`);
    const model = kept && kept.modelType !== named?.modelType ? kept : named;
    if (!model) continue;
    const stored = own.slice(short.length);
    const publishedDtype = typeIn(stored) ?? model.publishedDtype;
    return {
      model: publishedDtype === model.publishedDtype ? model : { ...model, publishedDtype },
      values: isPartlyQuantized(own) ? { ...values, ...partOf(own) } : values,
      ...(stored === '' ? {} : { ending: stored }),
    };
  }
  return undefined;
}

/** Some layers of such a copy are in 16 bits: how many, its size tells. */
function partOf(name: string): Storage {
  const size = checkpointSize(name);
  return {
    'quantization.partial': true,
    ...(size ? { 'quantization.checkpointBytes': size.bytes } : {}),
  };
}
