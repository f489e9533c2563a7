import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/*
 * The floors of the house, from the ground up. Imports lead down, types included: a file may use its own floor and those that
 * its row names. CONTRIBUTING draws the same.
 */
export const FLOORS: Readonly<Record<string, string>> = {
  memo: '',
  sources: '',
  rules: 'sources',
  text: 'rules',
  terms: '',
  wording: '',
  behaviours: 'terms sources',
  config: 'memo text wording',
  hardware: 'memo terms wording',
  model: 'memo terms behaviours wording',
  run: 'memo text terms wording behaviours hardware rules',
  environment: 'text memo config run',
  results: 'terms wording',
  measured: 'wording',
  records: 'wording measured',
  memory: 'memo terms sources wording behaviours hardware model run results',
  compute: 'memo terms sources wording behaviours hardware model run results memory',
  estimate: 'memo terms wording hardware model run results memory compute',
  explanation: 'terms sources wording hardware model run results memory compute estimate',
  dialects: 'memo text terms sources wording behaviours environment config hardware model run rules',
  workspace:
    'memo text terms sources wording environment config hardware model run results memory estimate dialects rules',
  advice: 'memo text terms wording environment config hardware model run results estimate dialects workspace',
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

/** Sources of a folder of a checkout, as paths from its root; none where it has no such folder. */
export function sourcesOf(folder: string, root = '.', named = /(?<!\.d)\.ts$/): string[] {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && named.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/[\\/](dist|node_modules)[\\/]/.test(file));
}

/** What the import statements of a source name, those of types included. */
function imported(source: string): string[] {
  const statements =
    /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s'([^']+)'/gm;
  return [...source.matchAll(statements)].flatMap(([, a, b, c]) => a ?? b ?? c ?? []);
}

function fileOf(specifier: string, from: string, root: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const base = path.join(path.dirname(from), specifier);
  return [`${base}.ts`, base].find((file) => /\.\w+$/.test(file) && existsSync(path.join(root, file)));
}

/** The first folder below `server/src`, the name of a file that lies there itself, or `client`. */
export function floorOf(file: string): string {
  const [room = '', ...rest] = path.relative('server/src', file).split(path.sep);
  if (room === '..') return rest.includes('client') || file.startsWith('client') ? 'client' : 'data';
  return room.replace(/\.ts$/, '');
}

export interface Import {
  readonly specifier: string;
  /** The file that it leads to, where it is one of the checkout's. */
  readonly to: string | undefined;
}

/** The imports of every source of the engine and the client. */
export function importsOf(root = '.'): ReadonlyMap<string, readonly Import[]> {
  const files = [...sourcesOf('server/src', root), ...sourcesOf('client', root)];
  return new Map(
    files.map((file) => [
      file,
      imported(readFileSync(path.join(root, file), 'utf8')).map((specifier) => ({
        specifier,
        to: fileOf(specifier, file, root),
      })),
    ]),
  );
}

export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** Imports that lead from one source to another. */
export function edgesOf(imports: ReadonlyMap<string, readonly Import[]>): Edge[] {
  return [...imports].flatMap(([from, list]) =>
    list.flatMap(({ to }) => (to !== undefined && imports.has(to) ? [{ from, to }] : [])),
  );
}

/** Imports between floors that the table does not have. */
export function upwardImports(edges: readonly Edge[]): Edge[] {
  return edges.filter(({ from, to }) => {
    const [room, other] = [floorOf(from), floorOf(to)];
    return room !== other && !FLOORS[room]?.split(' ').includes(other);
  });
}

/** Pairs of floors each of which imports something of the other. */
export function mutualFloors(edges: readonly Edge[]): string[] {
  const arrows = new Set(edges.map(({ from, to }) => `${floorOf(from)} ${floorOf(to)}`));
  return [...arrows].filter((arrow) => {
    const [from = '', to = ''] = arrow.split(' ');
    return from < to && arrows.has(`${to} ${from}`);
  });
}

/** A circle of imports, as the files passed, or undefined where there is none. */
export function circle(edges: readonly Edge[]): string[] | undefined {
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
