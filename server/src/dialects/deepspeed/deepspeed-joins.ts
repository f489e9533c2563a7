import type { Fact } from '../../run/origin';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import type { Problem } from '../../text/problem';
import { say } from '../../wording/say';
import type { Joins, RunMember } from '../dialect';
import { scriptQuestions } from '../hf/launch-question';
import { fillAutos } from './deepspeed-auto';
import { filledAutos, mismatchesBelow, trainerMismatches } from './trainer-match';

/** The optimizer that a DeepSpeed file builds is the run's: the Trainer leaves its own out. */
const TRAINER_OPTIMIZER = fileIn(TRANSFORMERS, 'src/transformers/integrations/deepspeed.py');

/** DeepSpeed's files of a run, and those that hand their arguments to the Trainer. */
function pairsOf(members: readonly RunMember[]) {
  const configs = members.map(({ config }) => config);
  const callers = configs.filter(({ dialect }) => dialect.id !== 'deepspeed' && dialect.id !== 'accelerate');
  const deepspeed = configs.filter(({ dialect }) => dialect.id === 'deepspeed');
  return { callers, deepspeed };
}

/** At the key that names an optimizer which is never built. */
function reportReplaced(
  replaced: readonly Fact[],
  winner: Parameters<NonNullable<Joins['reportReplaced']>>[1],
): Problem[] {
  const mine = replaced.find(({ field }) => field === 'optimizer.name');
  const built = winner('optimizer.name');
  const there = built?.origin.location;
  if (!mine?.origin.location || !built || !there) return [];
  return [
    {
      code: 'replaced-optimizer',
      severity: 'information',
      message: say(
        'The optimizer of the DeepSpeed file ({0}) is built; `{1}` has no effect beside it.',
        String(built.value),
        mine.origin.key ?? 'optim',
      ),
      range: mine.origin.location.range,
      source: TRAINER_OPTIMIZER,
      related: [{ ...there, message: say('optimizer {0}', String(built.value)) }],
    },
  ];
}

/** DeepSpeed beside the Trainer of Hugging Face: who fills `auto`, whose optimizer is built, which values must be equal. */
export const deepspeedJoins: Joins = {
  questions: scriptQuestions,
  fillAutos,
  filled: (self, members) => filledAutos(self, pairsOf(members).callers),
  replaces: (own) =>
    own.some(({ field, origin }) => field === 'optimizer.name' && origin.kind === 'file')
      ? ({ field, origin }) => field.startsWith('optimizer.') && origin.kind !== 'directive'
      : undefined,
  reportReplaced,
  check(self, members) {
    const { callers, deepspeed } = pairsOf(members);
    return deepspeed.flatMap((file) => trainerMismatches(self, file, callers));
  },
  checkLinked(self, members, links) {
    const { callers, deepspeed } = pairsOf(members);
    return mismatchesBelow(self, links, deepspeed, callers);
  },
};
