import type { Family } from '../family';
import { llamaFactory } from './llama-factory';
import { llamaFactoryProgram } from './llama-factory-program';
import { LLAMA_FACTORY_RULES } from './llama-factory-rule-table';

/** LLaMA-Factory. */
export const llamaFactoryFamily: Family = {
  dialects: [llamaFactory],
  programs: [llamaFactoryProgram],
  launches: /\bllamafactory-cli\b/,
  rules: { title: 'LLaMA-Factory', table: LLAMA_FACTORY_RULES },
};
