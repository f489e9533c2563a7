import { fileIn, TRL } from '../../sources/repositories';
import { isFsdp } from '../../terms/data-parallel';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';
import type { TrlMethod } from './trl-method';

/** Releases since which a trainer leaves weights beside quantized ones as they are, and casts adapters to bf16 (`param.data.to(torch.bfloat16)`); the others never do. */
const CASTS_ADAPTERS: Readonly<Partial<Record<TrlMethod, string>>> = {
  sft: '0.26',
  gkd: '0.26',
  grpo: '0.26',
  reward: '0.26',
  rloo: '0.27',
  dpo: '0.29',
  kto: '1.4',
  distillation: '1.10',
};

/**
 * Releases before which a trainer prepares no quantized weights, and hands the adapters to PEFT alone; `never`: none does. Supervised
 * training does since it is there (0.4.2).
 */
const PREPARES: Readonly<Partial<Record<TrlMethod, string>>> = {
  dpo: '0.5',
  reward: '0.5',
  grpo: '0.22',
  rloo: '0.22',
  online_dpo: '0.22',
  ppo: 'never',
  distillation: 'never',
};

/**
 * Releases before which PEFT alone prepares the weights: TRL casts no embedding and head back (`peft_module_casting_to_bf16`; reward models
 * came to it by `prepare_peft_model`). Trainers that are not named do so since they are there.
 */
const RECASTS: Readonly<Partial<Record<TrlMethod, string>>> = { sft: '0.7.5', dpo: '0.7.8', reward: '0.22' };

/** Before, that cast takes the adapters along (`isinstance(module, BaseTunerLayer)`; gone in v0.9.2, the first of 0.9). */
const LEAVES_ADAPTERS = '0.9';
const OLD_CASTS = fileIn({ ...TRL, at: 'v0.8.6' }, 'trl/trainer/utils.py');

/** Since then `bf16` is on where a config states nothing else. */
const LOWERS_UNASKED = '0.19';

const OLD_TRAINER = fileIn({ ...TRL, at: 'v0.7.1' }, 'trl/trainer/sft_trainer.py');

const trainer = (file: string) => fileIn(TRL, `trl/trainer/${file}`);

/**
 * What becomes of the weights beside quantized ones. At first PEFT upcasts them and TRL casts embedding and head back under bf16, unless
 * FSDP is to shard the packed ones (`models/utils.py`, `prepare_peft_model`); later they stay as they are and adapters are cast to bf16,
 * each trainer since a release of its own.
 */
export function readQuantizedBase(
  section: Section,
  method: TrlMethod,
  draft: Draft,
  context: ReadContext,
): void {
  const bits = bitsOf(section, context);
  const four = bits === 4;
  const source = trainer(`${method === 'simpo' ? 'cpo' : method}_trainer.py`);
  if (bits === undefined) {
    if ((context.known['quantization.kind'] ?? 'none') !== 'none' && !draft.knows('quantization.prepared'))
      draft.assume('quantization.prepared', false, say('TRL prepares weights of bitsandbytes alone'), source);
    return;
  }
  const data = context.known['parallel.data'];
  const version = context.known['version.trl'];
  const since = CASTS_ADAPTERS[method];
  const casts = since !== undefined && isAtLeast(version, since) === true;
  const note = casts ? say('TRL since {0}', since) : '';
  // Whoever made the adapters before has prepared the weights, or has not.
  if (draft.knows('quantization.prepared')) {
    if (casts && !draft.knows('lora.dtype')) draft.assume('lora.dtype', 'bf16', note, source);
    return;
  }
  if (casts) {
    draft.assume('quantization.prepared', false, note, source);
    draft.assume('lora.dtype', 'bf16', note, source);
    return;
  }
  const prepares = PREPARES[method];
  const leaves = prepares === 'never' || (prepares !== undefined && isAtLeast(version, prepares) === false);
  if (leaves || (four && isFsdp(data))) {
    const words = leaves
      ? say('this trainer of TRL prepares no quantized weights')
      : say('TRL leaves weights that FSDP shards as they are');
    draft.assume('quantization.prepared', false, words, source);
    return;
  }
  if (four) readRecasts(section, method, draft, version);
}

/** What the cast after preparation makes bf16, where the run is. */
function readRecasts(section: Section, method: TrlMethod, draft: Draft, version: unknown): void {
  const recasts = RECASTS[method];
  if (recasts !== undefined && isAtLeast(version, recasts) === false) return;
  const asked = section.flag('bf16');
  const lowers = isAtLeast(version, LOWERS_UNASKED) === false ? asked === true : asked !== false;
  if (!lowers || section.flag('fp16') === true) return;
  draft.assume(
    'quantization.recast',
    true,
    say('TRL casts embedding and head back to bf16'),
    trainer('utils.py'),
  );
  if (isAtLeast(version, LEAVES_ADAPTERS) === false && !draft.knows('lora.dtype'))
    draft.assume(
      'lora.dtype',
      'bf16',
      say('TRL before {0} casts adapters to bf16', LEAVES_ADAPTERS),
      OLD_CASTS,
    );
}

/**
 * Until 0.7.1 SFT, DPO and reward trainers prepare quantized weights by `prepare_model_for_int8_training`, which turns checkpointing on
 * whatever the arguments ask for (`sft_trainer.py`, `dpo_trainer.py`, `reward_trainer.py` of the wheels; PEFT's `use_gradient_checkpointing=True`).
 */
export function readOldPreparation(
  section: Section,
  method: TrlMethod,
  draft: Draft,
  context: ReadContext,
): void {
  const version = context.known['version.trl'];
  if (isAtLeast(version, '0.7.2') !== false || !/^(sft|dpo|reward)$/.test(method)) return;
  if (isAtLeast(version, PREPARES[method] ?? '0') === false) return;
  // Whoever made the adapters before has prepared the weights, or has not.
  if (bitsOf(section, context) === undefined || section.flag('use_peft') !== true) return;
  if (draft.knows('quantization.prepared')) return;
  const note = say('TRL before 0.7.2 recomputes activations of quantized models');
  const found = section.find('gradient_checkpointing');
  if (found) section.state('activations.checkpointing', 'full', found, note);
  else draft.assume('activations.checkpointing', 'full', note, OLD_TRAINER, 'gradient_checkpointing');
}

/** Bits of weights that bitsandbytes quantizes, stated or by the name of the model; undefined where it does not. */
function bitsOf(section: Section, { known }: ReadContext): 4 | 8 | undefined {
  const stored = known['quantization.kind'];
  if (section.flag('load_in_4bit') === true || stored === 'nf4' || stored === 'fp4') return 4;
  return section.flag('load_in_8bit') === true || stored === 'int8' ? 8 : undefined;
}
