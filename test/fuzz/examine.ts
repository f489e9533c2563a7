import assert from 'node:assert/strict';
import { fixesFor } from '../../server/src/advice/fixes';
import { withEdits } from '../../server/src/advice/write/text-edits';
import { parseConfig } from '../../server/src/config/parse';
import { breakdownOf, openedOf } from '../../server/src/features/breakdown';
import { codeActions } from '../../server/src/features/code-actions';
import { codeLens } from '../../server/src/features/code-lens';
import { completions } from '../../server/src/features/completion/completion';
import { diagnostics } from '../../server/src/features/diagnostics';
import { documentLinks } from '../../server/src/features/document-links';
import { mechanicallyFixed } from '../../server/src/features/fix-all';
import { hover } from '../../server/src/features/hover';
import { inlayHints } from '../../server/src/features/inlay-hints';
import { runLens } from '../../server/src/features/run-lens';
import { status } from '../../server/src/features/status';
import type { Range } from '../../server/src/text/place';
import type { Analysis } from '../../server/src/workspace/analysis';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';

const ROOT = 'file:///w';
/** CPU that everything together may take. A person waits for one of the features, not for all. */
export const MOST_CPU_MS = 5000;
const PROJECT = 'targets: { gpu: H100, gpus: 16 }\n';

/** Every figure, wherever it stands, is finite; none of bytes is below zero. */
export function checkFigures(value: unknown, path = ''): void {
  if (typeof value === 'number') {
    assert.ok(Number.isFinite(value), `${path} is ${value}`);
    if (/bytes|parameters|flops/i.test(path)) assert.ok(value >= 0, `${path} is ${value}`);
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) checkFigures(item, `${path}.${i}`);
  } else if (value !== null && typeof value === 'object')
    for (const [key, item] of Object.entries(value)) checkFigures(item, `${path}.${key}`);
}

function checkRange({ start, end }: Range, lines: readonly string[], what: string): void {
  assert.ok(start.line >= 0 && start.character >= 0 && end.line >= start.line, what);
  assert.ok(end.line <= lines.length, `${what} ends in line ${end.line} of ${lines.length}`);
}

const severe = (text: string, uri: string) =>
  parseConfig(uri, text).problems.filter(({ code, severity }) => code === 'syntax' && severity === 'error')
    .length;

function answerOf(analysis: Analysis | undefined): unknown {
  return (
    analysis && {
      problems: analysis.problems,
      estimate: analysis.estimate,
      values: analysis.resolved.values,
      unknown: analysis.resolved.unknown,
    }
  );
}

export interface Examined {
  readonly analysed: boolean;
  readonly estimated: boolean;
  readonly edits: number;
}

/**
 * Every feature on one text. Throws where something throws, an answer differs from the same question's before, a figure is
 * none, a range lies outside, or an edit that is offered breaks the syntax or does not do what it is for.
 */
export async function examine(file: string, text: string, at = 0): Promise<Examined> {
  const uri = `${ROOT}/${file}`;
  const files = { [`${ROOT}/oomlint.yaml`]: PROJECT, [uri]: text };
  const workspace = () => new Workspace(new MemoryHost(files, { folders: [ROOT] }));
  const own = workspace();
  const started = process.cpuUsage();
  Workspace.mayBeConfig(uri, text);
  await own.checkProjectFile(uri);
  const analysis = await own.analyze(uri);
  let edits = 0;
  if (analysis) {
    const failures = analysis.problems.filter(({ code }) => code === 'internal-error');
    assert.deepEqual(failures, []);
    const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
    for (const problem of diagnostics(analysis)) checkRange(problem.range, lines, problem.code);
    edits = await useFeatures(analysis, text, lines, own, at);
    checkFigures(analysis.estimate, 'estimate');
    assert.deepEqual(answerOf(await workspace().analyze(uri)), answerOf(analysis), 'the same question again');
  }
  const { user } = process.cpuUsage(started);
  assert.ok(user / 1000 < MOST_CPU_MS, `took ${Math.round(user / 1000)} ms of CPU`);
  return { analysed: analysis !== undefined, estimated: analysis?.estimate !== undefined, edits };
}

async function useFeatures(
  analysis: Analysis,
  text: string,
  lines: readonly string[],
  workspace: Workspace,
  at: number,
): Promise<number> {
  const { uri, document, dialect, reading } = analysis;
  const line = at % lines.length;
  const position = { line, character: at % ((lines[line]?.length ?? 0) + 1) };
  hover(analysis, position);
  codeLens(analysis);
  runLens(analysis);
  status(analysis);
  documentLinks(analysis);
  inlayHints(analysis, 'all');
  checkFigures(breakdownOf(analysis), 'breakdown');
  checkFigures(openedOf(analysis), 'opened');
  await completions({ text, position, document, dialect, reading });
  let edits = 0;
  const before = severe(text, uri);
  const fixed = mechanicallyFixed(analysis, text);
  if (fixed !== text) {
    edits++;
    assert.ok(severe(fixed, uri) <= before, 'what is put right mechanically reads no worse');
  }
  const whole = { start: { line: 0, character: 0 }, end: { line: lines.length, character: 0 } };
  for (const action of codeActions(analysis, { text, range: whole })) {
    const own = action.edits.filter((edit) => edit.uri === uri);
    if (own.length === 0 || text.startsWith('\ufeff')) continue;
    edits++;
    assert.ok(severe(withEdits(text, own), uri) <= before, `"${action.title}" breaks the syntax`);
  }
  if (analysis.estimate?.verdict !== 'exceeds' || before > 0 || at % 4 !== 0) return edits;
  for (const { title, files } of (await fixesFor(analysis, workspace)).slice(0, 2)) {
    edits++;
    const after = await workspace.preview(
      uri,
      new Map(files.map(({ uri: changed, after: next }) => [changed, next])),
    );
    assert.notEqual(after?.estimate?.verdict, 'exceeds', `"${title}" does not make it fit`);
    assert.ok(after?.estimate, `after "${title}" there is no estimate`);
  }
  return edits;
}
