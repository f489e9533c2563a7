import type { ConfigDocument } from '../config/node';
import { ignoreComment } from '../rules/ignore-comment';
import { linesOf } from '../text/lines';
import type { Range } from '../text/place';
import type { Problem, Severity } from '../text/problem';
import { say } from '../wording/say';
import type { RuleLevels } from './project-file';
import { RULES } from './rules';
import { unknownRule } from './unknown-rule';

/** From mild to bad. */
const SEVERITIES: readonly Severity[] = ['hint', 'information', 'warning', 'error'];

/** Never silenced: a file that was not read is not checked. */
const ALWAYS: ReadonlySet<string> = new Set(['internal-error', 'syntax', 'conflict-marker']);

/** One name in a comment that silences. */
interface Ignored {
  readonly name: string;
  /** Of the name. */
  readonly range: Range;
  /** The lines that it is about; undefined for the whole file. */
  readonly lines?: readonly number[];
}

function ignoredIn(document: ConfigDocument, text: string): Ignored[] {
  let lines: readonly string[] | undefined;
  return document.directives.flatMap(({ text: words, range }) => {
    const comment = ignoreComment(words);
    if (!comment) return [];
    lines ??= linesOf(text);
    const { line, character } = range.start;
    const before = lines[line]?.slice(0, character) ?? '';
    // A comment on a line of its own is about the line below it, one behind a value about that line.
    const alone = /^\s*(#|\/\/|\/\*)\s*oomlint:\s*$/.test(before);
    return comment.names.map(({ name, start }) => ({
      name,
      range: {
        start: { line, character: character + start },
        end: { line, character: character + start + name.length },
      },
      lines: comment.file ? undefined : alone ? [line + 1] : [line],
    }));
  });
}

/** A problem at the level that the project asks for; undefined where it is switched off. */
function levelled(problem: Problem, level: Severity | 'off' | undefined): Problem | undefined {
  if (level === undefined || ALWAYS.has(problem.code)) return problem;
  if (level === 'off') return undefined;
  const usual = Object.hasOwn(RULES, problem.code)
    ? RULES[problem.code as keyof typeof RULES].severity
    : problem.severity;
  const rank = (severity: Severity) => SEVERITIES.indexOf(severity);
  // What is in doubt, and so milder than usual, stays as mild.
  const severity =
    rank(problem.severity) < rank(usual) && rank(problem.severity) < rank(level) ? problem.severity : level;
  return severity === problem.severity ? problem : { ...problem, severity };
}

/**
 * The problems of a file that are reported, of all that were found: at the levels of the project, without those that a
 * comment of the file suppresses. Comments that suppress nothing are problems themselves.
 */
export function reported(
  problems: readonly Problem[],
  document: ConfigDocument,
  text: string,
  levels: RuleLevels,
): readonly Problem[] {
  const ignored = ignoredIn(document, text);
  if (ignored.length === 0 && levels.size === 0) return problems;
  const used = new Set<Ignored>();
  const left = problems.filter(({ code, range }) => {
    if (ALWAYS.has(code)) return true;
    const silencing = ignored.filter(
      ({ name, lines }) => name === code && (lines === undefined || lines.includes(range.start.line)),
    );
    for (const one of silencing) used.add(one);
    return silencing.length === 0;
  });
  const known = new Set<string>([...Object.keys(RULES), ...problems.map(({ code }) => code)]);
  const idle = ignored.flatMap((one): Problem[] => {
    if (used.has(one)) return [];
    const { name, range } = one;
    const taught = document.problems.length > 0 ? [] : [unusedIgnore(name, range)];
    return known.has(name) ? taught : [unknownRule(name, range)];
  });
  return [...left, ...idle].flatMap((problem) => levelled(problem, levels.get(problem.code)) ?? []);
}

/** Not stated where the text is broken: what it silences may only be out of sight. */
function unusedIgnore(name: string, range: Range): Problem {
  return {
    code: 'unused-ignore',
    severity: 'warning',
    message: say('`{0}` reports nothing here: the comment silences nothing.', name),
    range,
  };
}
