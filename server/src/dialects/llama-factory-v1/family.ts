import type { Family } from '../family';
import { llamaFactoryV1 } from './llama-factory-v1';

/** LLaMA-Factory, its version 1. */
export const llamaFactoryV1Family: Family = {
  dialects: [llamaFactoryV1],
};
