import type { Model } from '../../server/src/model/model';
import type { RunValues } from '../../server/src/run/fields';
import type { OptimizerName } from '../../server/src/terms/optimizers';
import { loss } from './express-loss';
import { loraTargets } from './express-targets';
import { lower, type MeasuredRow, NotExpressed } from './row';
import { before, torchVersion } from './versions';

/** Whose model code runs. */
export function codeOf(row: MeasuredRow): NonNullable<RunValues['model.code']> {
  const framework = lower(row.framework);
  if (/lit-?gpt/.test(framework)) return 'litgpt';
  if (/torchtune/.test(framework)) return 'torchtune';
  if (/torchtitan/.test(framework)) return 'torchtitan';
  if (/megatron|nemo/.test(framework)) return 'megatron';
  if (/timm/.test(framework)) return 'timm';
  return 'transformers';
}

/** What is trained on which batches, and how. */
export function training(row: MeasuredRow, model: Model): RunValues {
  return {
    'model.code': codeOf(row),
    ...batch(row),
    ...attention(row),
    ...checkpointing(row, model),
    ...loss(row),
    ...optimizer(row),
    'kernels.compile': row.compile ?? false,
    ...kernels(row),
  };
}

/** Kernels in place of the model's own operators: a row that names those of the loss alone states nothing of the others. */
function kernels(row: MeasuredRow): RunValues {
  const text = `${lower(row.framework)}; ${lower(row.loss_impl)}; ${lower(row.attention_impl)}; ${lower(row.notes)}`;
  if (/\b(no|without|not) (the )?liger/.test(text)) return {};
  const all =
    /liger[- _]kernels?\b|use_liger|autoliger|apply_liger|liger \((?=[^)]*(rms|swiglu|rope|geglu))/.test(
      text,
    );
  return all ? { 'kernels.liger': true } : {};
}

/** Tokens of the longest sample: what the row states about it, else the configured length. */
function tokens(row: MeasuredRow): number {
  const configured = row.seq_len;
  const effective = row.effective_max_tokens_per_sample;
  const text = lower(typeof effective === 'number' ? String(effective) : effective);
  if (/unknown|so far/.test(text)) throw new NotExpressed('the longest sample is not known');
  const stated = /^\s*(?:<=|~|exactly|about)?\s*(\d+)/.exec(text)?.[1];
  const length = stated ? Number(stated) : configured;
  if (!length) throw new NotExpressed('the row gives no sequence length');
  return configured ? Math.min(length, configured) : length;
}

function batch(row: MeasuredRow): RunValues {
  if (!row.micro_batch) throw new NotExpressed('the row gives no micro batch');
  const parts = microBatches(row);
  return {
    'batch.micro': Math.max(1, Math.floor(row.micro_batch / parts)),
    'batch.accumulation': (row.grad_accum ?? 1) * parts,
    'batch.sequence': tokens(row),
    'batch.packed': isPacked(row),
    ...lengths(row),
  };
}

function isPacked(row: MeasuredRow): boolean {
  const text = lower(row.packing);
  // Without padding the samples of a batch follow each other in one sequence.
  if (/^padding[- ]?free/.test(text)) return true;
  return /^(sequence |sample )?pack(ed|ing)/.test(text) || /\bpacking ?= ?true/.test(lower(row.notes));
}

