import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { TextDocuments } from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { OpenNotebooks } from '../../../server/src/lsp/notebooks';
import { EditorHost } from '../../../server/src/lsp/open-files';
import { OpenTexts } from '../../../server/src/lsp/open-texts';
import { liesInside } from '../../../server/src/workspace/confined-host';
import { DiskHost } from '../../../server/src/workspace/disk-host';

describe('what lies in a folder, links followed', () => {
  let base: string;
  let folder: string;
  const uri = (...names: string[]) => pathToFileURL(path.join(base, ...names)).href;

  before(async function () {
    base = await realpath(await mkdtemp(path.join(os.tmpdir(), 'oomlint-inside-')));
    folder = uri('in');
    await mkdir(path.join(base, 'in', 'sub'), { recursive: true });
    await mkdir(path.join(base, 'out'));
    await writeFile(path.join(base, 'out', 'a.json'), '{}');
    await writeFile(path.join(base, 'in', 'a.json'), '{}');
    try {
      await symlink(path.join(base, 'out'), path.join(base, 'in', 'far'));
      await symlink(path.join(base, 'in', 'sub'), path.join(base, 'in', 'near'));
    } catch {
      // Systems that let nobody make links.
      this.skip();
    }
  });
  after(() => rm(base, { recursive: true, force: true }));

  const editor = async () => {
    const host = new EditorHost(
      new OpenTexts(new TextDocuments(TextDocument), new OpenNotebooks()),
      new DiskHost([folder]),
    );
    await host.open([folder]);
    return host;
  };

  for (const [name, host] of [
    ['the disk', async () => new DiskHost([folder])],
    ['the editor', editor],
  ] as const)
    it(`is recognized by ${name}, for files that are there and that are not yet`, async () => {
      const looked = await host();
      const inside = (...names: string[]) => liesInside(uri(...names), [folder], looked);
      for (const names of [['in'], ['in', 'a.json'], ['in', 'new', 'b.json'], ['in', 'near', 'b.json']])
        assert.equal(await inside(...names), true, names.join('/'));
      for (const names of [
        ['out', 'a.json'],
        ['in', 'far', 'a.json'],
        ['in', 'far', 'new', 'b.json'],
        ['in2', 'a'],
      ])
        assert.equal(await inside(...names), false, names.join('/'));
    });
});
