import { rejectMisfits } from '../key-check';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { checkOpenrlhf, type OpenrlhfTrainer, readOpenrlhf } from './openrlhf';
import { OPENRLHF_KEYS, OPENRLHF_TABLE } from './openrlhf-keys';
import { openrlhfWords } from './openrlhf-words';

function trainerOf(launch: Launch): OpenrlhfTrainer | undefined {
  const script = launch.script ?? '';
  const module = /^openrlhf\.cli\.train_(sft|dpo|rm|kto|kd|ppo)(?:_ray)?$/.exec(script);
  const file = module ?? /openrlhf\/cli\/train_(sft|dpo|rm|kto|kd|ppo)(?:_ray)?\.py$/.exec(script);
  if (file) return file[1] as OpenrlhfTrainer;
  // Its examples of 2023 were scripts of their own.
  const old = /(?:^|\/)train_(sft|dpo|rm|kto|kd|ppo)(?:_ray)?\.py$/.exec(script);
  const own = launch.arguments.entries.some(({ key }) => key === 'micro_train_batch_size');
  return old && own ? (old[1] as OpenrlhfTrainer) : undefined;
}

/** A script of a trainer's name in a folder that OpenRLHF does not have: somebody's own, on its flags. */
function startsOwn({ script = '' }: Launch): boolean {
  const folder = script.split('/').at(-2) ?? '';
  return /\.py$/.test(script) && !/^(?:|\.{1,2}|examples|cli)$/.test(folder);
}

/** PPO without Ray, as there was until 0.6: all its models lie on every GPU that the launcher starts a process for. */
const isAlone = (launch: Launch): boolean =>
  trainerOf(launch) === 'ppo' && !/_ray(?:\.py)?$/.test(launch.script ?? '');

/** OpenRLHF's trainers under DeepSpeed's launcher or Ray. */
export const openrlhfProgram: Program = {
  name: 'OpenRLHF',
  keys: OPENRLHF_KEYS,
  words: openrlhfWords,
  refusesOthers: true,
  released: OPENRLHF_TABLE.released,
  startsOwn,
  parser: (launch) => (startsOwn(launch) ? undefined : { table: OPENRLHF_TABLE, dashes: false }),
  match: (launch) => (trainerOf(launch) ? 1 : 0),
  countsGpus: (launch) => trainerOf(launch) === 'ppo' && !isAlone(launch),
  read(launch, draft, context) {
    const trainer = trainerOf(launch);
    if (!trainer) return;
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`, OPENRLHF_TABLE);
    readOpenrlhf(section, isAlone(launch) ? 'ppo-alone' : trainer, draft, context);
    rejectMisfits(launch.arguments, OPENRLHF_TABLE, draft);
    checkOpenrlhf(launch.arguments, section, trainer, draft);
  },
};
