import type { PyCall, PyProgram } from '../../config/python/value';
import { otherTraining } from './other-training';
import { optimizerClass } from './training-loop';

const lineOf = ({ calleeRange: { uri, start } }: PyCall) => `${uri ?? ''}:${start.line}`;

/**
 * Where a program trains beside the training that counts, by loops of its own or by another library, in the order of the text. Gradients that are asked
 * for once, outside of any loop, show something.
 */
export function otherStarts(program: PyProgram, counted: PyCall): PyCall[] {
  const { calls } = program;
  const first = calls.find((call) => optimizerClass(call) !== undefined);
  const own = counted.loops[0];
  const loops = calls.filter(
    ({ callee, id, loops: [around] }) =>
      callee === 'backward' && first !== undefined && id > first.id && around !== undefined && around !== own,
  );
  const outer = loops.filter(
    (call, index) => loops.findIndex(({ loops: [around] }) => around === call.loops[0]) === index,
  );
  const library = otherTraining(program)?.call;
  const found = [...outer, ...(library ? [library] : [])].filter((call) => lineOf(call) !== lineOf(counted));
  return found
    .filter((call, index) => found.findIndex((one) => lineOf(one) === lineOf(call)) === index)
    .sort((a, b) => a.id - b.id);
}
