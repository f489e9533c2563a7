import type { Family } from '../family';
import { megatronYaml } from './megatron';
import { megatronProgram } from './megatron-program';
import { MEGATRON_RULES } from './megatron-rule-table';

/** Megatron-LM. */
export const megatronFamily: Family = {
  dialects: [megatronYaml],
  programs: [megatronProgram],
  launches:
    /\bpretrain_\w+\.py\b|--(?:tensor[-_]model[-_]parallel[-_]size|yaml[-_]cfg|micro[-_]batch[-_]size)\b/,
  rules: { title: 'Megatron-LM', table: MEGATRON_RULES },
};
