// How server and command line are bundled: parts that are read where they are needed, a start reads a tenth of the whole.
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** The parser of Python in WebAssembly: it lies beside the server, which loads it for the first script that trains. */
const WASM = ['web-tree-sitter/web-tree-sitter.wasm', 'tree-sitter-python/tree-sitter-python.wasm'];

/** Package whose licence goes with the parser. */
export const GRAMMAR = path.join(root, 'node_modules', 'tree-sitter-python');
/** jsonc-parser's UMD build hides its requires from bundlers: take the ES module. */
export const MAIN_FIELDS = ['module', 'main'];
export const ENTRIES = { server: 'server/src/main.ts', cli: 'server/src/cli.ts' };
/** What the extension starts: language server, and server for agents. */
export const STARTED_BY_EDITOR = { server: ENTRIES.server, mcp: 'server/src/mcp.ts' };
/** Threads that server and command line start: files of their own beside them. */
export const THREADS = { 'snapshot-worker': 'server/src/records/snapshot-worker.ts' };

/** Package entries for browsers, where those of Node would bring Node along. */
const BOTH = {
  // Its entry for Node asks for `process` and `buffer`, which nothing here needs.
  yaml: path.join(root, 'node_modules', 'yaml', 'browser', 'index.js'),
};

/**
 * What server and client speak by in a browser. Its packages show it under the condition `browser` alone, which would have other
 * packages take what is theirs for browsers into the command line and into a desktop, too.
 */
const protocolOfBrowsers = {
  name: 'protocol-of-browsers',
  setup(bundle) {
    bundle.onResolve(
      { filter: /^vscode-(?:languageclient|languageserver|languageserver-protocol|jsonrpc)\/browser$/ },
      async (asked) => {
        const whole = asked.path.replace(/\/browser$/, '');
        const found = await bundle.resolve(whole, { resolveDir: asked.resolveDir, kind: asked.kind });
        const folder = found.path.slice(0, found.path.lastIndexOf(`${path.sep}lib${path.sep}`));
        return { path: path.join(folder, 'lib', 'browser', 'main.js') };
      },
    );
  },
};

/**
 * What agents answer is checked by the smaller of the two validators of JSON schemas that their protocol's package brings: it asks for
 * that of Node by a name of its own.
 */
const smallValidator = {
  name: 'small-validator',
  setup(bundle) {
    bundle.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path: name, resolveDir }) => ({
      path: name,
      namespace: 'small-validator',
      pluginData: resolveDir,
    }));
    bundle.onLoad({ filter: /.*/, namespace: 'small-validator' }, ({ pluginData: resolveDir }) => ({
      contents: `export { CfWorkerJsonSchemaValidator as DefaultJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker';
export { default as process } from 'node:process';`,
      resolveDir,
    }));
  },
};

/** Keys of tables that only checks of them read, by file: what a row was counted by, and words for whoever adds one. */
const FOR_CHECKS = {
  'models.json': ['generated', 'convention', 'note', 'source', 'published', 'difference', 'active'],
  'gpus.json': ['generated', 'notes'],
  'cloud.json': ['generated', 'notes'],
};

const EXPLANATION = path.join(root, 'server/src/explanation');
let addresses;

/** Tables as text that is parsed where they are asked for: V8 reads JSON twice as fast as the same as a literal. Of sources, those that a link can lead to. */
const parsedTables = {
  name: 'parsed-tables',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]server[\\/]data[\\/][\w-]+\.json$/ }, async ({ path: file }) => {
      const dropped = FOR_CHECKS[path.basename(file)] ?? [];
      addresses ??= evaluated(bundle.esbuild, "export * from './source-address';", EXPLANATION);
      const { sourceAddress } = await addresses;
      return parsedTable(await readFile(file, 'utf8'), (key, value) => {
        if (dropped.includes(key)) return undefined;
        return key === 'sources' ? value.filter(sourceAddress) : value;
      });
    });
  },
};

/** What stands in a column where the row above has the same, and where a row has none; what looks like one of both stands in a list. */
const SAME = 0;
const NONE = 1;

/** Rows of a table by their columns, which pack a seventh smaller than rows that name their keys. */
export function columnsOf(rows) {
  const columns = {};
  for (const key of new Set(rows.flatMap(Object.keys))) {
    let above;
    columns[key] = rows.map((row) => {
      const value = row[key];
      const text = JSON.stringify(value);
      const isSame = text === above;
      above = text;
      if (value === undefined) return NONE;
      if (isSame) return SAME;
      return value === SAME || value === NONE || Array.isArray(value) ? [value] : value;
    });
  }
  return columns;
}

/** The rows again; `columns` as JSON. Stands in what is built, and names nothing around it. */
export function rowsOf(columns) {
  const table = JSON.parse(columns);
  const rows = [];
  for (const [key, values] of Object.entries(table)) {
    let above;
    values.forEach((value, at) => {
      if (value !== 0) above = value === 1 ? undefined : Array.isArray(value) ? value[0] : value;
      rows[at] ??= {};
      if (above !== undefined) rows[at][key] = above;
    });
  }
  return rows;
}

