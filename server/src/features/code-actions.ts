import { withEdits } from '../advice/write/text-edits';
import { eachEntry, entryAt, entryOf } from '../config/lookup';
import type { ConfigDocument } from '../config/node';
import { parseConfig } from '../config/parse';
import { onDemand } from '../memo/on-demand';
import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action, ActionContext } from './action';
import { allocatorActions } from './allocator-actions';
import { commentActions } from './comment-actions';
import { fileEdits } from './file-edits';
import { isMechanical, safelyFixed } from './fix-all';
import { overlaps, textAt } from './ranges';
import { problemCounts, remedyActions } from './remedy-actions';
import { supplyActions, switchOff } from './supply';

export function codeActions(analysis: Analysis, context: ActionContext): readonly Action[] {
  const problems = analysis.problems.filter((problem) => overlaps(problem.range, context.range));
  const atTop = context.range.start.line === 0;
  const counted = onDemand(() => problemCounts(analysis, context.text));
  return [
    ...problems.flatMap((problem) => {
      const named = replacements(analysis, problem, context.text);
      const preferred = named.some((action) => action.preferred);
      const others = remedyActions(analysis, problem, context.text, counted);
      const comment = commentActions(analysis, problem, context.text);
      return [
        ...named,
        ...allocatorActions(analysis, problem, context.text, counted),
        ...comment,
        ...(preferred ? others.map((action) => ({ ...action, preferred: false })) : others),
      ];
    }),
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
  return [...new Set(names)]
    .filter((name) => !stands(analysis.document, problem.range, name))
    .map((name) => ({ name, newText: `${quote}${name}${quote}` }))
    .filter(({ newText }) => readsAsWell(analysis.document, text, problem.range, newText))
    .map(({ name, newText }, i) => ({
      title: say('Change to "{0}"', name),
      problem,
      preferred: i === 0,
      edits: [{ uri: analysis.uri, range: problem.range, newText }],
    }));
}

/** Whether a key of that name stands beside the one at a place: two of one name are one too many. */
function stands({ root, format }: ConfigDocument, range: Range, name: string): boolean {
  if (format === 'shell' || format === 'python') return false;
  let found = false;
  eachEntry(root, ({ keyRange }, path) => {
    if (keyRange.start.line !== range.start.line || keyRange.start.character !== range.start.character)
      return;
    const block = path.length === 1 ? root : entryAt(root, path.slice(0, -1))?.value;
    found ||= entryOf(block, name) !== undefined;
  });
  return found;
}

/** Whether a text has no more problems of syntax with a stretch of it replaced. */
function readsAsWell(document: ConfigDocument, text: string, range: Range, newText: string): boolean {
  const after = parseConfig(document.uri, withEdits(text, [{ range, newText }]));
  return after.problems.length <= document.problems.length;
}

/** An old spelling is changed only where the new one states the same: some names came with other values. */
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

function isAboutMissing(problem: Problem): boolean {
  return Array.isArray(problem.data?.fields);
}
