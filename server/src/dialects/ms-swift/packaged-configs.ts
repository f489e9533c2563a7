import type { FieldPath, FieldValue } from '../../run/fields';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { FoundKey, Section } from '../section';

const FOLDER = fileIn(MS_SWIFT, 'swift/config/');

/** DeepSpeed configs that ms-swift brings (`swift/config/*.json`), by the name that `--deepspeed` gives them. */
const PACKAGED = /^(?:default-)?zero([0-3])(?:[-_](offload))?$/;

/** Stage of a config that ms-swift brings, and whether it offloads; undefined for paths. */
export function packagedZero(
  name: string,
): { readonly stage: number; readonly offload: boolean } | undefined {
  const match = PACKAGED.exec(name.trim());
  const stage = Number(match?.[1]);
  const offload = match?.[2] !== undefined;
  return match && (!offload || stage >= 2) ? { stage, offload } : undefined;
}

/** States what such a config holds: `auto` in it is what the Trainer makes of the model's hidden size. */
export function statePackagedZero(
  section: Section,
  found: FoundKey,
  { stage, offload }: { readonly stage: number; readonly offload: boolean },
  context: ReadContext,
  draft: Draft,
): void {
  const file = `zero${stage}${offload ? '_offload' : ''}.json`;
  section.state('zero.stage', stage, found, say('ms-swift brings {0}', file));
  const place = offload ? 'cpu' : 'none';
  section.state('offload.optimizer', place, found, say('ms-swift brings {0}', file));
  section.state('offload.parameters', stage === 3 ? place : 'none', found, say('ms-swift brings {0}', file));
  const packaged = <P extends FieldPath>(field: P, value: FieldValue<P>) =>
    draft.assume(field, value, say("ms-swift's {0}", file), `${FOLDER}${file}`);
  packaged('offload.pinMemory', true);
  packaged('zero.overlapCommunication', false);
  packaged('zero.contiguousGradients', true);
  if (stage < 3) {
    packaged('zero.reduceBucket', 2e8);
    packaged('zero.allgatherBucket', 2e8);
    return;
  }
  packaged('zero.subGroup', 1e9);
  packaged('zero.maxLiveParameters', 1e9);
  packaged('zero.maxReuseDistance', 1e9);
  packaged('saving.weights', 'full');
  const hidden = context.model?.hiddenSize;
  if (hidden === undefined) return;
  packaged('zero.reduceBucket', hidden * hidden);
  packaged('zero.prefetchBucket', Math.trunc(0.9 * hidden * hidden));
  packaged('zero.persistenceThreshold', 10 * hidden);
}

/** `--fsdp fsdp2` (`swift/config/fsdp2.json`). */
export function statePackagedFsdp(section: Section, found: FoundKey, draft: Draft): void {
  const note = say('ms-swift brings fsdp2.json');
  section.state('parallel.data', 'fsdp2', found, note);
  section.state('fsdp.strategy', 'full', found, note);
  section.state('fsdp.wrap', 'layer', found, note);
  section.state('activations.checkpointing', 'full', found, note);
  const source = `${FOLDER}fsdp2.json`;
  draft.assume(
    'activations.reentrant',
    false,
    say('Accelerate checkpoints FSDP layers without reentry'),
    source,
  );
  draft.assume('loading.hostCopies', 'one', say("ms-swift's fsdp2.json"), source);
  draft.assume('saving.weights', 'sharded', say("ms-swift's fsdp2.json"), source);
}
