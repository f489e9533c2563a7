import { noteForFile } from '../advice/project-note';
import type { FieldPath, RunValues } from '../run/fields';
import type { ActionContext, FileEdit } from './action';
import { fileEdits } from './file-edits';

/** A fact to write down, as it is typed: a number in its digits. */
export interface Entry {
  readonly field: FieldPath;
  readonly value: string;
}

/** What stands for the value of an entry until its place in the text is known. */
const marked = (index: number) => `oomlint-place-${index}`;

/**
 * Puts facts about one config into a project file: other configs of the project stay as they are. Each value is a place to fill in, for
 * editors that know snippets. Undefined where the text leaves no safe place.
 */
export function projectEdits(
  project: NonNullable<ActionContext['project']>,
  config: string,
  entries: readonly Entry[],
): FileEdit[] | undefined {
  const { uri, text } = project;
  const editsFor = (value: (entry: Entry, index: number) => unknown): FileEdit[] | undefined => {
    const values = Object.fromEntries(entries.map((entry, index) => [entry.field, value(entry, index)]));
    const after = noteForFile(project, config, values as RunValues);
    if (after === undefined) return undefined;
    return fileEdits([{ uri, before: text ?? '', after, ...(text === undefined && { create: true }) }]);
  };
  const edits = editsFor(({ value }) => (/^\d+$/.test(value) ? Number(value) : value));
  const places = editsFor((_, index) => marked(index));
  if (!edits || edits.length !== places?.length) return edits;
  return edits.map((edit, at) => ({ ...edit, snippet: snippetOf(places[at]?.newText ?? '', entries) }));
}

function snippetOf(text: string, entries: readonly Entry[]): string {
  const plain = text.replace(/[\\$}]/g, '\\$&');
  return entries.reduce(
    (snippet, { value }, index) => snippet.replace(marked(index), () => placeholder(index + 1, value)),
    plain,
  );
}

/** A place to fill in, with what stands there at first. */
export function placeholder(index: number, value: string): string {
  return `\${${index}:${value.replace(/[\\$}]/g, '\\$&')}}`;
}
