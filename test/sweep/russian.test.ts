import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { decisionsOf } from '../../server/src/advice/decisions';
import { breakdownOf } from '../../server/src/features/breakdown';
import { codeLens } from '../../server/src/features/code-lens';
import { documentLinks } from '../../server/src/features/document-links';
import { hover } from '../../server/src/features/hover';
import { status } from '../../server/src/features/status';
import { timeFacts } from '../../server/src/results/time-labels';
import { speakLanguage } from '../../server/src/wording/language';
import type { Analysis } from '../../server/src/workspace/analysis';
import { Workspace } from '../../server/src/workspace/analyze';
import { DiskHost } from '../../server/src/workspace/disk-host';
import type { OpenAnswer } from '../../server/src/workspace/open-questions';
import { corpusFiles, corpusIsThere, sampled } from '../corpus/corpus-files';
import { SUPPLIED, workspacesOf } from '../corpus/corpus-workspaces';
import { isProse } from '../unit/literals';
import { LONG } from '../unit/long';
import { mayWait } from '../unit/translations';

/** What an analysis tells a person in sentences; `open` of what decides the run and nobody states. */
function sentences(analysis: Analysis, open: readonly OpenAnswer[]): string[] {
  const reported = breakdownOf(analysis, undefined, open);
  const { notes, assumptions, unknown, compute } = reported;
  return [
    ...(reported.open ?? []).map(({ sentence }) => sentence),
    ...analysis.problems.map(({ message }) => message),
    ...Object.values(analysis.resolved.origins).flatMap((origin) => origin?.note ?? []),
    ...assumptions.map(({ source }) => source),
    ...unknown.map(({ reason }) => reason),
    ...notes,
    ...(compute ? timeFacts(compute).flatMap(({ name, detail }) => [name, detail ?? '']) : []),
    ...documentLinks(analysis).map(({ tooltip }) => tooltip),
    status(analysis).detail,
    codeLens(analysis)?.title ?? '',
  ];
}

/** Lines of the hovers over the first words of a text, without names of keys and families, code and addresses. */
function hoverLines(analysis: Analysis, text: string): string[] {
  return text.split('\n').flatMap((row, line) => {
    const character = row.search(/[\w$]/);
    const shown = character < 0 ? undefined : hover(analysis, { line, character: character + 1 });
    const lines = shown?.markdown.split('\n').filter((reported) => !reported.startsWith('**')) ?? [];
    return lines.map((reported) => reported.replace(/\]\([^)]*\)/g, ']'));
  });
}

/** Names of files and keys, values and sums: what nobody translates. */
const NAME = /^("[^"]*"|[\w./:-]+)$/;

const english = (text: string) =>
  !/[\u0430-\u044f\u0451]/i.test(text) && /[a-z]{2}/i.test(text) && !NAME.test(text);

/**
 * Messages without a Russian letter, each once, with a file that has it. `openOf` a run is what it hangs on: of all that it may
 * be asked, some twenty estimates.
 */
async function untranslated(
  uris: Iterable<string>,
  workspaceOf: (uri: string) => Workspace,
  openOf: (analysis: Analysis) => readonly OpenAnswer[],
): Promise<string[]> {
  const found = new Map<string, string>();
  for (const uri of uris) {
    const analysis = await workspaceOf(uri).analyze(uri);
    for (const text of analysis ? sentences(analysis, openOf(analysis)) : [])
      if (english(text)) found.set(text, uri);
  }
  return [...found].map(([text, uri]) => `${text} (${uri})`);
}

describe('messages about configs in Russian', function () {
  this.timeout(120_000);
  before(() => speakLanguage('ru-RU'));
  after(() => speakLanguage('en'));

  it('is Russian in every fixture and example', async () => {
    const files = ['examples', 'test/fixtures'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.resolve(entry.parentPath, entry.name)),
    );
    const workspace = new Workspace(new DiskHost([pathToFileURL(process.cwd() + path.sep).href]), {
      settings: () => SUPPLIED,
    });
    const uris = files.map((file) => pathToFileURL(file).href);
    // What a run hangs on is asked of every third.
    const asked = new Set(uris.filter((_, place) => LONG || place % 3 === 0));
    const openOf = (analysis: Analysis) =>
      asked.has(analysis.uri) ? decisionsOf(analysis) : (analysis.answers ?? []);
    mayWait(await untranslated(uris, () => workspace, openOf), 'messages about fixtures and examples');
    const hovers = new Set<string>();
    let reported = 0;
    for (const file of files) {
      const analysis = await workspace.analyze(pathToFileURL(file).href);
      const lines = analysis ? hoverLines(analysis, readFileSync(file, 'utf8')) : [];
      reported += lines.length;
      for (const line of lines) if (english(line) && isProse(line)) hovers.add(`${line} (${file})`);
    }
    assert.ok(reported > 500, `only ${reported} lines of hovers`);
    mayWait([...hovers], 'hovers over fixtures and examples');
  });

  it('is Russian in published configs', async function () {
    if (!corpusIsThere) {
      console.log('      no published configs here: skipped');
      return this.skip();
    }
    const workspaces = workspacesOf(corpusFiles());
    // A text without Russian may wait for the release, which looks at every file; until then, at some of each family.
    const files = LONG ? corpusFiles() : sampled(5);
    const byUri = new Map(files.map((file) => [file.uri, workspaces(file.repository)]));
    const workspaceOf = (uri: string) => byUri.get(uri) ?? assert.fail(uri);
    mayWait(
      await untranslated(byUri.keys(), workspaceOf, ({ answers = [] }) => answers),
      'messages about published configs',
    );
  });
});