/** A module whose text is what an expression gives, which is asked at the first use. */
const whenAsked = (expression) => `let text;
Object.defineProperties(exports, {
  __esModule: { value: true },
  default: { enumerable: true, get: () => (text ??= ${expression}) },
});`;

/** Keys of frameworks by columns, whose rows are made again when somebody asks for them. */
const columnTables = {
  name: 'column-tables',
  setup(bundle) {
    const keys = /[\\/]server[\\/]data[\\/]framework-keys[\\/][\w-]+\.jsonl$/;
    bundle.onLoad({ filter: keys }, async ({ path: file }) => {
      const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
      const columns = JSON.stringify(columnsOf(lines.map((line) => JSON.parse(line))));
      const rows = `(${rowsOf})(${JSON.stringify(columns)})`;
      return { contents: whenAsked(`${rows}.map((row) => JSON.stringify(row)).join('\\n')`), loader: 'js' };
    });
  },
};

/** What a list of cards shows: of their table, the client has no more. */
const LISTED = ['name', 'aliases', 'vendor', 'architecture', 'marketedGb', 'denseFlops', 'bf16', 'fp16'];
const listedCards = {
  name: 'listed-cards',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]server[\\/]data[\\/]gpus\.json$/ }, async ({ path: file }) =>
      parsedTable(await readFile(file, 'utf8'), (key, value) =>
        key === 'accelerators' || LISTED.includes(key) ? value : undefined,
      ),
    );
  },
};

/** Fewer rows pack as small by themselves. */
const MANY_ROWS = 50;

/** A module that parses a table, with what `kept` makes of each key's value, at any depth. Long lists of rows stand by columns. */
function parsedTable(text, kept) {
  const wanted = JSON.parse(text, (key, value) =>
    key === '' || /^\d+$/.test(key) ? value : kept(key, value),
  );
  const isRow = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  const lists = Object.entries(wanted).filter(
    ([, value]) => Array.isArray(value) && value.length > MANY_ROWS && value.every(isRow),
  );
  const rest = { ...wanted, ...Object.fromEntries(lists.map(([key]) => [key, []])) };
  const again = lists.map(([key, rows]) => {
    const columns = JSON.stringify(JSON.stringify(columnsOf(rows)));
    return `module.exports[${JSON.stringify(key)}] = (${rowsOf})(${columns});`;
  });
  return {
    contents: [`module.exports = JSON.parse(${JSON.stringify(JSON.stringify(rest))});`, ...again].join('\n'),
    loader: 'js',
  };
}

/** The manifest as far as anything but an editor reads it: half of it is titles of commands and descriptions of settings. */
const briefManifest = {
  name: 'brief-manifest',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]package\.json$/ }, async ({ path: file }) => {
      if (path.dirname(file) !== root) return undefined;
      const { version, contributes } = JSON.parse(await readFile(file, 'utf8'));
      const { colors } = contributes;
      return { contents: JSON.stringify({ version, contributes: { colors } }), loader: 'json' };
    });
  },
};

/**
 * Translations by keys that `say` makes of the English texts, which the code has anyway, and with letters of one byte: what they take
 * packed is three fifths of what it was. Keys stand together, and texts: each pack better among their like.
 */
const shortTranslations = {
  name: 'short-translations',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]wording[\\/]russian\.ts$/ }, async ({ path: file }) => {
      const { RUSSIAN, textKey, exchanged } = await evaluated(
        bundle.esbuild,
        `export * from ${JSON.stringify(file)}; export * from './text-keys';`,
        path.dirname(file),
      );
      const keys = Object.keys(RUSSIAN).map(textKey).join('');
      const texts = JSON.stringify(Object.values(RUSSIAN).map(exchanged));
      return {
        contents: `import { keyedBundle } from './text-keys';
export const RUSSIAN = keyedBundle(${JSON.stringify(keys)}, JSON.parse(${JSON.stringify(texts)}));`,
        loader: 'js',
      };
    });
  },
};

