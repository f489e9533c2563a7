import { isNone } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { findAccelerator } from '../../hardware/catalog';
import { routedExperts } from '../../model/routed-experts';
import { fileIn, UNSLOTH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';
import { argumentOf, type Calls, variableOf } from './call-block';

type ModelConfig = Readonly<Record<string, unknown>>;

/** What becomes of the padding of supervised batches: left out, there, or either, as what only the run knows has it. */
interface Padding {
  readonly kind: 'none' | 'padded' | 'open';
  readonly note: string;
}

/** Since this release batches have no padding where nothing is in the way (`trainer.py`, `_patch_sft_trainer_auto_packing`). */
const LEAVES_OUT = '2025.12.4';
/** Since this release `padding_free=False` is one such thing: before, it is what TRL's config has anyway (`_should_auto_padding_free`). */
const HEARS_NO = '2026.3.1';
/** Since this release layers that keep a state are in the way where their kernels take no rows of several samples; images are no longer, but processors. */
const KNOWS_STATES = '2026.7.4';
/** Since this release processors are not, of rows of texts alone, with TRL 1.10 (`_processor_text_only`); and what looks at logits is. */
const KNOWS_TEXTS = '2026.10.4';
/** Since this release what is faster is estimated (`padding_choice.py`). */
const CHOOSES = '2026.10.9';

/** Types of models whose attention is not right without (`PADDING_FREE_BLOCKLIST`). */
const BLOCKED = /^(?:gemma2|gpt_oss)$/;
/** Types with layers of Mamba's kind, which no release packs by itself (`_HYBRID_AUTO_KINDS`). */
const MAMBA = /mamba|^(?:falcon_h1|nemotron_h|bamba|zamba2?|jamba|granitemoehybrid)$/;

/** Whether a model has a layer of Mamba's kind: of its type, unless its config names all layers and none of them is one. */
export function hasMamba(config: ModelConfig | undefined): boolean {
  if (!MAMBA.test(String(config?.model_type ?? ''))) return false;
  const types = config?.layer_types ?? config?.layers_block_type;
  return !Array.isArray(types) || types.length === 0 || types.some((type) => type !== 'attention');
}

/** Types whose rows of texts a processor may make (`_PROCESSOR_TEXT_PACKING_MODELS`). */
const TEXTS_OF_PROCESSORS = /^(?:gemma3(?:_text)?|gemma4(?:_unified)?(?:_text)?|qwen3_5(?:_moe)?)$/;

/** Cards whose speed was measured, and whose peak is listed (`_MAX_PADDED_GPU_S_BY_CAPABILITY`; `mfu.py`, `_PEAK_TFLOPS_16BIT`). */
const MEASURED = /^(?:T4|A100|L4\b|L40|RTX PRO 6000|RTX 5090$)/;
/** Micro batches that repay what compiling takes: `ceil(2 * seconds / 0.04)`, of 25 and 100 seconds (`choose_padding`). */
const REPAID = { plain: 1250, packed: 5000 } as const;

/** Batches whose padding is asked about. */
export interface PaddedBatches {
  readonly calls: Calls;
  readonly trainer: PyCall;
  readonly section: Pick<Section, 'find' | 'flag' | 'integer'>;
  readonly context: ReadContext;
  /** The layers are Unsloth's own. */
  readonly kernels: boolean;
  readonly accumulation: number;
  /**
   * Those of TRL's supervised trainer, which Unsloth changes; with labels, of any other; or without, which the trainer scores itself: those
   * of preferences, whose collators fill rows on the right or lay them out so (TRL, `DPODataCollatorWithPadding`, `flush_left`), or others.
   */
  readonly batches: 'supervised' | 'labelled' | 'preference' | 'scored';
}

const variable = ({ program }: Calls, name: string): string | undefined =>
  variableOf(program, name)?.trim().toLowerCase();
const ON = /^(?:1|true|yes|on)$/;

/** What Unsloth makes of the padding of a supervised training that states neither that it packs nor that it has no padding. */
function paddingOf(asked: PaddedBatches): Padding {
  const { calls, section, context } = asked;
  const release = context.versions?.unsloth?.version;
  const padded = (note: string): Padding => ({ kind: 'padded', note });
  if (isAtLeast(release, LEAVES_OUT) === false) return padded(say('this release pads batches'));
  if (ON.test(variable(calls, 'UNSLOTH_DISABLE_AUTO_PADDING_FREE') ?? ''))
    return padded(say('`{0}` is set', 'UNSLOTH_DISABLE_AUTO_PADDING_FREE'));
  if (section.flag('padding_free') === false && isAtLeast(release, HEARS_NO) !== false)
    return padded(say('`{0}` is off', 'padding_free'));
  return inTheWay(asked, release) ?? chosen(asked, release);
}

/** What keeps Unsloth from leaving padding out, if anything does (`trainer.py`, `blocked`). */
function inTheWay(
  { calls, trainer, context }: PaddedBatches,
  release: string | undefined,
): Padding | undefined {
  const since = (first: string) => isAtLeast(release, first) !== false;
  const padded = (note: string): Padding => ({ kind: 'padded', note });
  const given = (name: string, place?: number) => {
    const value = argumentOf(trainer, name, place);
    return value !== undefined && !isNone(value);
  };
  if (given('data_collator', 2)) return padded(say('a collator that is given makes the batches'));
  if (variable(calls, 'UNSLOTH_RETURN_LOGITS') === '1')
    return padded(say('`{0}` is set', 'UNSLOTH_RETURN_LOGITS'));
  const metrics = ['compute_metrics', 'preprocess_logits_for_metrics'].find((name) => given(name));
  if (metrics && since(KNOWS_TEXTS)) return padded(say('`{0}` looks at logits', metrics));
  const config: ModelConfig | undefined = context.model?.config;
  if (!config) return { kind: 'open', note: say('what the model is decides whether batches are padded') };
  const type = String(config.model_type ?? '');
  if (BLOCKED.test(type) || context.model?.decoder !== undefined)
    return padded(say('models of type "{0}" need padding', type));
  if (config.vision_config !== undefined || config.audio_config !== undefined)
    return ofProcessor(calls, type, context, since);
  const inner = (config.text_config ?? config) as ModelConfig;
  if (!since(KNOWS_STATES)) return undefined;
  if (hasMamba(config)) return padded(say('layers that keep a state need padding'));
  const isHybrid =
    /^lfm2/.test(type) ||
    inner.linear_conv_kernel_dim !== undefined ||
    (Array.isArray(inner.layer_types) && inner.layer_types.includes('linear_attention'));
  return isHybrid
    ? {
        kind: 'open',
        note: say(
          'which kernels are installed for layers that keep a state decides whether batches are padded',
        ),
      }
    : undefined;
}

/** A model that sees or hears has a processor, which makes padded rows but of texts. */
function ofProcessor(
  { draft }: Calls,
  type: string,
  { versions }: ReadContext,
  since: (first: string) => boolean,
): Padding | undefined {
  const padded: Padding = { kind: 'padded', note: say('a processor makes the batches') };
  if (!since(KNOWS_TEXTS) || !TEXTS_OF_PROCESSORS.test(type)) return padded;
  const trl = isAtLeast(versions?.trl?.version, '1.10');
  if (trl === false || draft.valueOf('batch.images') !== 0) return padded;
  return { kind: 'open', note: say('the release of TRL and the data decide whether batches are padded') };
}

/** Where nothing is in the way: since a release only what is estimated to be slower is left out (`decide_auto_padding_free`). */
function chosen(
  { calls, section, context, kernels, accumulation }: PaddedBatches,
  release: string | undefined,
): Padding {
  const free: Padding = { kind: 'none', note: say('Unsloth leaves padding out since {0}', LEAVES_OUT) };
  if (isAtLeast(release, CHOOSES) === false) return free;
  const choice = variable(calls, 'UNSLOTH_PADDING_CHOICE') ?? 'auto';
  if (/^(?:padded|pad|block_compile)$/.test(choice))
    return { kind: 'padded', note: say('`{0}` is set', 'UNSLOTH_PADDING_CHOICE') };
  if (/^(?:padding[_-]free|packed|0|off|false|no)$/.test(choice)) return free;
  const { known, model } = context;
  const gpu = known['hardware.gpu'];
  const card = typeof gpu === 'string' ? findAccelerator(gpu) : undefined;
  if (card && !MEASURED.test(card.name)) return free;
  if (Number(known['hardware.gpus'] ?? 1) > 1) return free;
  if (routedExperts(model?.config) > 1) return free;
  // Layers that are not compiled are no reason to pad.
  if (isAtLeast(known['version.torch'], kernels ? '2.11' : '2.7') === false) return free;
  const steps = section.integer('max_steps');
  const packed = calls.draft.valueOf('quantization.kind') === 'nf4';
  if (steps !== undefined && steps > 0 && steps * accumulation < (packed ? REPAID.packed : REPAID.plain))
    return free;
  return {
    kind: 'open',
    note: say('Unsloth pads batches where it takes that to be faster, which the data and the GPU decide'),
  };
}

/** Since this release whole layers of Unsloth's own are compiled where they get adapters (`llama.py`, `_legacy_block_compile`). */
const COMPILES_OWN = '2026.10.8';

/** Whether Unsloth's own layers are compiled where batches are padded: those of rows without padding are not (`_block_compile.py`, `_wrap`). */
function compilesOwn(calls: Calls, { known, versions }: ReadContext): boolean {
  const off = ['UNSLOTH_BLOCK_COMPILE', 'UNSLOTH_BLOCK_COMPILE_LEGACY'].some(
    (name) => variable(calls, name) === '0',
  );
  return (
    !off &&
    !/^(?:1|partial)$/.test(variable(calls, 'UNSLOTH_COMPILE_DISABLE') ?? '') &&
    calls.draft.valueOf('method.kind') === 'lora' &&
    isAtLeast(versions?.unsloth?.version, COMPILES_OWN) !== false &&
    isAtLeast(known['version.torch'], '2.11') !== false
  );
}

/** States what becomes of padding and its mask, of `micro` samples in a micro batch. */
export function readUnslothPadding(asked: PaddedBatches, load: PyCall, micro: number): void {
  const { calls, section, kernels, context } = asked;
  const { draft } = calls;
  const stated = section.flag('packing') === true || section.flag('padding_free') === true;
  const padding = asked.batches === 'supervised' && !stated ? paddingOf(asked) : undefined;
  if (padding && micro > 1)
    draft.infer('batch.paddingFree', padding.kind !== 'padded', padding.note, { range: load.calleeRange });
  inferRowMask(asked, padding, micro);
  if (!kernels || context.model === undefined || stated || padding?.kind === 'none') return;
  if (!compilesOwn(calls, context)) return;
  const note = say(
    'Unsloth compiles whole layers of this model where batches are padded: what that saves is not counted.',
  );
  draft.bringByDefault('block-compile', note, fileIn(UNSLOTH, 'unsloth/models/llama.py'));
}

/**
 * Unsloth's own forward drops masks in training, but those of samples that are filled up on the left (`llama.py`, `LlamaModel_fast_forward`). Of rows
 * without padding other layers take a kernel that keeps samples apart since 2026.10.4 (`hf_packed_attention.py`), before a mask. It stands in
 * SDPA's place: eager attention has a mask in any release.
 */
function inferRowMask(
  { calls, kernels, context, batches, trainer }: PaddedBatches,
  padding: Padding | undefined,
  micro: number,
): void {
  const { draft } = calls;
  if (micro <= 1 || draft.knows('attention.mask')) return;
  const release = context.versions?.unsloth?.version;
  const own = batches === 'preference' && argumentOf(trainer, 'data_collator') !== undefined;
  const keeps = batches === 'scored' || own;
  const drops = kernels && (!keeps || isAtLeast(release, KNOWS_TEXTS) === false);
  if (drops) draft.infer('attention.mask', false, say("Unsloth's own layers drop the mask in training"));
  else if (
    padding?.kind === 'none' &&
    isAtLeast(release, KNOWS_TEXTS) !== false &&
    draft.valueOf('attention.implementation') !== 'eager'
  )
    draft.infer('attention.mask', false, say('a kernel keeps the samples of a row apart'));
  else if (padding?.kind === 'none')
    draft.infer('attention.mask', true, say('a mask keeps the samples of a row apart'));
  else if (padding?.kind === 'open')
    draft.infer('attention.mask', true, say('where batches are padded, a mask reaches the kernel'));
}
