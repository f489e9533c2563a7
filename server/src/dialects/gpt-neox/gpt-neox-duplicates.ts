import type { ConfigDocument, MapNode } from '../../config/node';
import { fileIn, GPT_NEOX } from '../../sources/repositories';
import type { Problem } from '../../text/problem';
import { fileName } from '../../text/uri';
import { say } from '../../wording/say';
import type { Joins } from '../dialect';
import { argumentNames } from '../megatron/spelled-section';

const SOURCE = fileIn(GPT_NEOX, 'megatron/neox_arguments/arguments.py');

/**
 * Keys of a file that another file of the same run has too: GPT-NeoX merges its files and stops on a key that it has seen
 * (`from_ymls`), however it is spelled.
 */
function duplicateNeoxKeys(own: ConfigDocument, others: readonly ConfigDocument[]): Problem[] {
  const entries = namesOf(own);
  return others.flatMap((other) => {
    const theirs = new Map(namesOf(other).map((entry) => [entry.key, entry]));
    return entries.flatMap(({ key, keyRange }): Problem[] => {
      const twin = theirs.get(key);
      if (!twin) return [];
      const name = fileName(other.uri);
      return [
        {
          code: 'duplicate-key',
          severity: 'error',
          message: say(
            '`{0}` stands in {1} too: GPT-NeoX stops on a key that two files of a run have.',
            key,
            name,
          ),
          range: keyRange,
          source: SOURCE,
          related: [{ uri: other.uri, range: twin.keyRange, message: say('`{0}` here', key) }],
        },
      ];
    });
  });
}

function namesOf({ root }: ConfigDocument): MapNode['entries'] {
  return root?.kind === 'map' ? argumentNames(root).entries : [];
}

/** Files that GPT-NeoX merges into one run must not have keys in common. */
export const neoxJoins: Joins = {
  check({ dialect, document }, members) {
    const beside = members.filter(
      ({ relation, config }) => relation === 'beside' && config.dialect.id === dialect.id,
    );
    return dialect.id === 'gpt-neox'
      ? duplicateNeoxKeys(
          document,
          beside.map(({ config }) => config.document),
        )
      : [];
  },
};
