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

/** Releases before which a trainer prepares no quantized weights, and hands the adapters to PEFT alone; `never`: none does. */
const PREPARES: Readonly<Partial<Record<TrlMethod, string>>> = {
  grpo: '0.22',
  rloo: '0.22',
  online_dpo: '0.22',
  ppo: 'never',
  distillation: 'never',
};

/** Where reward models were prepared by PEFT alone: TRL casts embedding and head back since `prepare_peft_model`. */
const REWARD_RECASTS = '0.22';

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
  // Stated, or by the name of the model.
  const stored = context.known['quantization.kind'] ?? 'none';
  const four = section.flag('load_in_4bit') === true || stored === 'nf4' || stored === 'fp4';
  const source = trainer(`${method === 'simpo' ? 'cpo' : method}_trainer.py`);
  if (!four && section.flag('load_in_8bit') !== true && stored !== 'int8') {
    if (stored !== 'none' && !draft.knows('quantization.prepared'))
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
  const recasts = method !== 'reward' || isAtLeast(version, REWARD_RECASTS) === true;
  if (four && recasts && section.flag('fp16') !== true && section.flag('bf16') !== false)
    draft.assume(
      'quantization.recast',
      true,
      say('TRL casts embedding and head back to bf16'),
      trainer('utils.py'),
    );
}
