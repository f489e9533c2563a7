import type { PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { insteadOf, refusals } from '../hf/released-arguments';
import { TRAINER_RELEASES } from '../hf/training-arguments-keys';
import { type Calls, surelyPassed } from './call-block';
import { takesTrainerArguments } from './dropped-arguments';

const [TRAINERS, OF_TRAINERS] = TRAINER_RELEASES;

/**
 * Arguments of a config that the release which is named does not take: the call stops with a `TypeError`. Only of releases that somebody
 * names, since what the arguments themselves tell of the release takes all of them.
 */
export function checkArgumentReleases(
  { draft, program }: Calls,
  config: PyCall | undefined,
  { versions = {} }: ReadContext,
): void {
  if (!config || !takesTrainerArguments(config)) return;
  const callee = config.callee.split('.').at(-1) ?? '';
  const own = config.callee.startsWith('trl.') ? TRL_RELEASES.table(callee) : undefined;
  for (const { key, keyRange } of surelyPassed(program, config)) {
    const [ofTrainers, ofTrl] = [TRAINERS.table(OF_TRAINERS ?? '').get(key), own?.get(key)];
    // Either of the two may bring an argument that both have.
    const found = ofTrl && ofTrainers ? undefined : (ofTrl ?? ofTrainers);
    const [name, keys, table] = ofTrl
      ? ['trl', TRL_RELEASES, callee]
      : ['transformers', TRAINERS, OF_TRAINERS ?? ''];
    const known = versions[name];
    if (!found || !known || known.source === 'assumed') continue;
    for (const [releases, source] of refusals(found, keys, table)) {
      // Of a range, whoever wrote the file has one that takes it.
      if (!draft.isRefusedByNamed(source, releases)) continue;
      const message = say(
        '`{0}` of {1} {2} takes no `{3}`: the call stops with a `TypeError`.',
        callee,
        name,
        known.version,
        key,
      );
      const { data, words } = insteadOf(key);
      if (draft.refuse('argument-release', `${message}${words}`, keyRange, { source, releases, data })) break;
    }
  }
}
