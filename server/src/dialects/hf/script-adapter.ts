import type { MapEntry, MapNode } from '../../config/node';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import type { Draft } from '../draft';
import type { FoundKey, Section } from '../section';
import { KNOWN_SCRIPT_TABLE, SCRIPT_ADAPTER_KEYS, SCRIPT_MODES } from './known-script-keys';

/** Switches by which well-known training scripts ask for LoRA (LLaVA, Qwen, PEFT's examples, InternVL). */
const SWITCHES = ['lora_enable', 'use_lora', 'use_peft_lora', 'use_qlora', 'q_lora'];
const FOUR_BIT = ['q_lora', 'use_qlora', 'use_4bit_quantization', 'use_4bit_qunatization'];
const EIGHT_BIT = ['use_8bit_quantization', 'use_8bit_qunatization'];

/** Rows of the names below that a table of a script's arguments lacks. */
export const besides = (rows: readonly KeySpec[]): readonly KeySpec[] =>
  SCRIPT_ADAPTER_KEYS.flatMap((row) =>
    rows.some(({ path }) => path === row.path) ? [] : { ...row, ofScript: true as const },
  );

/**
 * Adapters and quantization under the names that scripts around the Trainer give them. `bits` is 16, 8 or 4. States nothing where
 * the script is asked for none of it.
 */
export function readScriptAdapter(script: Section): void {
  const section = script.by(KNOWN_SCRIPT_TABLE);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const lora = SWITCHES.find(on);
  const rank = section.find('use_llm_lora');
  const mode = modeOf(section);
  if (lora || mode?.adapts) {
    const found = lora ? section.find(lora) : mode?.found;
    if (found) section.state('method.kind', 'lora', found);
    section.take('lora_rank', 'lora_r', 'lora_alpha', 'lora_dropout', 'lora_target_modules');
  } else if (rank && (integerOf(rank.node) ?? 0) > 0) {
    section.state('method.kind', 'lora', rank);
    section.take('use_llm_lora');
  } else if (mode) section.state('method.kind', 'full', mode.found);
  const bits = section.find('bits');
  const width = integerOf(bits?.node);
  const four = FOUR_BIT.find(on);
  const eight = EIGHT_BIT.find(on);
  const quantized = (four && section.find(four)) ?? (eight && section.find(eight));
  if (bits && (width === 4 || width === 8))
    section.state('quantization.kind', width === 4 ? 'nf4' : 'int8', bits);
  else if (quantized) section.state('quantization.kind', four ? 'nf4' : 'int8', quantized);
  else if (mode?.quantized) section.state('quantization.kind', 'nf4', mode.found);
  section.take('double_quant');
}

/** What is trained, where the script is asked in a word that has one meaning. */
function modeOf(section: Section): { found: FoundKey; adapts: boolean; quantized: boolean } | undefined {
  const found = section.find(SCRIPT_MODES);
  const word = textOf(found?.node)?.toLowerCase();
  if (!found || !/^(?:full|q?lora)$/.test(word ?? '')) return undefined;
  return { found, adapts: word !== 'full', quantized: word === 'qlora' };
}

/** Names of arguments that are about adapters, or about what is frozen. */
const ADAPTS =
  /lora|peft|adapter(?!_?(?:dir|path|name|file))|freez|^(?:train|tun(?:e|ing)|finetun(?:e|ing))_?(?:mode|type|method)$/;
/** Names of arguments that are about weights of fewer bits; those of an optimizer are not. */
const QUANTIZES = /^(?!.*(?:adam|optim)).*(?:quantiz|(?:^|_)(?:[48]_?bits?|n?bits)(?:_|$))/;

/**
 * Arguments of a script whose code is not read, by which it may train adapters or hold the weights in fewer bits, where no switch states
 * whether it does: what is trained is not known then. Where one does and no rank is given, the script has a rank of its own.
 * `dashes`: as they stand before the names on a command line.
 */
export function leaveAdapters({ entries }: MapNode, draft: Draft, dashes = ''): void {
  const switched = entries.some(
    ({ key, value }) => [...SWITCHES, 'use_peft'].includes(key) && flagOf(value) !== undefined,
  );
  const about = (names: RegExp) =>
    entries.find((entry) => names.test(entry.key.toLowerCase()) && isOn(entry));
  const leave = (entry: MapEntry | undefined, ...fields: readonly FieldPath[]) => {
    const open = fields.filter((field) => !draft.states(field));
    if (!entry || open.length === 0) return;
    const message = say(
      'What `{0}` makes of the training is in the code of the script, which is not read.',
      `${dashes}${entry.key}`,
    );
    draft.leave('flag', { range: entry.keyRange }, `${dashes}${entry.key}`, message, open);
  };
  if (!switched) leave(about(ADAPTS), 'method.kind');
  const adapts = entries.find(({ key, value }) => SWITCHES.includes(key) && flagOf(value) === true);
  leave(adapts, 'lora.rank', 'lora.alpha');
  leave(about(QUANTIZES), 'quantization.kind');
}

/** Switched on, or a figure of something that is: `0`, 16 and 32 bits, `none` and `false` ask for nothing. */
function isOn({ key, value }: MapEntry): boolean {
  if (value.kind !== 'scalar') return value.kind === 'list' ? value.items.length > 0 : true;
  const text = textOf(value) ?? '';
  if (QUANTIZES.test(key) && /^(?:16|32)$/.test(text)) return false;
  return flagOf(value) !== false && !/^(?:0|none|null|no|full|)$/i.test(text);
}
