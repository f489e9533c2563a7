import { say } from '../wording/say';
import type { TracedStage } from './traced-run';

/** Where the layers of a stage stand in their stack. */
export interface LayerPlace {
  readonly first: number;
  /** The module that holds the stack, where a model has several and it is not the model's own; '' else. */
  readonly stack: string;
}

/** The list of layers at the end of a stage's name: `encoder.layers`, `decoder.block`. */
const LIST = /\.?(?:\w+_)?(?:layers?|blocks?)$/;

const stackOf = (name: string): string => name.replace(LIST, '');

/**
 * The places of all stages, each as it stands in the list. Layers count as the model's own names count them: those of a tower, an encoder
 * and a decoder each from zero.
 */
export function layerPlaces(stages: readonly TracedStage[]): readonly LayerPlace[] {
  const stacks = new Set(
    stages.flatMap(({ stage: { name, role } }) => (role === 'layer' ? [stackOf(name)] : [])),
  );
  const counted = new Map<string, number>();
  return stages.map(({ stage: { name, role }, copies }) => {
    const stack = stackOf(name);
    const first = counted.get(stack) ?? 0;
    if (role === 'layer') counted.set(stack, first + copies);
    return { first, stack: stacks.size > 1 ? stack.replace(/_/g, ' ') : '' };
  });
}

/** A layer by its number in its stack, as people say it. */
export function layerWords({ first, stack }: LayerPlace, index: number): string {
  const number = String(first + index);
  return stack === '' ? say('layer {0}', number) : say('layer {0} of {1}', number, stack);
}
