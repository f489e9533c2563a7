import type { Problem } from '../config/node';
import type { Range } from '../run/origin';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { fileEdits } from './file-edits';
import { isMechanical, safelyFixed } from './fix-all';
import type { SUPPLY_COMMAND, SupplyArguments } from './protocol';
import { overlaps } from './ranges';
import { supplyActions, switchOff } from './supply';

/** One change of one file. */
export interface FileEdit {
  readonly uri: string;
  /** The file does not exist yet. */
  readonly create?: boolean;
  readonly range: Range;
  readonly newText: string;
  /** The same text with places to fill in, for editors that know snippets. */
  readonly snippet?: string;
}

/** Something that one click does. */
export interface Action {
  readonly title: string;
  /** What it puts right; an action without one is offered wherever it applies. */
  readonly problem?: Problem;
  readonly preferred?: boolean;
  readonly edits: readonly FileEdit[];
  /** What it is for, where that is no quick fix of a problem. */
  readonly kind?: 'source.fixAll.oomlint';
  readonly command?: { readonly name: typeof SUPPLY_COMMAND; readonly argument: SupplyArguments };
}

export interface ActionContext {
  readonly text: string;
  /** Where the editor asks. */
  readonly range: Range;
  /** The project file that holds for this config, or would if it existed. */
  readonly project?: { readonly uri: string; readonly text?: string };
}

export function codeActions(analysis: Analysis, context: ActionContext): readonly Action[] {
  const problems = analysis.problems.filter((problem) => overlaps(problem.range, context.range));
  const atTop = context.range.start.line === 0;
  return [
    ...problems.flatMap((problem) => replacements(analysis, problem, context.text)),
    ...(atTop || problems.some(isAboutMissing)
      ? supplyActions(analysis, context, problems.find(isAboutMissing))
      : []),
    ...problems.slice(0, 1).flatMap((problem) => switchOff(analysis, problem, context.text) ?? []),
  ];
}

/** Misspelt and outdated names carry the right one in `data.replacement`, near ones in `data.suggestions`. */
function replacements(analysis: Analysis, problem: Problem, text: string): Action[] {
  if (isMechanical(problem)) return mechanical(analysis, problem, text);
  const { replacement, suggestions } = problem.data ?? {};
  const names = [replacement, ...(Array.isArray(suggestions) ? suggestions : [])].filter(isName);
  // Quotes belong to the syntax, not to the name.
  const quote = /^(["']).*\1$/s.exec(textAt(text, problem.range))?.[1] ?? '';
  return [...new Set(names)].map((name, i) => ({
    title: say('Change to "{0}"', name),
    problem,
    preferred: i === 0,
    edits: [{ uri: analysis.uri, range: problem.range, newText: `${quote}${name}${quote}` }],
  }));
}

/** An old spelling is changed only where the new one says the same: some names came with other values. */
function mechanical(analysis: Analysis, problem: Problem, text: string): Action[] {
  const after = safelyFixed(analysis.dialect, analysis.document, text, problem);
  if (after === undefined) return [];
  const { replacement } = problem.data ?? {};
  const name = typeof replacement === 'string' ? replacement : JSON.stringify(replacement);
  const edits = fileEdits([{ uri: analysis.uri, before: text, after }]);
  return [{ title: say('Change to "{0}"', name), problem, preferred: true, edits }];
}

/** A dotted path names a key somewhere else: that is a move, not a change of spelling. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[^\s."':{}[\],#]+$/.test(value);
}

export function isAboutMissing(problem: Problem): boolean {
  return Array.isArray(problem.data?.fields);
}

function textAt(text: string, range: Range): string {
  const lines = text.split(/\r\n|\r|\n/);
  const { start, end } = range;
  if (start.line === end.line) {
    return lines[start.line]?.slice(start.character, end.character) ?? '';
  }
  return lines.slice(start.line, end.line + 1).join('\n');
}
