import { pauses } from '../../advice/fixes';
import { Lines } from '../../config/lines';
import type { Verdict } from '../../results/estimate';
import { outcomeLabel } from '../../results/labels';
import { formatBytes } from '../../wording/figures';
import type { Analysis } from '../../workspace/analysis';
import type { Completion } from './completion';

/** More values than this are a catalog and not a choice, such as of models: they are offered untried. */
const MOST = 64;
/** So many are tried however long it takes: a choice among few, and of many those that are named first. */
const FIRST = 16;
/** For so long the rest of many is tried; what is left is tried when the list is asked for again, which a key typed does. Milliseconds. */
const PATIENCE = 250;
/** For so long an outcome is taken for what it was: a list is asked for again with each key. Milliseconds. */
const FRESH = 5000;

const ORDER: Readonly<Record<Verdict, number>> = { fits: 0, tight: 1, exceeds: 2, unknown: 3 };

/** The analysis that the file would have with another text; undefined where that is no config. */
type Preview = (text: string) => Promise<Analysis | undefined>;

type Outcome = NonNullable<Analysis['estimate']> | undefined;

/** Outcomes of the list that was asked for last, by value. */
export interface TriedValues {
  /** The text around the value. */
  around: string;
  readonly outcomes: Map<string, { readonly at: number; readonly outcome: Outcome }>;
}

export const noTriedValues = (): TriedValues => ({ around: '', outcomes: new Map() });

/**
 * States of every offered value what the run would need with it, and puts those first that fit. Each is tried in the text
 * itself, so linked files and derived values follow; of many, those first that what is typed leads to. Where nothing can be estimated the
 * values stay as they are.
 */
export async function withOutcomes(
  found: readonly Completion[],
  text: string,
  preview: Preview,
  tried = noTriedValues(),
): Promise<readonly Completion[]> {
  const values = found.filter(({ kind }) => kind === 'value');
  const [first] = values;
  if (!first || values.length > MOST) return found;
  const lines = new Lines(text);
  const placeOf = ({ range }: Completion) => [lines.offset(range.start), lines.offset(range.end)] as const;
  const [start, end] = placeOf(first);
  const around = `${text.slice(0, start)}\0${text.slice(end)}`;
  if (tried.around !== around) tried.outcomes.clear();
  tried.around = around;
  const pause = pauses();
  const started = performance.now();
  const outcomes = new Map<Completion, Outcome>();
  for (const entry of likeliest(values, text.slice(start, end))) {
    const now = performance.now();
    const known = tried.outcomes.get(entry.text);
    if (known && now - known.at < FRESH) {
      outcomes.set(entry, known.outcome);
      continue;
    }
    if (outcomes.size >= FIRST && now - started > PATIENCE) continue;
    await pause();
    const [from, to] = placeOf(entry);
    const analysis = await preview(text.slice(0, from) + entry.text + text.slice(to));
    tried.outcomes.set(entry.text, { at: now, outcome: analysis?.estimate });
    outcomes.set(entry, analysis?.estimate);
  }
  const largest = start === end ? largestThatFits(outcomes) : undefined;
  return found.map((entry) => {
    if (entry.kind !== 'value') return entry;
    if (!outcomes.has(entry)) return { ...entry, untried: true, sort: `${ORDER.unknown}${entry.sort}` };
    const outcome = outcomes.get(entry);
    return outcome ? withOutcome(entry, outcome, entry === largest) : entry;
  });
}

/** Of numbers the one that makes most of the card: what a person looks for who typed nothing yet. None where several need as much. */
function largestThatFits(outcomes: ReadonlyMap<Completion, Outcome>): Completion | undefined {
  const numbers = [...outcomes].flatMap(([entry, outcome]) =>
    /^\d+$/.test(entry.text) && outcome ? [{ entry, outcome, bytes: outcome.peak.processBytes }] : [],
  );
  const [most, next] = numbers
    .filter(({ outcome }) => outcome.verdict === 'fits')
    .sort((a, b) => b.bytes - a.bytes);
  return most?.bytes === next?.bytes ? undefined : most?.entry;
}

/** Values that hold what is typed come first, else in their order. */
function likeliest(values: readonly Completion[], typed: string): readonly Completion[] {
  const word = typed.toLowerCase();
  const holds = ({ filter }: Completion) => filter.toLowerCase().includes(word);
  return word === '' ? values : [...values.filter(holds), ...values.filter((entry) => !holds(entry))];
}

function withOutcome(entry: Completion, estimate: NonNullable<Outcome>, preselect: boolean): Completion {
  const { verdict, peak } = estimate;
  const outcome = `${formatBytes(peak.processBytes)}, ${outcomeLabel(estimate)}`;
  return { ...entry, outcome, sort: `${ORDER[verdict]}${entry.sort}`, ...(preselect && { preselect }) };
}