function attention(row: MeasuredRow): RunValues {
  const text = lower(row.attention_impl);
  if (/unknown|\?/.test(text)) throw new NotExpressed('the attention kernel is not known');
  if (/flex/.test(text) && flexAttention(row)) return { 'attention.implementation': 'flex' };
  if (/flash[- _]?(attention|attn)?[- _]?3|\bfa-?3\b/.test(text))
    return { 'attention.implementation': 'flash3' };
  // xFormers', cuDNN's and Transformer Engine's kernels keep no scores either.
  if (/^(triton )?flash|\bfa-?2\b|xformers|transformer engine|cudnn/.test(text))
    return { 'attention.implementation': 'flash2' };
  if (/sdpa/.test(text) && !/eager/.test(text)) {
    const mask = /mask/.test(text) || padded(row);
    return { 'attention.implementation': 'sdpa', 'attention.mask': mask };
  }
  // What PyTorch calls its efficient kernel came from xFormers; it is one of SDPA's.
  if (/mem(ory)?[-_ ]?eff/.test(text))
    return { 'attention.implementation': 'sdpa', 'attention.mask': padded(row) };
  if (/eager|math|naive|vanilla/.test(text))
    return { 'attention.implementation': 'eager', 'attention.mask': padded(row) };
  if (text === '') return {};
  throw new NotExpressed(`attention "${row.attention_impl}" is not understood`);
}

/**
 * torchtitan's batch size is what a data-parallel rank takes per step; a pipeline cuts it into as many micro batches as
 * it has stages, where nothing else is set (`parallelisms/pipeline.py`, `n_microbatches`).
 */
function microBatches(row: MeasuredRow): number {
  return codeOf(row) === 'torchtitan' ? (row.parallel?.pp ?? 1) : 1;
}

/** Padded batches differ in length unless the row states that they do not. */
function lengths(row: MeasuredRow): RunValues {
  const text = lower(String(row.effective_max_tokens_per_sample ?? ''));
  if (!isPadded(row) || /exactly|forced to/.test(text)) return {};
  const mean = /mean (\d+) tokens/.exec(text)?.[1];
  return { 'batch.varied': true, ...(mean ? { 'batch.meanSequence': Number(mean) } : {}) };
}

function isPadded(row: MeasuredRow): boolean {
  const text = lower(row.packing);
  const without = /\bun-?padded|(no|without) padding|padding[- ]?free|not padded/.test(text);
  return /padded|padding/.test(text) && !without && !isPacked(row);
}

/** torchtune masks packed batches by FlexAttention wherever torch has it, since 2.5 (`modules/attention_utils.py`). */
function flexAttention(row: MeasuredRow): boolean {
  const torch = torchVersion(row);
  return row.compile === true || (isPacked(row) && torch !== undefined && !before(torch, '2.5'));
}

/** transformers passes a mask for padded batches of several samples; litgpt and torchtune mask labels only. */
function padded(row: MeasuredRow): boolean {
  return codeOf(row) === 'transformers' && isPadded(row) && (row.micro_batch ?? 1) > 1;
}

const WITHOUT = /^(none|off|no|not used|false|disabled|w\/o|without)\b/;
const WITH =
  /full|every|uniform|block|unsloth|offload|reentrant|per |layer|checkpoint|recompute|^(on|yes|true|enabled|used)\b/;

function checkpointing(row: MeasuredRow, model: Model): RunValues {
  const text = lower(row.activation_checkpointing).trim();
  if (text === '' || /unknown|\?/.test(text))
    throw new NotExpressed('activation checkpointing is not stated');
  if (WITHOUT.test(text)) return { 'activations.checkpointing': 'none' };
  const reentrant = /reentrant/.test(text)
    ? !/(non|no|not)[- _]?reentrant/.test(text)
    : codeOf(row) === 'transformers';
  if (/selective/.test(text)) {
    // torchtitan wraps every n-th layer whole (`activation_checkpoint.py`, `layer_sac_count`).
    const nth = /every (\d+)(?:nd|rd|th)? layer/.exec(text)?.[1];
    if (nth) return whole(false, { 'activations.layers': Math.floor(model.layers / Number(nth)) });
    // Megatron's selective recomputation is that of the attention scores.
    if (!/\bop/.test(text) && codeOf(row) !== 'megatron')
      throw new NotExpressed('what selective checkpointing selects is not stated');
    return { 'activations.checkpointing': 'selective', 'activations.reentrant': false };
  }
  if (!WITH.test(text))
    throw new NotExpressed(`activation checkpointing "${row.activation_checkpointing}" is not understood`);
  if (/unsloth|offload/.test(text)) return whole(true, { 'activations.offload': true });
  const every = /every (\d+) layers|uniform\D*(\d+)/.exec(text);
  const first = /block\D*(\d+) layers?/.exec(text)?.[1];
  return whole(reentrant, {
    ...(every ? { 'activations.checkpointEvery': Number(every[1] ?? every[2]) } : {}),
    ...(first ? { 'activations.layers': Number(first) } : {}),
  });
}

