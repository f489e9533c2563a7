import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { rejectMisfits } from '../key-check';
import type { Launch } from '../launch/launch';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { checkLiger } from './liger-refusals';
import { readTrl, trlRecipe } from './trl';
import { TRL_KEYS, TRL_TABLE } from './trl-keys';
import { checkParsedTrl, checkTrl } from './trl-rules';
import { trlWords } from './trl-words';

const METHODS = /^(sft|dpo|grpo|kto|orpo|cpo|rloo|reward|ppo)$/;

/** Its own command, and the scripts that come with it. */
const isOwn = ({ program, script = '' }: Launch): boolean =>
  program[0] === 'trl' || /trl[/.].*scripts[/.]|examples\/scripts\/(sft|dpo|grpo|kto|orpo|cpo)/.test(script);

/** What `TrlParser` itself takes, and `DatasetMixtureConfig` (TRL 1.16, `trl/scripts/utils.py`). */
const OTHERS = [
  'config',
  'datasets',
  'streaming',
  'test_split_size',
  'ignore_bias_buffers',
  'dataset_streaming',
];

/** `trl sft ...`, and TRL's and the alignment handbook's scripts under a launcher. */
export const trlProgram: Program = {
  name: 'TRL',
  keys: TRL_KEYS,
  words: trlWords,
  config: trlRecipe,
  parser: (launch) => (isOwn(launch) ? { table: TRL_TABLE, others: OTHERS, dashes: true } : undefined),
  match(launch) {
    if (launch.program[0] === 'trl' && METHODS.test(launch.program[1] ?? '')) return 1;
    const script = launch.script ?? '';
    if (isOwn(launch)) return 0.9;
    const named = /(^|[/_])(run_)?(sft|dpo|orpo|grpo|simpo)(\.py)?$/.test(script);
    const recipe = launch.words.some((word) =>
      /recipes?\/|training_configs\/|config.*\.ya?ml$/.test(word.text),
    );
    return named && (recipe || entryOf(launch.arguments, 'config')) ? 0.85 : 0;
  },
  read(launch, draft, context) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`, TRL_TABLE);
    const place = `${launch.program.join('/')}/${launch.script ?? ''}`;
    // What the recipe states is not a default here.
    draft.assume('framework', 'trl', say('the script starts {0}', 'TRL'));
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    const method = readTrl(section, place, draft, context);
    if (!linked) {
      rejectMisfits(launch.arguments, TRL_TABLE, draft);
      checkTrl(launch.arguments, section, method, draft);
      checkParsedTrl(launch.arguments, draft);
      checkLiger(section, method, draft, context);
    }
  },
};
