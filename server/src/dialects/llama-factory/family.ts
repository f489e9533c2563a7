import type { Family } from '../family';
import { llamaFactory } from './llama-factory';
import { llamaFactoryProgram } from './llama-factory-program';

/** LLaMA-Factory. */
export const llamaFactoryFamily: Family = {
  dialects: [llamaFactory],
  programs: [llamaFactoryProgram],
  launches: /\bllamafactory-cli\b/,
};