/** Layers of which only the input is kept. */
function whole(reentrant: boolean, more: RunValues): RunValues {
  return { 'activations.checkpointing': 'full', 'activations.reentrant': reentrant, ...more };
}

/** Optimizers by the names that rows use; longer ones first. */
const NAMES: readonly (readonly [RegExp, OptimizerName])[] = [
  [/q-galore/, 'q-galore-adamw-8bit'],
  [/galore.*(8-?bit|quantized)/, 'galore-adamw-8bit'],
  [/galore.*adafactor/, 'galore-adafactor'],
  [/galore/, 'galore-adamw'],
  [/apollo/, 'apollo-adamw'],
  [/(torchao|\bao\b).*fp8|adamw?fp8/, 'ao-adamw-fp8'],
  [/(torchao|\bao\b).*8-?bit/, 'ao-adamw-8bit'],
  [/(torchao|\bao\b).*4-?bit|lpmm|4-?bit/, 'ao-adamw-4bit'],
  [/paged[_ ]?adamw?[_ ]?8-?bit/, 'paged-adamw-8bit'],
  [/paged[_ ]?adamw?/, 'paged-adamw'],
  [/paged[_ ]?lion[_ ]?8-?bit/, 'paged-lion-8bit'],
  [/paged[_ ]?lion/, 'paged-lion'],
  [/ademamix[_ ]?8-?bit/, 'ademamix-8bit'],
  [/ademamix/, 'ademamix'],
  [/adam-?mini/, 'adam-mini'],
  [/anyprecision/, 'anyprecision-adamw'],
  [/(1|one)-?bit[_ ]?adam/, 'onebit-adam'],
  [/adamw?[ _-]?(bnb[ _-])?8-?bit|8-?bit adamw?/, 'adamw-8bit'],
  [/lion.*8-?bit/, 'lion-8bit'],
  [/lion/, 'lion'],
  [/adafactor/, 'adafactor'],
  [/muon/, 'muon'],
  [/lamb\b/, 'lamb'],
  [/adalomo/, 'adalomo'],
  [/lomo/, 'lomo'],
  [/came\b/, 'came'],
  [/sophia/, 'sophia'],
  [/shampoo/, 'shampoo'],
  [/soap/, 'soap'],
  [/adagrad/, 'adagrad'],
  [/rms-?prop/, 'rmsprop'],
  [/adam/, 'adamw'],
  [/sgd.*(no|without) momentum|sgd.*momentum[ =:]*0(?![.\d])/, 'sgd'],
  [/sgd.*momentum|momentum.*sgd/, 'sgd-momentum'],
  [/sgd/, 'sgd'],
];

function optimizer(row: MeasuredRow): RunValues {
  const projected = /\b(q-)?galore[^;.]*|\bapollo[^;.]*/.exec(lower(row.notes))?.[0];
  const text = projected ?? lower(row.optimizer);
  if (text === '') throw new NotExpressed('the row names no optimizer');
  if (/unknown|not stated|lora-fa/.test(text))
    throw new NotExpressed(`optimizer "${row.optimizer}" is not expressed`);
  const name = NAMES.find(([pattern]) => pattern.test(text))?.[1];
  if (!name) throw new NotExpressed(`optimizer "${row.optimizer}" is not in the vocabulary`);
  const inBackward = row.optimizer_in_backward === true;
  return {
    'optimizer.name': name,
    'optimizer.implementation': implementation(row, text),
    'optimizer.inBackward': inBackward,
    ...projectionRank(text),
    ...(/fp32 (master\+)?states/.test(text) && lower(row.weights_dtype).startsWith('bf16')
      ? { 'precision.optimizerStates': 'fp32' as const }
      : {}),
  };
}

