import type { PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { FrameworkKey, FrameworkKeys } from '../framework-keys';
import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_TABLE } from '../hf/training-arguments-keys';
import type { Releases } from '../release';
import type { Calls } from './call-block';
import { takesTrainerArguments } from './dropped-arguments';

const [TRAINERS, OF_TRAINERS] = TRAINER_RELEASES;

/** `4.41` of `4.41.2`: releases are looked at by their last patch, and an argument may be there since the first. */
const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/**
 * Arguments of a config that the release which is named does not take: the call stops with a `TypeError`. Only of releases that somebody
 * names, since what the arguments themselves tell of the release takes all of them.
 */
export function checkArgumentReleases(
  { draft }: Calls,
  config: PyCall | undefined,
  { versions = {} }: ReadContext,
): void {
  if (!config || !takesTrainerArguments(config)) return;
  const callee = config.callee.split('.').at(-1) ?? '';
  const own = config.callee.startsWith('trl.') ? TRL_RELEASES.table(callee) : undefined;
  for (const { key, keyRange } of config.named) {
    const [ofTrainers, ofTrl] = [TRAINERS.table(OF_TRAINERS ?? '').get(key), own?.get(key)];
    // Either of the two may bring an argument that both have.
    const found = ofTrl && ofTrainers ? undefined : (ofTrl ?? ofTrainers);
    const [name, keys, table] = ofTrl
      ? ['trl', TRL_RELEASES, callee]
      : ['transformers', TRAINERS, OF_TRAINERS ?? ''];
    const known = versions[name];
    if (!found || !known || known.source === 'assumed') continue;
    for (const [releases, source] of refusals(found, keys, table)) {
      const message = say(
        '`{0}` of {1} {2} takes no `{3}`: the call stops with a `TypeError`.',
        callee,
        name,
        known.version,
        key,
      );
      const other = otherName(key);
      const data = other === undefined ? { key } : { replacement: other, suggestions: [other] };
      if (draft.refuse('argument-release', message, keyRange, { source, releases, data })) break;
    }
  }
}

/** Releases without an argument, and where one of them has what it takes. */
function refusals(
  { since, until }: FrameworkKey,
  keys: FrameworkKeys,
  table: string,
): (readonly [Releases, source: string])[] {
  const before = since === undefined ? undefined : keys.versions[keys.versions.indexOf(since) - 1];
  return [
    ...(since !== undefined && before !== undefined
      ? [[{ until: minorOf(since) }, keys.sourceOf(table, before)] as const]
      : []),
    ...(until === undefined ? [] : [[{ from: until }, keys.sourceOf(table, until)] as const]),
  ];
}

/** The name that an argument has in other releases. */
function otherName(key: string): string | undefined {
  const row = TRAINING_ARGUMENTS_TABLE.find(key);
  if (row?.deprecated !== undefined) return row.deprecated;
  return TRAINING_ARGUMENTS_TABLE.names('').find(
    (name) => TRAINING_ARGUMENTS_TABLE.find(name)?.deprecated === key,
  );
}
