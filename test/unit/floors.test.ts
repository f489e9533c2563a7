import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/*
 * The floors of the house, from the ground up. Imports lead down, types included: a file may use its own floor and those that
 * its row names. CONTRIBUTING draws the same.
 */
const FLOORS: Readonly<Record<string, string>> = {
  memo: '',
  rules: '',
  text: 'rules',
  terms: '',
  sources: '',
  wording: '',
  behaviours: 'terms sources',
  config: 'text wording',
  hardware: 'memo terms wording',
  model: 'memo terms behaviours wording',
  run: 'memo text terms wording behaviours hardware rules',
  environment: 'text memo config run',
  results: 'terms wording',
  measured: 'wording',
  records: 'wording measured',
  memory: 'memo terms sources wording behaviours hardware model run results',
  compute: 'memo terms sources wording behaviours hardware model run results memory',
  estimate: 'terms wording hardware model run results memory compute',
  explanation: 'terms sources wording hardware model run results memory compute estimate',
  dialects: 'memo text terms sources wording behaviours environment config hardware model run rules',
  workspace:
    'memo text terms sources wording environment config hardware model run results memory estimate dialects rules',
  advice: 'memo text terms wording config hardware model run results estimate dialects workspace',
  features:
    'memo text rules terms wording measured config hardware model run results memory estimate explanation dialects workspace advice',
  agents: 'text wording hardware run results workspace advice features',
  shared: 'wording run results workspace advice features',
  engine:
    'text wording config hardware model run results estimate explanation dialects workspace advice features',
  lsp: 'text wording measured records hardware run results workspace advice features rules agents',
  cli: 'text wording environment measured records hardware run results workspace advice features rules agents',
  server: 'text wording run results workspace features lsp',
  main: 'workspace lsp server',
  mcp: 'wording cli',
  worker: 'config workspace features lsp server',
  doors: 'main engine cli',
  start: '',
  client: 'shared',
};

/** Floors that may know the Language Server Protocol's library; VS Code's own API is the client's alone. */
const PROTOCOL = new Set(['lsp', 'server', 'main', 'worker']);

/** Sources of a folder, from the root of the repository. */
function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](dist|node_modules)[\\/]/.test(file));
}

/** What the import statements of a file name, those of types included. */
function imported(file: string): string[] {
  const statements =
    /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s'([^']+)'/gm;
  return [...readFileSync(file, 'utf8').matchAll(statements)].flatMap(([, a, b, c]) => a ?? b ?? c ?? []);
}

function fileOf(specifier: string, from: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const base = path.join(path.dirname(from), specifier);
  return [`${base}.ts`, base].find((file) => /\.\w+$/.test(file) && existsSync(file));
}

/** The first folder below `server/src`, the name of a file that lies there itself, or `client`. */
function floorOf(file: string): string {
  const [room = '', ...rest] = path.relative('server/src', file).split(path.sep);
  if (room === '..') return rest.includes('client') || file.startsWith('client') ? 'client' : 'data';
  return room.replace(/\.ts$/, '');
}

const FILES = [...sources('server/src'), ...sources('client')];
const IMPORTS = new Map(
  FILES.map((file) => [
    file,
    imported(file).map((specifier) => ({ specifier, to: fileOf(specifier, file) })),
  ]),
);
const between = [...IMPORTS].flatMap(([from, list]) =>
  list.flatMap(({ to }) => (to !== undefined && IMPORTS.has(to) ? [{ from, to }] : [])),
);

/** A circle of imports, as the files passed, or undefined where there is none. */
function circle(edges: readonly { readonly from: string; readonly to: string }[]): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const to of next.get(file) ?? []) {
      const found = visit(to, [...trail, file]);
      if (found) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const file of next.keys()) {
    const found = visit(file, []);
    if (found) return found;
  }
  return undefined;
}

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
      loader: { '.css': 'empty' },
    });
    const missed = Object.entries(metafile.inputs).flatMap(([file, { imports }]) => {
      const known = IMPORTS.get(path.normalize(file))?.map(({ to }) => to);
      return known ? imports.filter((one) => IMPORTS.has(one.path) && !known.includes(one.path)) : [];
    });
    assert.deepEqual(missed, []);
  });

  it('import nothing from above', () => {
    const upward = between.filter(({ from, to }) => {
      const [room, other] = [floorOf(from), floorOf(to)];
      return room !== other && !FLOORS[room]?.split(' ').includes(other);
    });
    assert.deepEqual(
      upward.map(({ from, to }) => `${from} -> ${to}`),
      [],
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
