import type { Family } from '../family';
import { llmFoundry } from './llm-foundry';
import { foundryProgram } from './llm-foundry-program';

/** LLM Foundry. */
export const llmFoundryFamily: Family = {
  dialects: [llmFoundry],
  programs: [foundryProgram],
  launches: /\bcomposer [^\n]{0,200}\.py\b/,
};
