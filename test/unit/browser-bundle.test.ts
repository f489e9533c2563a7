import assert from 'node:assert/strict';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { build, type Metafile } from 'esbuild';
import { CLIENT, ENTRIES, MODULES } from '../../scripts/modules.mjs';
import { accelerators } from '../../server/data/gpus.json';
import { models } from '../../server/data/models.json';

/** Modules that only a call on Node reaches, and what they take of Node. */
const NODE_ONLY = [/^server\/src\/config\/python\/grammar-files\.ts$/, /web-tree-sitter\//];
const isBuiltin = (name: string) => name.startsWith('node:') || builtinModules.includes(name);

/** Outputs that a start of `entry` loads; with `later` also those that it may load by and by. */
function loaded({ outputs }: Metafile, entry: string, later: boolean): Metafile['outputs'][string][] {
  const start = Object.keys(outputs).find((name) => outputs[name]?.entryPoint === entry);
  const seen = new Set<string>(start === undefined ? [] : [start]);
  for (const name of seen)
    for (const { path, kind, external } of outputs[name]?.imports ?? [])
      if (!external && (later || kind !== 'dynamic-import')) seen.add(path);
  return [...seen].flatMap((name) => outputs[name] ?? []);
}

const builtins = (output: Metafile['outputs'][string]) =>
  output.imports.filter(({ path, external }) => external && isBuiltin(path)).map(({ path }) => path);

describe('what a browser gets', function () {
  this.timeout(120_000);
  let modules: Metafile;
  let files: ReadonlyMap<string, string>;

  before(async () => {
    const made = await build({
      ...MODULES,
      banner: {},
      entryPoints: { server: ENTRIES.server, worker: 'server/src/worker.ts' },
      outdir: 'out/browser-bundle',
      write: false,
      metafile: true,
    });
    modules = made.metafile;
    files = new Map(made.outputFiles.map((file) => [file.path, file.text]));
  });

  it('of the server starts without anything of Node', () => {
    const outputs = loaded(modules, 'server/src/worker.ts', false);
    assert.ok(outputs.length > 3, 'there is a server');
    assert.deepEqual(outputs.flatMap(builtins), []);
    // The same question finds what the server on a machine takes.
    assert.ok(loaded(modules, ENTRIES.server, true).flatMap(builtins).length > 5);
  });

  it('of the server needs nothing of Node later, but what never runs there', () => {
    const outputs = loaded(modules, 'server/src/worker.ts', true).filter(
      (output) => builtins(output).length > 0,
    );
    const inputs = outputs.flatMap((output) => Object.keys(output.inputs));
    assert.deepEqual(
      inputs.filter((input) => !NODE_ONLY.some((known) => known.test(input))),
      [],
    );
  });

  it('is not what a server on a machine starts with: parsers, key tables, rules and formulas come later', () => {
    const late =
      /^server\/src\/(?:dialects|rules|memory|compute|model|config\/(?:json|yaml|toml|shell|parse))/;
    const inputs = (later: boolean) =>
      loaded(modules, ENTRIES.server, later).flatMap((output) => Object.keys(output.inputs));
    assert.deepEqual(
      inputs(false).filter((input) => late.test(input)),
      [],
    );
    assert.ok(inputs(true).filter((input) => late.test(input)).length > 100);
  });

  it('of the client is what a desktop gets, and asks for VS Code alone there', async () => {
    const { outputFiles } = await build({ ...CLIENT, write: false });
    const [bundle, ...more] = outputFiles;
    assert.deepEqual(more, []);
    assert.deepEqual(await askedFor(bundle?.text ?? '', undefined), ['vscode']);
    const onDesktop = await askedFor(bundle?.text ?? '', process);
    assert.ok(onDesktop.includes('child_process'), onDesktop.join());
  });

  it('of the client has of the table of cards what lists of them show, and of all cards', async () => {
    const [bundle] = (await build({ ...CLIENT, write: false })).outputFiles;
    const text = bundle?.text ?? '';
    assert.deepEqual(
      accelerators.filter(({ name }) => !text.includes(JSON.stringify(name).slice(1, -1))),
      [],
    );
    assert.match(text, /marketedGb/);
    assert.doesNotMatch(text, /usableBytes/);
  });

  it('of the server has every model with its config and its sources, without words for checks of the table', () => {
    const text = Object.entries(modules.outputs).flatMap(([name, { inputs }]) =>
      Object.keys(inputs).some((input) => input.endsWith('data/models.json')) ? [name] : [],
    );
    assert.equal(text.length, 1);
    const table = files.get(path.resolve(text[0] ?? '')) ?? '';
    for (const { id } of models) assert.ok(table.includes(`"${id}"`), id);
    assert.match(table, /tie_word_embeddings/);
    assert.match(table, /sources/);
    assert.doesNotMatch(table, /HF API scrape|not cross-checked/);
  });
});

/** Modules that the client asks for until it is activated, where `process` is what it finds under that name. */
async function askedFor(bundle: string, process: unknown): Promise<string[]> {
  const asked = new Set<string>();
  /** Whatever VS Code has: a class, a function and an object at once. */
  const anything: unknown = new Proxy(class {}, {
    apply: () => anything,
    get: (target, name) =>
      name in target || typeof name === 'symbol' ? Reflect.get(target, name) : anything,
  });
  const module = { exports: {} as { activate(context: unknown): Promise<void> } };
  const ask = (name: string) => {
    asked.add(name);
    return name === 'vscode' ? anything : require(name);
  };
  new Function('require', 'module', 'exports', 'process', bundle)(ask, module, module.exports, process);
  // Nothing stands in its context: it ends where it looks for the first thing there.
  await assert.rejects(module.exports.activate({}));
  return [...asked];
}
