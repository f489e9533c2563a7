// How server and command line are bundled: parts that are read where they are needed, a start reads a tenth of the whole.
import { copyFile, mkdir, readFile } from 'node:fs/promises';
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
 * What the server in a browser speaks by. Its packages show it under the condition `browser` alone, which would have other
 * packages take what is theirs for browsers into the command line, too.
 */
const protocolOfBrowsers = {
  name: 'protocol-of-browsers',
  setup(bundle) {
    bundle.onResolve(
      { filter: /^vscode-(?:languageserver|languageserver-protocol|jsonrpc)\/browser$/ },
      async (asked) => {
        const whole = asked.path.replace(/\/browser$/, '');
        const found = await bundle.resolve(whole, { resolveDir: asked.resolveDir, kind: asked.kind });
        const folder = found.path.slice(0, found.path.lastIndexOf(`${path.sep}lib${path.sep}`));
        return { path: path.join(folder, 'lib', 'browser', 'main.js') };
      },
    );
  },
};

/** Tables as text that is parsed where they are asked for: V8 reads JSON twice as fast as the same as a literal. */
const parsedTables = {
  name: 'parsed-tables',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]server[\\/]data[\\/][\w-]+\.json$/ }, async ({ path: file }) => {
      const compact = JSON.stringify(JSON.parse(await readFile(file, 'utf8')));
      return { contents: `module.exports = JSON.parse(${JSON.stringify(compact)});`, loader: 'js' };
    });
  },
};

/** Options of esbuild, but for entries, the folder and how small it gets. */
export const MODULES = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  legalComments: 'none',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  mainFields: MAIN_FIELDS,
  alias: BOTH,
  plugins: [protocolOfBrowsers, parsedTables],
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
