import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { CLIENT } from '../../scripts/modules.mjs';
import { circle, edgesOf, FLOORS, floorOf, importsOf, mutualFloors, upwardImports } from '../house/imports';

/** Floors that may know the Language Server Protocol's library; VS Code's own API is the client's alone. */
const PROTOCOL = new Set(['lsp', 'server', 'main', 'worker']);

const IMPORTS = importsOf();
const FILES = [...IMPORTS.keys()];
const between = edgesOf(IMPORTS);

describe('the floors of the house', () => {
  it('stand in order: each is built on those below it', () => {
    const names = Object.keys(FLOORS);
    for (const [index, name] of names.entries()) {
      const above = names.slice(index);
      const uses = FLOORS[name]?.split(' ') ?? [];
      assert.deepEqual(
        uses.filter((used) => used !== '' && (above.includes(used) || !names.includes(used))),
        [],
        name,
      );
    }
  });

  it('hold every file', () => {
    assert.ok(FILES.length > 500, `only ${FILES.length} files were found`);
    assert.deepEqual(
      FILES.filter((file) => FLOORS[floorOf(file)] === undefined),
      [],
    );
  });

  it('see every import that the bundler sees', async () => {
    const entryPoints = ['server/src/main.ts', 'server/src/cli.ts', 'client/src/extension.ts'];
    const { metafile } = await build({
      entryPoints: [...entryPoints, 'server/src/engine.ts', 'client/webview/panel.ts'],
      bundle: true,
      write: false,
      metafile: true,
      outdir: 'out/floors',
      platform: 'node',
      mainFields: ['module', 'main'],
      external: ['vscode'],
      plugins: CLIENT.plugins,
      loader: { '.css': 'empty' },
    });
    const missed = Object.entries(metafile.inputs).flatMap(([file, { imports }]) => {
      const known = IMPORTS.get(path.normalize(file))?.map(({ to }) => to);
      return known ? imports.filter((one) => IMPORTS.has(one.path) && !known.includes(one.path)) : [];
    });
    assert.deepEqual(missed, []);
  });

  it('import nothing from above', () => {
    assert.deepEqual(
      upwardImports(between).map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
    assert.deepEqual(mutualFloors(between), []);
    assert.equal(
      upwardImports([{ from: 'server/src/model/tape.ts', to: 'server/src/estimate.ts' }]).length,
      1,
    );
  });

  it('have no circles of files', () => {
    assert.deepEqual(circle(between), undefined);
    // That it would find one.
    assert.ok(circle([...between, ...between.slice(0, 1).map(({ from, to }) => ({ from: to, to: from }))]));
  });

  it('know the protocol and the editor only where they are wired', () => {
    const names = [...IMPORTS].flatMap(([file, list]) =>
      list
        .filter(({ specifier }) => /^vscode(-language|$|\/)/.test(specifier))
        .filter(({ specifier }) =>
          specifier === 'vscode' || file.startsWith('client')
            ? floorOf(file) !== 'client'
            : !PROTOCOL.has(floorOf(file)),
        )
        .map(({ specifier }) => `${file}: ${specifier}`),
    );
    assert.deepEqual(names, []);
  });

  it('are drawn in CONTRIBUTING: a row of its table for each, and nothing that is not there', () => {
    const text = readFileSync('CONTRIBUTING.md', 'utf8');
    const rows = [...text.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    const folders = rows.filter((name) => /^(client|server|test)\b/.test(name));
    assert.deepEqual(
      folders.filter((name) => !existsSync(name)),
      [],
    );
    const named = new Set(folders.map((name) => floorOf(path.normalize(`${name}/x`))));
    assert.deepEqual(
      Object.keys(FLOORS).filter((name) => !named.has(name) && !named.has(`${name}.ts`)),
      [],
    );
  });
});
