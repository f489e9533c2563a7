import { ACCELERATE_RULES } from './accelerate';
import { AXOLOTL_RULES } from './axolotl';
import { DEEPSPEED_RULES } from './deepspeed';
import { GPT_NEOX_RULES } from './gpt-neox';
import { HUGGING_FACE_RULES } from './hugging-face';
import { LLAMA_FACTORY_RULES } from './llama-factory';
import { MEGATRON_RULES } from './megatron';
import { MS_SWIFT_RULES } from './ms-swift';
import { OTHER_FAMILIES_RULES } from './other-families';
import { ourPage, type Rule } from './rule';
import { RUN_RULES } from './run';

/** Every rule there is, by its name. A rule that several families have stands where it was met first. */
export const RULES = {
  ...RUN_RULES,
  ...DEEPSPEED_RULES,
  ...ACCELERATE_RULES,
  ...HUGGING_FACE_RULES,
  ...AXOLOTL_RULES,
  ...LLAMA_FACTORY_RULES,
  ...MS_SWIFT_RULES,
  ...MEGATRON_RULES,
  ...GPT_NEOX_RULES,
  ...OTHER_FAMILIES_RULES,
} satisfies Readonly<Record<string, Rule>>;

/** The name of a rule, kebab-case: what stands behind a problem and in `# oomlint: ignore[...]`. */
export type RuleId = keyof typeof RULES;

declare const taught: unique symbol;
/** The name of a rule that a team teaches in a vocabulary of its own: any word. */
export type TaughtRuleId = string & { readonly [taught]: true };

/** Rules in the order of their page, with the title of each part. */
export const RULE_PARTS: readonly (readonly [string, Readonly<Record<string, Rule>>])[] = [
  ['Every run', RUN_RULES],
  ['DeepSpeed', DEEPSPEED_RULES],
  ['Accelerate', ACCELERATE_RULES],
  ['Transformers and TRL', HUGGING_FACE_RULES],
  ['Axolotl', AXOLOTL_RULES],
  ['LLaMA-Factory', LLAMA_FACTORY_RULES],
  ['ms-swift', MS_SWIFT_RULES],
  ['Megatron-LM', MEGATRON_RULES],
  ['GPT-NeoX', GPT_NEOX_RULES],
  ['Other families', OTHER_FAMILIES_RULES],
];

export function isRuleId(name: string): name is RuleId {
  return Object.hasOwn(RULES, name);
}

/** Where a rule is written down for people. */
export function rulePage(id: string): string {
  return ourPage(`docs/rules.md#${id}`);
}
