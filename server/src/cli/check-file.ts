import { linesOf } from '../text/lines';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Workspace } from '../workspace/analyze';
import type { CheckedFile, CheckedRun } from './checked-file';
import { displayPath } from './report';

/** A workspace that takes the runs to a GPU of the command line, by its name there; the files' own without one. */
export interface Target {
  readonly asked?: string;
  readonly workspace: Workspace;
}

/** What of a file is kept beside its problems, where somebody asks for it: an analysis is a hundred times as large. */
export interface Kept {
  /** For the edits of quick fixes. */
  readonly analysis?: boolean;
  readonly cost?: boolean;
}

/** What is found in one file, on each of the targets; undefined where it is nothing that Oomlint reads. */
export async function checkFile(
  uri: string,
  targets: readonly Target[],
  folder: string,
  kept: Kept = {},
): Promise<CheckedFile | undefined> {
  const [first] = targets;
  if (!first) return undefined;
  const text = (await first.workspace.text(uri)) ?? '';
  const file = { uri, path: displayPath(uri, folder), ...(kept.analysis ? { text } : {}) };
  const project = await first.workspace.checkProjectFile(uri);
  if (project)
    return { ...file, lines: linesAt(project, text), runs: [], problems: project, unread: [], files: [uri] };
  const runs: CheckedRun[] = [];
  const problems: Problem[] = [];
  let last: Analysis | undefined;
  for (const { asked, workspace } of targets) {
    const analysis = await workspace.analyze(uri);
    if (!analysis) return undefined;
    const costUsd = kept.cost ? analysis.estimate?.compute.time?.costUsd?.likely : undefined;
    runs.push({ ...runOf(analysis, asked), costUsd });
    problems.push(
      ...analysis.problems.filter((problem) => !problems.some((known) => isSame(known, problem))),
    );
    last ??= analysis;
  }
  if (!last) return undefined;
  const unread = last.unread ?? [];
  const found = { ...file, lines: linesAt(problems, text), runs, problems, unread, files: last.files };
  // A word of a text keeps all of the text in memory, until it is copied.
  return kept.analysis ? { ...found, analysis: last } : structuredClone(found);
}

/** The lines at which problems begin. */
function linesAt(problems: readonly Problem[], text: string): ReadonlyMap<number, string> {
  const lines = problems.length > 0 ? linesOf(text) : [];
  return new Map(problems.map(({ range: { start } }) => [start.line, lines[start.line] ?? '']));
}

/** What is wrong on every GPU is reported once. */
function isSame(a: Problem, b: Problem): boolean {
  return (
    a.code === b.code &&
    a.message === b.message &&
    a.range.start.line === b.range.start.line &&
    a.range.start.character === b.range.start.character
  );
}

export function runOf(analysis: Analysis, asked?: string): CheckedRun {
  const { estimate, accelerator, resolved } = analysis;
  return {
    asked,
    verdict: estimate?.verdict ?? 'unknown',
    gpu: accelerator?.name,
    gpus: resolved.values['hardware.gpus'],
    peak: estimate?.peak,
    capacityBytes: estimate?.capacityBytes,
    parts: (estimate?.parts ?? []).map(({ category, bytes }) => ({ category, bytes })),
  };
}

/** A problem of a file that somebody named and that is no config; for people. */
export function notAConfig(path: string): string {
  return say('{0} is no training config that Oomlint knows, or is switched off by a comment in it.', path);
}
