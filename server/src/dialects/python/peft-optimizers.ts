import type { PyCall } from '../../config/python/value';
import { fileIn, PEFT } from '../../sources/repositories';
import { say } from '../../wording/say';
import { argumentOf, type Calls, leaveArgument } from './call-block';

const MAKES = /^peft\.(?:optimizers\.(?:\w+\.)?)?(create_(?:lorafa|loraplus|riemannian)_optimizer)$/;
const SOURCE = fileIn(PEFT, 'src/peft/optimizers/lorafa.py');

/** The function of PEFT that makes an optimizer of a model with adapters; undefined for any other call. */
export const peftOptimizer = ({ callee, of }: PyCall): string | undefined =>
  of ? undefined : MAKES.exec(callee)?.[1];

/** Whether it freezes a part of the adapters. */
export const freezesFirst = (call: PyCall): boolean => peftOptimizer(call) === 'create_lorafa_optimizer';

/**
 * LoRA-FA freezes the first matrix of each adapter, and keeps the states of AdamW, weight by weight, of what is left
 * (`peft/optimizers/lorafa.py`). LoRA+ and the Riemannian one give all trained weights to the class that they are given
 * (`loraplus.py`, `riemannian.py`): that call is the answer.
 */
export function readPeftOptimizer({ draft }: Calls, made: PyCall): PyCall | undefined {
  if (freezesFirst(made)) {
    const place = { range: made.calleeRange };
    draft.state('lora.frozenFirst', true, place, made.callee);
    draft.state('optimizer.name', 'adamw', place, made.callee);
    draft.assume('optimizer.implementation', 'for-loop', say('{0} default', 'PEFT'), SOURCE);
    return undefined;
  }
  const kind = argumentOf(made, 'optimizer_cls', 1);
  if (kind?.kind === 'name' && !made.open)
    return { ...made, callee: kind.name, positional: [], calleeRange: kind.range };
  const place = kind ?? { kind: 'unknown' as const, range: made.calleeRange };
  leaveArgument(draft, 'optimizer_cls', place, ['optimizer.name']);
  return undefined;
}
