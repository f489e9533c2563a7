import type { Estimate } from '../results/estimate';
import type { RunValues } from '../run/fields';
import type { OriginKind } from '../run/origin';
import { isAssumed, type Resolution } from '../run/resolve';
import { say } from '../wording/say';
import type { OpenAnswer } from './open-questions';

/**
 * The longest sentence of CoLA, among the shortest data that models are tuned on, in tokens of BERT
 * (https://mccormickml.com/2019/07/22/BERT-fine-tuning/): no data is taken to be shorter.
 */
const SHORTEST = 47;

/** Who states a length as that of the rows themselves: a person who was asked for it. */
const ASKED: ReadonlySet<OriginKind> = new Set(['command-line', 'directive', 'project', 'setting']);

/**
 * Whether the sequence length is where samples are cut, and rows are as long as the longest of their samples: what tunes a model
 * pads so, unless it packs; what trains one anew fills each row.
 */
function cutsSamples({ values, origins }: Pick<Resolution, 'values' | 'origins'>): boolean {
  if ((values['batch.packed'] && !values['batch.paddingFree']) || values['batch.padded']) return false;
  if (values['batch.longestSequence'] !== undefined) return false;
  const length = origins['batch.sequence'];
  if (!length || ASKED.has(length.kind)) return false;
  // Another length that may be as right is a question of its own.
  if (length.guess) return length.orElse === undefined;
  // Scripts around the Trainer make rows themselves, and nobody states how.
  return !isAssumed(origins['batch.packed']) || values.framework === 'transformers';
}

/** Why a length is open: the note of a limit that is a guess, else that samples are cut there. */
function openWords({ values, origins }: Pick<Resolution, 'values' | 'origins'>): string {
  const { note, guess } = origins['batch.sequence'] ?? {};
  if (guess && note) return `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;
  return say(
    'Only the data shows how long samples are: they are cut at {0} tokens.',
    values['batch.sequence'] ?? 0,
  );
}

/** The same run over samples that are cut at `length` tokens. */
function cutAt(length: number, values: RunValues): RunValues {
  const [sequence = length, completion] = [values['batch.sequence'], values['rollout.completion']];
  if (completion === undefined) return { 'batch.sequence': length };
  return {
    'batch.sequence': length,
    'rollout.completion': Math.max(1, Math.floor((completion * length) / sequence)),
  };
}

/**
 * What a run that does not fit would need with shorter samples, where only the data tells how long they are: the longest halving of
 * its length that may fit. Undefined where it fits with none that holds the images of a sample, or where rows are as long as is stated.
 */
export function lengthAnswer(
  resolution: Pick<Resolution, 'values' | 'origins'>,
  present: Estimate,
  otherwise: (changes: RunValues) => Estimate | undefined,
): OpenAnswer | undefined {
  if (present.verdict !== 'exceeds' || !cutsSamples(resolution)) return undefined;
  const most = resolution.values['batch.sequence'] ?? 0;
  const shortened = (length: number) => {
    const cut = cutAt(length, resolution.values);
    const whole = otherwise(cut);
    // Into how many tiles an image is cut its size decides, where nobody states it: a small one leaves room for text.
    const small = whole?.crowdsText !== undefined && resolution.values['batch.imageTiles'] === undefined;
    const changes: RunValues = small ? { ...cut, 'batch.imageTiles': 1 } : cut;
    const estimate = small ? otherwise(changes) : whole;
    return estimate && { length, changes, estimate, small };
  };
  const lengths = halvings(most);
  // Most runs that are too large are so at any length: one estimate shows it, where images leave samples as short.
  const shortest = lengths.at(-1);
  const least = shortest === undefined ? undefined : shortened(shortest);
  if (!least || (!least.estimate.crowdsText && least.estimate.verdict === 'exceeds')) return undefined;
  for (const length of lengths) {
    const found = shortened(length);
    if (!found) continue;
    // Shorter ones hold the images no more either.
    if (found.estimate.crowdsText) return undefined;
    if (found.estimate.verdict === 'exceeds') continue;
    const { verdict, peak } = found.estimate;
    const { processBytes, lowerBytes, upperBytes } = peak;
    return {
      field: 'batch.longestSequence',
      reason: openWords(resolution),
      atTokens: most,
      otherwise: {
        changes: found.changes,
        words: found.small
          ? say('samples of up to {0} tokens, with images of one tile', length)
          : say('samples of up to {0} tokens', length),
      },
      estimate: { verdict, processBytes, lowerBytes, upperBytes },
    };
  }
  return undefined;
}

/** What an evaluation keeps of all its samples is as long as the longest of them: a limit that none may reach counts there many times. */
const keepsByLength = ({ values }: Pick<Resolution, 'values'>, { peak }: Estimate): boolean =>
  peak.moment === 'evaluation' && values['evaluation.predictions'] === 'logits';

/**
 * A run that is too large for samples as long as a limit that people set freely, or by what its evaluation keeps of samples as long as any limit,
 * over those of the shortest data. Undefined where it fits
 * either way or neither, or where rows are as long as is stated.
 */
export function shortestAnswer(
  resolution: Pick<Resolution, 'values' | 'origins'>,
  present: Estimate,
  otherwise: (changes: RunValues) => Estimate | undefined,
): OpenAnswer | undefined {
  const { values, origins } = resolution;
  const most = values['batch.sequence'] ?? 0;
  if (present.verdict !== 'exceeds' || most <= SHORTEST) return undefined;
  const isLoose = origins['batch.sequence']?.atMost === true || keepsByLength(resolution, present);
  if (!isLoose || !cutsSamples(resolution)) return undefined;
  // No sample is shorter than its images are.
  for (const length of [SHORTEST, ...halvings(most).reverse()]) {
    const changes = cutAt(length, values);
    const found = otherwise(changes);
    if (found?.crowdsText) continue;
    return found && found.verdict !== 'exceeds' ? shortAnswer(resolution, length, changes, found) : undefined;
  }
  return undefined;
}

/** What samples would take that are as short as data may be. */
function shortAnswer(
  resolution: Pick<Resolution, 'values' | 'origins'>,
  length: number,
  changes: RunValues,
  { verdict, peak }: Estimate,
): OpenAnswer {
  const { processBytes, lowerBytes, upperBytes } = peak;
  return {
    field: 'batch.longestSequence',
    even: true,
    reason: openWords(resolution),
    otherwise: { changes, words: say('samples of up to {0} tokens', length) },
    estimate: { verdict, processBytes, lowerBytes, upperBytes },
  };
}

/** Half of a length, half of that, and so on, down to the shortest that data is taken to be. */
function halvings(most: number): number[] {
  const half = Math.floor(most / 2);
  return half < SHORTEST ? [] : [half, ...halvings(half)];
}
