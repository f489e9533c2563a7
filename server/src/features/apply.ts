import { Lines } from '../config/lines';
import { FIELD_PATHS, type FieldPath, type RunValues } from '../run/fields';
import { fieldLabel } from '../run/parse-field';
import { sameValue } from '../run/resolve';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { ActionContext, FileEdit } from './code-actions';
import { type Entry, projectEdits } from './project-edit';

/** What was found to write, and what has to be written by hand. */
export interface ValueEdits {
  readonly edits: readonly FileEdit[];
  readonly left: readonly { readonly field: FieldPath; readonly reason: string }[];
}

export interface WriteContext {
  /** The project file that holds for the config, or would if it existed. */
  readonly project?: ActionContext['project'];
  readText(uri: string): Promise<string | undefined>;
}

/** Finds the edits after which a file's run has these values. */
export type WriteValues = (
  analysis: Analysis,
  values: RunValues,
  context: WriteContext,
) => Promise<ValueEdits>;

/**
 * Values that a file spells as they are (`2`, `adamw`, `bf16`) are replaced where they stand; what no file states goes to
 * the project file. Values that a family spells in other words are left.
 */
export const writeWhereStated: WriteValues = async (analysis, values, context) => {
  const edits: FileEdit[] = [];
  const left: { field: FieldPath; reason: string }[] = [];
  const entries: Entry[] = [];
  for (const field of FIELD_PATHS) {
    const value = values[field];
    const present = analysis.resolved.values[field];
    if (value === undefined || sameValue(value, present)) continue;
    const origin = analysis.resolved.origins[field];
    const { location } = origin ?? {};
    if (!location) {
      const text = String(value);
      entries.push({ field, value: text, snippet: text });
      continue;
    }
    const text = await context.readText(location.uri);
    const lines = new Lines(text ?? '');
    const written = (text ?? '').slice(lines.offset(location.range.start), lines.offset(location.range.end));
    const [, quote = '', bare = ''] = /^(["']?)(.*)\1$/s.exec(written) ?? [];
    if (text === undefined || bare.toLowerCase() !== String(present).toLowerCase()) {
      left.push({ field, reason: say('{0} is written in another way', origin?.key ?? field) });
    } else {
      edits.push({ uri: location.uri, range: location.range, newText: `${quote}${value}${quote}` });
    }
  }
  const added = entries.length > 0 && context.project ? projectEdits(context.project, entries) : undefined;
  if (added) edits.push(...added);
  else
    left.push(
      ...entries.map(({ field }) => ({
        field,
        reason: say('no file has a place for {0}', fieldLabel(field)),
      })),
    );
  return { edits, left };
};
