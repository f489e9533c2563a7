import type { Source } from '../../results/source';
import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';
import { say } from '../../wording/say';
import { elementsWords } from '../formula-words';
import { emptyLedger, type Ledger, post } from '../ledger';
import { rounded } from '../play';
import { ledger, NONE } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { ownWeights } from '../weights';

/** Trained weights of one copy of a stage, elements. */
export interface Trained {
  readonly elements: number;
  /** The largest one that no bucket takes: it waits whole for the next weight's gradient. */
  readonly oversized: number;
  /** The one whose gradient came before that of the largest, which waits while that is made: a smaller one between them would send it. */
  readonly besideLargest: number;
  /** All that no bucket takes. */
  readonly oversizedSum: number;
  readonly first: number;
}

/** The trained weights of one copy of a stage, against a bucket of so many elements. */
export function trainedOf(stage: TracedStage, bucket: number): Trained {
  const trained = ownWeights(stage).filter(({ trainable }) => trainable);
  const over = (size: number) => (size > bucket ? size : 0);
  const sizes = trained.map(({ localElements }) => localElements);
  const elements = sizes.reduce((sum, size) => sum + size, 0);
  const oversized = sizes.reduce((most, size) => Math.max(most, over(size)), 0);
  const oversizedSum = sizes.reduce((sum, size) => sum + over(size), 0);
  const first = sizes[0] ?? 0;
  // A linear layer's bias has its gradient with the weight's: what comes before is another module's.
  const apart = trained
    .filter(({ name }) => !name.endsWith('.bias'))
    .map(({ localElements }) => localElements);
  let besideLargest = 0;
  apart.forEach((size, index) => {
    if (size === oversized) besideLargest = Math.max(besideLargest, over(apart[index + 1] ?? 0));
  });
  return { elements, oversized, besideLargest, oversizedSum, first };
}

/** How the gradients of a stage's copies fill the bucket, copies in the order of backward. */
interface Filling {
  readonly own: Trained;
  /** The gradient that waits whole for the next one, and the largest that can while that of the largest weight of a layer is made. */
  readonly pending: Ledger;
  readonly beside: Ledger;
  /** Gradients have gone to the bucket while or before the copy ran. */
  readonly began: (copy: number) => boolean;
  /** Elements of trained weights that backward has passed when the copy begins. */
  readonly passed: (copy: number) => number;
  /** The copy sends a bucket: it is full, or a gradient is larger. */
  readonly sends: (copy: number) => boolean;
  /** One was sent before the copy. */
  readonly sent: (copy: number) => boolean;
  /** The copy with which so many elements have been passed. */
  readonly copyAt: (elements: number) => number;
}

/** The stages in the order of backward with how they fill the bucket. `waiting`: what a gradient of so many elements takes that waits. */
export function fillings(
  stages: readonly TracedStage[],
  run: TrainingRun,
  waiting: (elements: number) => Ledger,
): readonly (readonly [TracedStage, Filling])[] {
  const bucket = run['zero.reduceBucket'];
  const eager = behaviours(run).makesBucketsBeforeLoss;
  let before = 0;
  let oversizedBefore = false;
  return [...stages].reverse().map((traced) => {
    const own = trainedOf(traced, bucket);
    const from = before;
    const oversizedEarlier = oversizedBefore;
    const there = eager || from > 0 || (own.elements > 0 && traced.stage.role === 'layer');
    const passed = (copy: number) => from + copy * own.elements;
    before += traced.copies * own.elements;
    oversizedBefore ||= own.oversized > 0;
    const filling: Filling = {
      own,
      pending: waiting(own.oversized),
      beside: traced.stage.role === 'layer' ? waiting(own.besideLargest) : NONE,
      began: (copy) => there || copy > 0,
      passed,
      sends: (copy) => own.elements > 0 && (passed(copy + 1) > bucket || own.oversized > 0),
      sent: (copy) => passed(copy) > bucket || oversizedEarlier || (copy > 0 && own.oversized > 0),
      copyAt: (elements) => (own.elements > 0 ? Math.ceil((elements - from) / own.elements) - 1 : 0),
    };
    return [traced, filling] as const;
  });
}

/** A gradient larger than the bucket, which waits for the next one. `width`: bytes per element. */
export function waitingBytes(elements: number, width: number, source: Source): Ledger {
  return wholeGradients(
    elements,
    width,
    say('gradient larger than the bucket, waiting for the next one'),
    source,
  );
}

/** Gradients that no bucket takes, under a name. `width`: bytes per element. */
export function wholeGradients(elements: number, width: number, name: string, source: Source): Ledger {
  if (elements === 0) return NONE;
  const sum = emptyLedger();
  post(sum, 'gradients', rounded(elements * width), {
    name,
    formula: elementsWords(elements, width),
    source,
  });
  return sum;
}

/**
 * What is sent, joined once more where parts of it go to several ranks (`allreduce_bucket`, `flatten`;
 * `reduce_scatter_coalesced`). `width`: bytes per element.
 */
export function joinedOnce(elements: number, width: number, source: Source): Ledger {
  if (elements === 0) return NONE;
  const sum = emptyLedger();
  post(sum, 'communication-buffers', elements * width, {
    name: say('what is reduced, joined once more'),
    formula: elementsWords(elements, width),
    source,
  });
  return sum;
}

/** Bytes of a buffer without words. */
export function scratch(bytes: number): Ledger {
  return bytes > 0 ? ledger(['communication-buffers', bytes]) : NONE;
}
