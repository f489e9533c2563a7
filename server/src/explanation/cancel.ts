import type { Label } from '../memory/ledger';
import { rounded } from '../memory/play';
import type { TapeIndex } from './tape-index';
import { tensorBytes } from './tensor-bytes';

/** Where a label stands, and the bytes of one of it: what may stand for what. */
interface Footing {
  readonly family: 'storage' | 'gradient' | 'weight' | 'other';
  readonly each: number;
  readonly order: number;
  readonly handedOn: boolean;
}

function footing(label: Label, index: TapeIndex): Footing {
  const storage = index.storages.get(label);
  if (storage && 'bytes' in label) {
    const each = rounded(Number(label.bytes));
    return { family: 'storage', each, order: storage.place.order, handedOn: storage.leaves };
  }
  const tensor = index.tensors.get(label);
  if (tensor) {
    const each = tensorBytes(tensor.tensor);
    return { family: 'gradient', each, order: tensor.place.order, handedOn: true };
  }
  const weight = index.weights.get(label);
  if (weight) {
    const each = weight.weight.localElements;
    return { family: 'weight', each, order: weight.place.order, handedOn: true };
  }
  return { family: 'other', each: 0, order: 0, handedOn: false };
}

/**
 * A stage gives back under its own name what it got from another one: the input of a layer is the result of the one
 * before. Takes such negative bytes from the positive ones that they stand for: of the same family and size, in forward
 * the earliest, in backward the latest. Returns what is left, all positive, and the bytes that found nothing of their kind.
 */
export function cancelled(
  items: ReadonlyMap<Label, number>,
  index: TapeIndex,
  inBackward: boolean,
): { readonly left: Map<Label, number>; readonly astray: number } {
  const left = new Map(items);
  let astray = 0;
  for (const [label, bytes] of items) {
    if (bytes >= 0) continue;
    left.delete(label);
    let owed = -bytes;
    const own = footing(label, index);
    const positive = [...left]
      .filter(([, held]) => held > 0)
      .map(([other]) => ({ other, at: footing(other, index) }));
    const sameKind = positive
      .filter(({ at }) => at.family === own.family && at.each === own.each)
      .sort(
        (a, b) =>
          Number(b.at.handedOn) - Number(a.at.handedOn) ||
          (inBackward ? b.at.order - a.at.order : a.at.order - b.at.order),
      );
    const rest = positive.filter(({ other }) => !sameKind.some((same) => same.other === other));
    // The gradient of the loss stands in the loss's own place.
    rest.sort((a, b) => Number(b.at.each === own.each) - Number(a.at.each === own.each));
    for (const { other, at } of [...sameKind, ...rest]) {
      if (owed <= 0.5) break;
      const taken = Math.min(owed, left.get(other) ?? 0);
      left.set(other, (left.get(other) ?? 0) - taken);
      if (at.each !== own.each) astray += taken;
      owed -= taken;
    }
    if (owed > 0.5) astray += owed;
  }
  for (const [label, bytes] of left) if (Math.abs(bytes) < 0.5) left.delete(label);
  return { left, astray };
}
