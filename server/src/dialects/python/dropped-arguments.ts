import type { PyCall } from '../../config/python/value';
import type { FieldPath } from '../../run/fields';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { FrameworkKeys } from '../framework-keys';
import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { TRAINER_RELEASES } from '../hf/training-arguments-keys';
import type { Calls } from './call-block';

/** The last release of TRL whose trainer takes an argument itself (`trainer/sft_trainer.py`, `dpo_trainer.py`). */
const LAST_TAKING: Readonly<Record<string, readonly { readonly keys: RegExp; readonly release: string }[]>> =
  {
    sft: [
      {
        keys: /^(max_seq_length|packing|dataset_text_field|num_of_sequences|neftune_noise_alpha|dataset_kwargs)$/,
        release: '0.12.2',
      },
      { keys: /^tokenizer$/, release: '0.15.2' },
    ],
    dpo: [
      {
        keys: /^(beta|max_length|max_prompt_length|max_target_length|loss_type|precompute_ref_log_probs)$/,
        release: '0.12.2',
      },
      { keys: /^tokenizer$/, release: '0.15.2' },
    ],
  };

const OF_TRAINER = 'Seq2SeqTrainingArguments';

/** The newest release of those that were looked at that has a key which later ones have not. */
function lastWith(keys: FrameworkKeys, table: string, key: string): string | undefined {
  // What a class had of its own once it may inherit since.
  const inherited = TRAINER_RELEASES[0].table(OF_TRAINER).get(key);
  const own = keys.table(table).get(key);
  const until = own === inherited || !inherited ? own?.until : undefined;
  return until === undefined ? undefined : keys.versions[keys.versions.indexOf(until) - 1];
}

/** Arguments of TRL's trainers that older ones do not take, with the first release that does (`trainer/grpo_trainer.py` of v0.29.0, none of v0.28.0). */
const FIRST_TAKING: Readonly<Record<string, string>> = { environment_factory: '0.29.0' };

/** Notes the first releases that take all arguments of a trainer and of its config: the code cannot run on older ones. */
export function noteNeeds({ draft }: Calls, trainer: PyCall, config: PyCall | undefined): void {
  const need = (field: FieldPath, release: string | undefined) => {
    const before = draft.needs[field];
    if (release !== undefined && (before === undefined || isAtLeast(release, before) === true))
      draft.needs[field] = release;
  };
  if (trainer.callee.startsWith('trl.'))
    for (const { key } of trainer.named)
      if (Object.hasOwn(FIRST_TAKING, key)) need('version.trl', FIRST_TAKING[key]);
  const name = config?.callee.split('.').at(-1) ?? '';
  if (!config || config.subclass !== undefined) return;
  const trainers = TRAINER_RELEASES[0].table(OF_TRAINER);
  const own = config.callee.startsWith('trl.') ? TRL_RELEASES.table(name) : undefined;
  for (const { key } of config.named) {
    const inherited = trainers.get(key);
    if (inherited) need('version.transformers', inherited.since);
    else need('version.trl', own?.get(key)?.since);
  }
}

/** Whether a release is named; of a range the arguments may tell which of it is meant. */
const namesRelease = ({ facts }: Calls['draft'], field: FieldPath): boolean =>
  facts.some((known) => known.field === field && known.origin.orElse === undefined);

/** Arguments that releases dropped tell that the file is for one that has them: the newest with all of them. */
export function inferFromArguments({ draft }: Calls, config: PyCall | undefined): void {
  const name = config?.callee.split('.').at(-1) ?? '';
  if (!config || !/^(transformers|trl)\./.test(config.callee) || config.subclass !== undefined) return;
  const sources = [
    ['version.transformers', TRAINER_RELEASES[0], OF_TRAINER],
    ['version.trl', TRL_RELEASES, name],
  ] as const;
  for (const [field, keys, table] of sources) {
    if (namesRelease(draft, field)) continue;
    const last = config.named
      .flatMap(({ key, keyRange }) => {
        const release = lastWith(keys, table, key);
        return release === undefined ? [] : [{ key, keyRange, at: keys.versions.indexOf(release), release }];
      })
      .sort((a, b) => a.at - b.at)[0];
    if (!last) continue;
    const note = say('`{0}` takes `{1}` up to release {2}', name, last.key, last.release);
    draft.infer(field, last.release, note, { range: last.keyRange }, last.key);
  }
}

/** Arguments that a trainer took once and takes no more tell that the file is for a release that does. */
export function inferFromTrainer({ draft }: Calls, call: PyCall, method: string): void {
  if (!call.callee.startsWith('trl.') || call.subclass !== undefined) return;
  if (namesRelease(draft, 'version.trl')) return;
  for (const { keys, release } of LAST_TAKING[method] ?? []) {
    const argument = call.named.find(({ key }) => keys.test(key));
    if (!argument) continue;
    const note = say(
      '`{0}` takes `{1}` up to release {2}',
      call.callee.split('.').at(-1) ?? '',
      argument.key,
      release,
    );
    draft.infer('version.trl', release, note, { range: argument.keyRange }, argument.key);
    return;
  }
}
