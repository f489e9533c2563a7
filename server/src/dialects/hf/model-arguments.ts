import { flagOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section, Silence } from '../section';
import { dtypeOf, readWeightsDtype } from './weights-dtype';

const TRL = 'https://github.com/huggingface/trl/blob/main/trl/trainer/model_config.py';

function trl<V>(value: V): Silence<V> {
  return { value, note: say('{0} default', 'TRL'), source: TRL };
}

/** Attention kernel by the name that transformers gives it; kernels of the Hub count by what they hold. */
export function attentionOf(name: string | undefined): FieldValue<'attention.implementation'> | undefined {
  const word = name?.toLowerCase() ?? '';
  if (word === 'eager' || word === 'sdpa') return word;
  if (/flash[-_]?attn[-_]?3|flash_attention_3|^fa3$/.test(word)) return 'flash3';
  if (/flash[-_]?attn|flash_attention_2|^fa2$/.test(word)) return 'flash2';
  return /flex/.test(word) ? 'flex' : undefined;
}

/** A model named on the Hub or as a folder; folders are tried first where a name looks like one. */
export function readModelName(section: Section, spelling: string | readonly string[]): void {
  section.stateText('model.id', spelling);
}

/** `ModelConfig` of TRL: model, type, attention kernel, quantization, adapters. */
export function readModelArguments(section: Section, draft: Draft, context: ReadContext): void {
  readModelName(section, 'model_name_or_path');
  // DeepSpeed casts whatever was loaded, and some scripts load as they compute.
  if (!draft.knows('precision.weights')) readWeightsDtype(section, ['dtype', 'torch_dtype'], context, draft);
  const old = section.find('use_flash_attention_2');
  section.stateMeaning('attention.implementation', 'attn_implementation', ({ node }) =>
    attentionOf(textOf(node)),
  );
  if (old && flagOf(old.node) === true) section.state('attention.implementation', 'flash2', old);
  readQuantization(section);
  readAdapter(section);
}

function readQuantization(section: Section): void {
  const four = section.find('load_in_4bit');
  const eight = section.find('load_in_8bit');
  if (four && flagOf(four.node) === true) {
    const type = section.find('bnb_4bit_quant_type');
    const fp4 = textOf(type?.node)?.toLowerCase() === 'fp4';
    section.state('quantization.kind', fp4 ? 'fp4' : 'nf4', fp4 && type ? type : four);
    section.stateFlag('quantization.double', 'use_bnb_nested_quant', trl(false));
    section.stateMeaning('quantization.storage', 'bnb_4bit_quant_storage', ({ node }) => {
      const text = textOf(node);
      return text === 'uint8' ? 'uint8' : dtypeOf(text);
    });
  } else if (eight && flagOf(eight.node) === true) section.state('quantization.kind', 'int8', eight);
}

function readAdapter(section: Section): void {
  const peft = section.find('use_peft');
  if (!peft || flagOf(peft.node) !== true) {
    section.assume('method.kind', trl('full' as const), 'use_peft');
    return;
  }
  section.state('method.kind', 'lora', peft);
  section.stateInteger('lora.rank', 'lora_r', trl(16));
  section.stateNumber('lora.alpha', 'lora_alpha', trl(32));
  section.stateNumber('lora.dropout', 'lora_dropout', trl(0.05));
  section.stateTexts('lora.targets', 'lora_target_modules');
  section.stateTexts('lora.modulesToSave', 'lora_modules_to_save');
  section.stateFlag('lora.dora', 'use_dora', trl(false));
}
