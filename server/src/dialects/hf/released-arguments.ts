import type { MapEntry, MapNode } from '../../config/node';
import type { Problem } from '../../text/problem';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { FrameworkKey, FrameworkKeys } from '../framework-keys';
import type { Releases } from '../release';
import { TRAINER_RELEASES, TRAINING_ARGUMENTS_TABLE } from './training-arguments-keys';

const [TRAINERS, OF_TRAINERS] = TRAINER_RELEASES;

/** `4.41` of `4.41.2`: releases are looked at by their last patch, and arguments come and go with the first. */
const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/** Releases without an argument, and where one of them has what it takes. */
export function refusals(
  { since, until }: FrameworkKey,
  keys: FrameworkKeys,
  table: string,
): (readonly [Releases, source: string])[] {
  const before = since === undefined ? undefined : keys.versions[keys.versions.indexOf(since) - 1];
  return [
    ...(since !== undefined && before !== undefined
      ? [[{ until: minorOf(since) }, keys.sourceOf(table, before)] as const]
      : []),
    ...(until === undefined ? [] : [[{ from: minorOf(until) }, keys.sourceOf(table, until)] as const]),
  ];
}

/** What takes the place of an argument that is none, for a fix and in words. */
export function insteadOf(key: string): {
  readonly data: NonNullable<Problem['data']>;
  readonly words: string;
} {
  const other = otherName(key);
  if (other === undefined) return { data: { key }, words: '' };
  return {
    data: { replacement: other, suggestions: [other] },
    words: ` ${say('It is called `{0}` there.', other)}`,
  };
}

/** The name that an argument has in other releases. */
function otherName(key: string): string | undefined {
  const row = TRAINING_ARGUMENTS_TABLE.find(key);
  if (row?.deprecated !== undefined) return row.deprecated;
  return TRAINING_ARGUMENTS_TABLE.names('').find(
    (name) => TRAINING_ARGUMENTS_TABLE.find(name)?.deprecated === key,
  );
}

/**
 * Arguments of the Trainer in a file or on a command line that the release which is named does not take: a parser stops there
 * (`HfArgumentParser.parse_args_into_dataclasses` and `parse_dict`, `hf_argparser.py`). `may`: whoever reads them may have
 * one of the name. `isOwn`: those that the framework around the Trainer has itself.
 */
export function checkParsedArguments(
  root: MapNode,
  draft: Draft,
  { may, isOwn }: { readonly may: boolean; readonly isOwn?: (key: string) => boolean },
): void {
  const known = draft.statedVersion('transformers');
  // What Hydra composes no parser of classes reads.
  if (!known || root.entries.some(isOfHydra)) return;
  for (const { key, keyRange } of root.entries) {
    const found = TRAINERS.table(OF_TRAINERS ?? '').get(key);
    if (!found || isOwn?.(key)) continue;
    for (const [releases, source] of refusals(found, TRAINERS, OF_TRAINERS ?? '')) {
      const standing = draft.standing(source, releases);
      // Of a range, whoever wrote the file has one that takes it.
      if (standing?.doubt !== '') continue;
      const message = say(
        '`{0}` is no argument of transformers {1}: a parser that is made of its `TrainingArguments` stops there.',
        key,
        known.version,
      );
      const { data, words } = insteadOf(key);
      const severity = may ? 'warning' : standing.severity;
      draft.report('argument-release', severity, `${message}${words}`, keyRange, { source, data });
      break;
    }
  }
}

const isOfHydra = ({ key, value }: MapEntry): boolean =>
  /^(?:defaults|hydra)$/.test(key) ||
  (value.kind === 'map' && value.entries.some((inner) => inner.key === '_target_'));
