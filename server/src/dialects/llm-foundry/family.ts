import type { Family } from '../family';
import { llmFoundry } from './llm-foundry';
import { foundryProgram } from './llm-foundry-program';
import { LLM_FOUNDRY_RULES } from './llm-foundry-rule-table';

/** LLM Foundry. */
export const llmFoundryFamily: Family = {
  dialects: [llmFoundry],
  programs: [foundryProgram],
  launches: /\bcomposer [^\n]{0,200}\.py\b/,
  rules: { title: 'LLM Foundry', table: LLM_FOUNDRY_RULES },
};