/** Rank of projected gradients: `GaLore r128`, `rank 128`. */
function projectionRank(text: string): RunValues {
  const rank = /galore|apollo/.test(text) ? /\br(?:ank)?[ =]*(\d+)/.exec(text)?.[1] : undefined;
  return rank ? { 'optimizer.rank': Number(rank) } : {};
}

function implementation(row: MeasuredRow, text: string): NonNullable<RunValues['optimizer.implementation']> {
  if (/fused|deepspeed|megatron/.test(text)) return 'fused';
  if (/foreach/.test(text)) return 'foreach';
  if (/adafactor/.test(text)) return 'for-loop';
  // `foreach` became the default on CUDA in torch 2.0; transformers' own AdamW of before loops over tensors.
  const torch = torchVersion(row);
  return torch !== undefined && before(torch, '2.0') ? 'for-loop' : 'foreach';
}

type AdapterKind = NonNullable<RunValues['lora.kind']>;

/** PEFT's other adapters by their names, with dashes, underscores or neither. */
const KINDS: readonly (readonly [RegExp, AdapterKind])[] = [
  [/^ada-?lora\b/, 'adalora'],
  [/^vera\b/, 'vera'],
  [/^vb-?lora\b/, 'vblora'],
  [/^fourier-?ft\b/, 'fourierft'],
  [/^loha\b/, 'loha'],
  [/^lokr\b/, 'lokr'],
  [/^oft\b/, 'oft'],
  [/^boft\b/, 'boft'],
  [/^\(?ia\)?[ _^-]?3\b/, 'ia3'],
  [/^(ln|layer-?norm)[-_ ]?tuning/, 'ln-tuning'],
  [/^prompt[-_ ]?tuning/, 'prompt-tuning'],
  [/^prefix[-_ ]?tuning/, 'prefix-tuning'],
  [/^p-?tuning/, 'p-tuning'],
];

/** Kinds whose size is no rank. */
const WITHOUT_RANK: ReadonlySet<AdapterKind> = new Set<AdapterKind>([
  'oft',
  'boft',
  'ia3',
  'ln-tuning',
  'prompt-tuning',
  'prefix-tuning',
  'p-tuning',
]);

/** Rank, block size and virtual tokens stand in `lora`, or in words such as `rank 32`, `block size 32`, `20 virtual tokens`. */
function otherAdapters(row: MeasuredRow, model: Model, kind: AdapterKind): RunValues {
  const words = `${lower(row.method)}; ${lower(row.lora?.variant)}; ${lower(row.notes)}`;
  const stated = (pattern: RegExp): number | undefined => {
    const found = pattern.exec(words)?.[1];
    return found === undefined ? undefined : Number(found);
  };
  const rank = row.lora?.r ?? stated(/\b(?:rank|r|n_frequency)[ =:_-]*(\d+)/);
  if (rank === undefined && !WITHOUT_RANK.has(kind))
    throw new NotExpressed(`the row gives no rank of ${kind}`);
  const block = stated(/\b(?:block[ _]size|factor)[ =:_-]*(\d+)/);
  const tokens = stated(/(\d+) virtual tokens/) ?? stated(/\bnum_virtual_tokens[ =:]*(\d+)/);
  return {
    'method.kind': 'lora',
    'lora.kind': kind,
    ...(rank === undefined ? {} : { 'lora.rank': rank }),
    ...(block === undefined ? {} : { 'lora.blockSize': block }),
    ...(tokens === undefined ? {} : { 'lora.virtualTokens': tokens }),
    ...(row.lora?.targets ? { 'lora.targets': loraTargets(row.lora, model) } : {}),
    'lora.modulesToSave': row.lora?.modules_to_save ?? [],
    'lora.dropout': row.lora?.dropout ?? 0,
    'lora.dtype': adapterDtype(row),
  };
}

