import { flagOf, integerOf } from '../../config/scalar';
import type { Section } from '../section';
import { KNOWN_SCRIPT_TABLE } from './known-script-keys';

/** Switches by which well-known training scripts ask for LoRA (LLaVA, Qwen, PEFT's examples, InternVL). */
const SWITCHES = ['lora_enable', 'use_lora', 'use_peft_lora', 'use_qlora', 'q_lora'];
const FOUR_BIT = ['q_lora', 'use_qlora', 'use_4bit_quantization', 'use_4bit_qunatization'];
const EIGHT_BIT = ['use_8bit_quantization', 'use_8bit_qunatization'];

/**
 * Adapters and quantization under the names that scripts around the Trainer give them. `bits` is 16, 8 or 4. States nothing where
 * the script is asked for none of it.
 */
export function readScriptAdapter(script: Section): void {
  const section = script.by(KNOWN_SCRIPT_TABLE);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const lora = SWITCHES.find(on);
  const rank = section.find('use_llm_lora');
  if (lora) {
    const found = section.find(lora);
    if (found) section.state('method.kind', 'lora', found);
    section.take('lora_r', 'lora_alpha', 'lora_dropout', 'lora_target_modules');
  } else if (rank && (integerOf(rank.node) ?? 0) > 0) {
    section.state('method.kind', 'lora', rank);
    section.take('use_llm_lora');
  }
  const bits = section.find('bits');
  const width = integerOf(bits?.node);
  const four = FOUR_BIT.find(on);
  const eight = EIGHT_BIT.find(on);
  const quantized = (four && section.find(four)) ?? (eight && section.find(eight));
  if (bits && (width === 4 || width === 8))
    section.state('quantization.kind', width === 4 ? 'nf4' : 'int8', bits);
  else if (quantized) section.state('quantization.kind', four ? 'nf4' : 'int8', quantized);
  section.take('double_quant');
}
