import { joinWords } from '../results/labels';
import { fieldLabel } from '../run/field-labels';
import type { FieldPath } from '../run/fields';
import { shortAlias } from '../run/parse-field';
import { linesOf } from '../text/lines';
import type { Position, Range } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { supplyExamples } from '../workspace/verdict';
import type { Action, ActionContext, FileEdit } from './action';
import { baseName } from './markdown';
import { type Entry, placeholder, projectEdits } from './project-edit';
import { SUPPLY_COMMAND } from './protocol';

/** Ways to state what nobody states: ask, a directive in the file, an entry in the project file. */
export function supplyActions(analysis: Analysis, context: ActionContext, problem?: Problem): Action[] {
  const fields = missingFields(analysis);
  if (fields.length === 0) {
    return [];
  }
  const actions: Action[] = [
    {
      title: say('Choose {0}…', joinWords(fields.map(fieldLabel))),
      problem,
      edits: [],
      command: { name: SUPPLY_COMMAND, argument: { uri: analysis.uri, fields } },
    },
  ];
  // A value that is stated but not known is put right where it stands; a second statement would not count.
  const unstated = fields.filter((field) => analysis.resolved.values[field] === undefined);
  const entries = unstated.map((field) => ({ field, value: exampleOf(field, analysis) }));
  const asked = problem?.data?.fields;
  const isAnswered = !Array.isArray(asked) || unstated.some((field) => asked.includes(field));
  if (entries.length === 0 || !isAnswered) {
    return actions;
  }
  if (takesComments(analysis)) {
    const edit = directiveEdit(analysis, entries, context.text);
    const comment = edit.newText.trim();
    const title = comment.includes('oomlint:')
      ? say('Add the directive {0}', comment)
      : say('Add to the directive: {0}', comment);
    actions.push({ title, problem, edits: [edit] });
  }
  const edits = context.project && projectEdits(context.project, analysis.uri, entries);
  if (context.project && edits) {
    const name = baseName(context.project.uri);
    const pairs = entries.map(({ field, value }) => `${shortAlias(field)}: ${value}`);
    const title =
      context.project.text === undefined
        ? say('Create {0} for this config: {1}', name, pairs.join(', '))
        : say('Add to {0} for this config: {1}', name, pairs.join(', '));
    actions.push({ title, problem, edits });
  }
  return actions;
}

/** `# oomlint: off` on the first line. */
export function switchOff(analysis: Analysis, problem: Problem, text: string): Action | undefined {
  return takesComments(analysis)
    ? {
        title: say('Switch Oomlint off for this file'),
        problem,
        edits: [{ uri: analysis.uri, range: at(top(text)), newText: `${marker(analysis)} oomlint: off\n` }],
      }
    : undefined;
}

function missingFields(analysis: Analysis): FieldPath[] {
  const fields = analysis.resolved.unknown.map(({ field }) =>
    field.startsWith('model.') ? 'model.id' : field,
  );
  return [...new Set(fields)];
}

/** A comment in plain JSON would stop strict readers from reading the file at all. */
function takesComments({ document, uri }: Analysis): boolean {
  return document.format !== 'json' || document.relaxedJson || /\.(jsonc|json5|hjson)$/i.test(uri);
}

const marker = ({ document }: Analysis) => (document.format === 'json' ? '//' : '#');

/** Below a shebang, an encoding line, a YAML directive or a modeline: those only count at the top. */
function top(text: string): Position {
  const lines = linesOf(text);
  const own = /^(#!|#.*coding[:=]|%YAML|# yaml-language-server:|#:schema )/;
  let line = 0;
  while (line < lines.length - 1 && own.test(lines[line] ?? '')) line++;
  return { line, character: 0 };
}
const at = (position: Position): Range => ({ start: position, end: position });

/** A directive that is there already takes the facts; otherwise a new first line does. */
function directiveEdit(analysis: Analysis, entries: readonly Entry[], whole: string): FileEdit {
  const { uri } = analysis;
  const text = entries.map(({ field, value }) => `${shortAlias(field)}=${value}`).join(' ');
  const snippet = entries
    .map(({ field, value }, i) => `${shortAlias(field)}=${placeholder(i + 1, value)}`)
    .join(' ');
  const present = analysis.document.directives.find((directive) => directive.text.includes('='));
  if (present) {
    return { uri, range: at(present.range.end), newText: ` ${text}`, snippet: ` ${snippet}` };
  }
  const opening = `${marker(analysis)} oomlint: `;
  return { uri, range: at(top(whole)), newText: `${opening}${text}\n`, snippet: `${opening}${snippet}\n` };
}

/** Common enough to be a useful start, and shown in the title. */
function exampleOf(field: FieldPath, { resolved }: Analysis): string {
  const unknown = resolved.unknown.find((one) => one.field === field) ?? { field, reason: '' };
  const [pair = ''] = supplyExamples([unknown]);
  return pair.slice(pair.indexOf('=') + 1);
}
