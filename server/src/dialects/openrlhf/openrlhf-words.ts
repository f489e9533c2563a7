import { trainerWords } from '../hf/hf-words';
import { oneOf, type Words } from '../words';

/** OpenRLHF: the Trainer's names where it has them, and optimizers of its own. */
export const openrlhfWords: Words = {
  ...trainerWords,
  'optimizer.name': oneOf<string>('optim', { adamw: 'adam', muon: 'muon' }),
};
