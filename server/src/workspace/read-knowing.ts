import type { ConfigDocument } from '../config/node';
import type { Dialect, ReadContext, Reading } from '../dialects/dialect';
import { readDocument } from '../dialects/templated-values';
import { withChanges } from '../memo/on-demand';
import type { FieldPath } from '../run/fields';

/** A reading, and what it asked of what was known: with the same answers it would be the same. */
interface Kept {
  readonly dialect: Dialect;
  readonly asked: ReadonlyMap<FieldPath, unknown>;
  /** The model that it was made with, where it asked for one. */
  readonly model?: { readonly asked: ReadContext['model'] };
  readonly reading: Reading;
}

/** Of a document: as it is read by itself, in its run, and as if a field or two of the run were others. */
const MOST = 8;

const readings = new WeakMap<ConfigDocument, Kept[]>();

/**
 * A document as its family reads it with what is known. A document that was read before with the same answers to all that its
 * reading asked is not read again; its rules, which ask more, are looked at with what is known now.
 */
export function readKnowing(dialect: Dialect, document: ConfigDocument, context: ReadContext): Reading {
  const kept = readings.get(document) ?? [];
  readings.set(document, kept);
  const same = kept.find((known) => known.dialect === dialect && wouldBeSame(known, context));
  if (same)
    return withChanges(same.reading, {
      get problems() {
        return readDocument(dialect, document, context).problems;
      },
    });
  const fresh = noted(dialect, document, context);
  kept.unshift(fresh);
  kept.splice(MOST);
  return fresh.reading;
}

function wouldBeSame({ asked, model }: Kept, context: ReadContext): boolean {
  if (model && model.asked !== context.model) return false;
  for (const [field, answer] of asked) if (!Object.is(context.known[field], answer)) return false;
  return true;
}

/** Reads and notes what the facts hang on. What rules ask later is theirs alone. */
function noted(dialect: Dialect, document: ConfigDocument, { known, versions, model }: ReadContext): Kept {
  const asked = new Map<FieldPath, unknown>();
  let modelAsked: Kept['model'];
  let isReading = true;
  const context: ReadContext = {
    known: new Proxy(known, {
      get(values, field) {
        const answer: unknown = Reflect.get(values, field);
        if (isReading) asked.set(field as FieldPath, answer);
        return answer;
      },
    }),
    versions,
    get model() {
      if (isReading) modelAsked = { asked: model };
      return model;
    },
  };
  const reading = readDocument(dialect, document, context);
  isReading = false;
  return { dialect, asked, model: modelAsked, reading };
}