/** What a module exports, for a build that asks the sources themselves. */
async function evaluated(esbuild, contents, resolveDir) {
  const { outputFiles } = await esbuild.build({
    stdin: { contents, resolveDir, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

/** Modules of Node that most commands need nothing of, and that take long to load: read at the first use of a name. */
const lateBuiltins = {
  name: 'late-builtins',
  setup(bundle) {
    const late = /^(?:node:)?(?:child_process|crypto)$/;
    bundle.onResolve({ filter: late }, ({ path: name, namespace }) =>
      namespace === 'late' ? { path: name, external: true } : { path: name, namespace: 'late' },
    );
    bundle.onLoad({ filter: late, namespace: 'late' }, ({ path: name }) => {
      const names = JSON.stringify(Object.keys(createRequire(import.meta.url)(name)));
      // Modules that a browser reads, too, have no `require` of their own.
      const get = `get: () => (process.getBuiltinModule ?? require)(${JSON.stringify(name)})[name]`;
      return {
        contents: `for (const name of ${names}) Object.defineProperty(exports, name, { enumerable: true, ${get} });`,
      };
    });
  },
};

/** Tables and translations as files beside the bundle, in `data` of its folder: half of it, of which a run asks for little. */
const tablesBeside = (folder) => ({
  name: 'tables-beside',
  setup(bundle) {
    const tables = /[\\/](?:server[\\/]data|l10n)[\\/](?:[\w-]+[\\/])?[\w.-]+\.jsonl?$/;
    bundle.onLoad({ filter: tables }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8');
      const name = path.relative(root, file).replaceAll(path.sep, '-');
      const place = path.resolve(root, folder, 'data', name);
      await mkdir(path.dirname(place), { recursive: true });
      const read = `require('node:fs').readFileSync(require('node:path').join(__dirname, 'data', ${JSON.stringify(name)}), 'utf8')`;
      if (file.endsWith('.json')) {
        await writeFile(place, JSON.stringify(JSON.parse(text)));
        return { contents: `module.exports = JSON.parse(${read});`, loader: 'js' };
      }
      await writeFile(place, text);
      return { contents: whenAsked(read), loader: 'js' };
    });
  },
});

/** Options of esbuild, but for entries, the folder and how small it gets. */
export const MODULES = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  legalComments: 'none',
  // Escaped, each Cyrillic letter takes three times its bytes.
  charset: 'utf8',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  mainFields: MAIN_FIELDS,
  alias: BOTH,
  plugins: [
    protocolOfBrowsers,
    smallValidator,
    briefManifest,
    parsedTables,
    columnTables,
    shortTranslations,
    lateBuiltins,
  ],
  splitting: true,
  metafile: true,
  // What libraries of the older kind of module expect around them.
  banner: {
    js: `import { createRequire as __createRequire } from 'node:module';
import { dirname as __dirnameOf } from 'node:path';
import { fileURLToPath as __pathOf } from 'node:url';
const require = __createRequire(import.meta.url);
const __filename = __pathOf(import.meta.url);
const __dirname = __dirnameOf(__filename);`,
  },
};

/** Plugins of bundles whose tables and translations lie in `data` of a folder, which several of them share. */
export const withTablesBeside = (folder) => [
  tablesBeside(folder),
  ...MODULES.plugins.filter((plugin) => plugin !== shortTranslations),
];

/**
 * Options of esbuild for command line, language server and engine as one bundle, a function of what CommonJS modules see: `oomlint.cjs` in a folder, each part run when
 * it is opened; files in `startFolder` that start one of its `doors` come with it. One file is found, read and taken from V8's kept code
 * (`server/src/start`) at once, many are not.
 */
export function doorsBundle(folder, { doors, startFolder = folder, minify, sourcemap = false }) {
  const { splitting: _, banner: __, outExtension: ___, ...options } = MODULES;
  // Its bytes are read as characters of one byte: V8 takes those at once.
  const common = { ...options, format: 'cjs', charset: 'ascii', minify, sourcemap };
  const outfile = path.resolve(root, folder, 'oomlint.cjs');
  const starters = {
    name: 'starters',
    setup(bundle) {
      bundle.onEnd(async ({ errors }) => {
        if (errors.length > 0) return;
        const digest = createHash('sha256').update(await readFile(outfile));
        const build = digest.digest('hex').slice(0, 16);
        const place = path.relative(path.resolve(root, startFolder), outfile).replaceAll(path.sep, '/');
        for (const door of doors)
          await bundle.esbuild.build({
            ...common,
            entryPoints: ['server/src/start/start.ts'],
            outfile: path.resolve(root, startFolder, `${door}.js`),
            define: {
              DOOR: JSON.stringify(door),
              BUNDLE: JSON.stringify(place),
              BUILD: JSON.stringify(build),
            },
          });
      });
    },
  };
  return {
    ...common,
    entryPoints: ['server/src/doors.ts'],
    outfile,
    // Its ES module asks for its own address, which CommonJS does not have.
    alias: {
      ...BOTH,
      'web-tree-sitter': path.join(root, 'node_modules', 'web-tree-sitter', 'web-tree-sitter.cjs'),
    },
    plugins: [...withTablesBeside(folder), starters],
    banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
    footer: { js: '})' },
    supported: { 'dynamic-import': false },
  };
}

/**
 * Options of esbuild for the client, but for how small it gets: one file that a desktop and a browser start. Nothing of Node is asked for
 * before the part that runs on a desktop is.
 */
export const CLIENT = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  legalComments: 'none',
  charset: 'utf8',
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  mainFields: MAIN_FIELDS,
  plugins: [protocolOfBrowsers, listedCards],
  entryPoints: ['client/src/extension.ts'],
  outfile: 'client/dist/extension.js',
  external: ['vscode'],
};

/** Options of esbuild for the panel's page, but for the file and how small it gets. */
export const PANEL = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  legalComments: 'none',
  platform: 'browser',
  format: 'iife',
  target: 'es2022',
  entryPoints: ['client/webview/panel.ts'],
};

/** Puts the parser of Python into the folder of the bundles. */
export async function copyParser(folder) {
  await mkdir(folder, { recursive: true });
  for (const file of WASM)
    await copyFile(path.join(root, 'node_modules', file), path.join(folder, path.basename(file)));
}
