import text from '../../../vocabularies/in-house.yaml' with { type: 'text' };
import { parseConfig } from '../../config/parse';
import type { Dialect } from '../dialect';
import { readVocabulary } from './read-vocabulary';
import { vocabularyDialect } from './vocabulary-dialect';

function builtIn(): Dialect {
  const { vocabulary } = readVocabulary(parseConfig('vocabularies/in-house.yaml', text));
  if (!vocabulary) throw new Error('the built-in vocabulary cannot be read');
  return vocabularyDialect(vocabulary);
}

/** An encoder stack in TensorFlow with Horovod: a vocabulary file like those of teams, and nothing else. */
export const inHouse: Dialect = builtIn();