/** What is trained: all weights, or adapters on which modules. */
export function adapters(row: MeasuredRow, model: Model): RunValues {
  const method = lower(row.method);
  const some = someLayers(row);
  if (some) return some;
  if (/^(full|pre-?train|sft$|fine-?tun)/.test(method)) return { 'method.kind': 'full' };
  if (/^adapter(_v2)?$/.test(method) && codeOf(row) === 'litgpt') return prompts(row, method);
  const kind = KINDS.find(([pattern]) => pattern.test(method))?.[1];
  if (kind) return otherAdapters(row, model, kind);
  if (!/^(dpo |sft )?(q?lora|dora)\b/.test(method))
    throw new NotExpressed(`method "${row.method}" is not in the vocabulary`);
  const { lora } = row;
  if (!lora?.r) throw new NotExpressed('the row gives no LoRA rank');
  if (/fa\b|mica|bdlora/.test(lower(lora.variant))) {
    throw new NotExpressed(`the LoRA variant "${lora.variant}" is not in the vocabulary`);
  }
  return {
    'method.kind': 'lora',
    'lora.rank': lora.r,
    'lora.dropout': lora.dropout ?? 0,
    'lora.targets': loraTargets(lora, model),
    'lora.modulesToSave': lora.modules_to_save ?? [],
    'lora.dtype': adapterDtype(row),
    'lora.dora': lora.dora ?? /\bdora\b/.test(`${method} ${lower(row.notes)}`),
  };
}

/**
 * Layers that are trained alone, by the row's notes: new ones (LLaMA Pro). LISA of the ms-swift that was measured is another
 * than today's: its callback froze all layers before the optimizer was made (2.0.4, `llm/tuner.py`), which so has none of those
 * that were drawn later.
 */
function someLayers(row: MeasuredRow): RunValues | undefined {
  const notes = row.notes ?? '';
  const added = /\bllama-?pro (\d+) new blocks/i.exec(notes)?.[1];
  if (added) {
    const blocks = Number(added);
    return {
      'method.kind': 'freeze',
      'method.newLayers': blocks,
      'method.trainableLayers': blocks,
      'method.spreadLayers': true,
    };
  }
  const foreign = /\b(lisa|llama-?pro|badam)\b/i.exec(notes)?.[1];
  if (foreign) throw new NotExpressed(`"${foreign}", which the row's notes name, is not expressed`);
  return undefined;
}

/** litgpt's LLaMA-Adapter: ten tokens in every layer from the third on (`adapter.py`, `Config`). */
function prompts(row: MeasuredRow, method: string): RunValues {
  return {
    'method.kind': 'lora',
    'lora.kind': method === 'adapter' ? 'llama-adapter' : 'llama-adapter-v2',
    'lora.virtualTokens': 10,
    'lora.dtype': adapterDtype(row),
  };
}

/** Adapters in the type of the base unless the row states fp32, as PEFT makes them by itself since 0.12. */
function adapterDtype(row: MeasuredRow): 'fp32' | 'bf16' | 'fp16' {
  const text = `${lower(row.weights_dtype)} ${lower(row.optimizer)}`;
  const base = /fp16|float16/.test(lower(row.weights_dtype).replace(/bf16|bfloat16/g, '')) ? 'fp16' : 'bf16';
  if (/adapter fp32|lora params fp32/.test(text)) return 'fp32';
  if (/^fp32/.test(lower(row.weights_dtype))) return 'fp32';
  if (/bf16 states|dtype bf16|states in param dtype/.test(text)) return base;
  // litgpt, torchtune: the adapter is made in the model's own type.
  return codeOf(row) === 'transformers' ? 'fp32' : base;
}
