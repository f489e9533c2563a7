import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { TRAINER_RELEASES } from '../hf/training-arguments-keys';

const [TRAINERS, OF_TRAINERS = ''] = TRAINER_RELEASES;

/** Of no releases that were looked at: TRL 1.16, `trl/scripts/utils.py`. */
const MIXTURE = ['datasets', 'streaming', 'test_split_size'];

/** Every argument that a dataclass of transformers or TRL takes in any release, by its name; undefined for others. */
export function libraryArguments(name: string): readonly string[] | undefined {
  if (name === 'DatasetMixtureConfig') return MIXTURE;
  const isTrainers = /^(?:Seq2Seq)?TrainingArguments$/.test(name);
  if (!isTrainers && !TRL_RELEASES.tableNames.includes(name)) return undefined;
  const own = isTrainers ? [] : TRL_RELEASES.table(name).keys();
  const inherited = isTrainers || name.endsWith('Config') ? TRAINERS.table(OF_TRAINERS).keys() : [];
  return [...own, ...(name === 'ModelConfig' ? [] : inherited)];
}
