import text from '../../../vocabularies/in-house.yaml' with { type: 'text' };
import { parseConfig } from '../../config/parse';
import { say } from '../../wording/say';
import type { Dialect } from '../dialect';
import { inHouseWords } from './in-house-words';
import { readVocabulary } from './read-vocabulary';
import { markersOf, SUREST_VOCABULARY, vocabularyDialect } from './vocabulary-dialect';

/** Its markers, read off the text: most files are turned away by them, and need no vocabulary. */
function markers(): RegExp {
  const [, list = ''] = /^ {2}markers:\r?\n((?: {4}- \S+\r?\n)+)/m.exec(text) ?? [];
  return markersOf([...list.matchAll(/- (\S+)/g)].map((match) => match[1] ?? ''));
}

let made: Dialect | undefined;

/** The whole vocabulary, read when the first file asks for it. */
function dialect(): Dialect {
  if (made) return made;
  const { vocabulary } = readVocabulary(parseConfig('vocabularies/in-house.yaml', text));
  if (!vocabulary) throw new Error('the built-in vocabulary cannot be read');
  made = vocabularyDialect(vocabulary, true);
  return made;
}

/** An encoder stack in TensorFlow with Horovod: a vocabulary file like those of teams, and nothing else. */
export const inHouse: Dialect = {
  id: 'in-house',
  get name() {
    return say('In-house encoder stack');
  },
  words: inHouseWords,
  markers: markers(),
  // To ask it is to read the vocabulary, which costs more than a config.
  surest: SUREST_VOCABULARY,
  get keys() {
    return dialect().keys;
  },
  detect: (root, fileName) => dialect().detect(root, fileName),
  read: (document, context) => dialect().read(document, context),
  rowAt: (path) => dialect().rowAt?.(path),
};
