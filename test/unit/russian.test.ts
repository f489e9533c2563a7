import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { speakLanguage } from '../../server/src/lsp/language';
import type { Analysis } from '../../server/src/workspace/analysis';
import { Workspace } from '../../server/src/workspace/analyze';
import { breakdownOf } from '../../server/src/workspace/breakdown';
import { DiskHost } from '../../server/src/workspace/disk-host';
import { corpusFiles, corpusIsThere } from '../corpus/corpus-files';
import { SUPPLIED, workspacesOf } from '../corpus/corpus-workspaces';

/** What an analysis tells a person in sentences. */
function sentences(analysis: Analysis): string[] {
  const { notes, assumptions, unknown } = breakdownOf(analysis);
  return [
    ...analysis.problems.map(({ message }) => message),
    ...Object.values(analysis.resolved.origins).flatMap((origin) => origin?.note ?? []),
    ...assumptions.map(({ source }) => source),
    ...unknown.map(({ reason }) => reason),
    ...notes,
  ];
}

/** Names of files and keys, values and sums: what nobody translates. */
const NAME = /^("[^"]*"|[\w./:-]+)$/;

const english = (text: string) =>
  !/[\u0430-\u044f\u0451]/i.test(text) && /[a-z]{2}/i.test(text) && !NAME.test(text);

/** Messages without a Russian letter, each once, with a file that has it. */
async function untranslated(
  uris: Iterable<string>,
  workspaceOf: (uri: string) => Workspace,
): Promise<string[]> {
  const found = new Map<string, string>();
  for (const uri of uris) {
    const analysis = await workspaceOf(uri).analyze(uri);
    for (const text of analysis ? sentences(analysis) : []) if (english(text)) found.set(text, uri);
  }
  return [...found].map(([text, uri]) => `${text} (${uri})`);
}

describe('what configs are told in Russian', function () {
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
    assert.deepEqual(await untranslated(uris, () => workspace), []);
  });

  it('is Russian in published configs', async function () {
    if (!corpusIsThere) {
      console.log('      no published configs here: skipped');
      return this.skip();
    }
    const files = corpusFiles();
    const workspaces = workspacesOf(files);
    const byUri = new Map(files.map((file) => [file.uri, workspaces(file.repository)]));
    const workspaceOf = (uri: string) => byUri.get(uri) ?? assert.fail(uri);
    assert.deepEqual(await untranslated(byUri.keys(), workspaceOf), []);
  });
});
