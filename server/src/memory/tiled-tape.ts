import type { Operation, Tape } from '../model/tape';
import { playForward, rounded, sequence } from './play';
import { playBackward } from './play-backward';

/**
 * A tape whose operators that run part by part have what one part takes as their scratch: forward without a graph, whose result is copied
 * into that of all; in backward forward with a graph, and its backward. Bytes per GPU.
 */
export function withTiles(tape: Tape): Tape {
  if (!tape.operations.some(({ part }) => part !== undefined)) return tape;
  return { ...tape, operations: tape.operations.map((one) => (one.part ? partwise(one, one.part) : one)) };
}

function partwise(operation: Operation, part: Tape): Operation {
  const consumed = new Set<never>();
  const [one] = part.exit;
  // The result of the part before has its name until the next one's is there.
  const before = one && one.elements < (operation.outputs[0]?.elements ?? 0) ? rounded(one.storage.bytes) : 0;
  const plain = playForward(part, { grad: false, consumed });
  const again = playForward(part, { grad: true, consumed });
  const backward = playBackward(part, { gradients: 'pass', holdGradient: false });
  return {
    ...operation,
    forwardScratch: operation.forwardScratch + plain.peakBytes + before,
    backwardScratch: operation.backwardScratch + sequence(again, backward).peakBytes + before,
  };
}
