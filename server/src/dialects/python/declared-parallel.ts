import { isTrue } from '../../config/python/node-of-value';
import type { PyProgram } from '../../config/python/value';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Calls } from './call-block';
import type { ModelChain } from './model-chain';

/** Both on a model, and the Trainer takes it to be spread (transformers 4.57.6, `trainer.py`, `__init__`). */
const DECLARES = ['is_parallelizable', 'model_parallel'] as const;

/** No Trainer looks at them since this release. */
const UNTIL = '5.0';

/** Code that declares its model to be spread: one process replicates it on no other GPU, wherever it lies. */
export function readDeclaredParallel(
  { program, draft }: Calls,
  chain: ModelChain,
  { known }: ReadContext,
): void {
  if (isAtLeast(known['version.transformers'], UNTIL) === true) return;
  const [can, declared] = DECLARES.map((name) => declaration(program, chain, name));
  if (!can || !declared) return;
  const gpus = draft.valueOf('hardware.gpus') ?? known['hardware.gpus'];
  // Where there are several processes, each has the model: such code asks for that first.
  if (gpus !== undefined && gpus !== 1) return;
  draft.infer(
    'parallel.data',
    'none',
    say('`{0}` is set: the Trainer replicates nothing', DECLARES[1]),
    declared,
    DECLARES[1],
  );
}

const declaration = ({ assignments }: PyProgram, { ids }: ModelChain, name: string) =>
  assignments.findLast(
    ({ of, attribute, within, value }) =>
      ids.has(of) && within === undefined && attribute.replace(/^\./, '') === name && isTrue(value),
  );
