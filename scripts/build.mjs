// Bundles what ships (client, panel page, server, command line, engine) and, with --tests, the tests that need a bundle.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeBillOfMaterials } from './bill-of-materials.mjs';
import {
  CLIENT,
  copyParser,
  doorsBundle,
  GRAMMAR,
  MAIN_FIELDS,
  MODULES,
  PANEL,
  STARTED_BY_EDITOR,
  THREADS,
} from './modules.mjs';
import { bundledPackages, writeNotices } from './notices.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');
/** The extension does without: the command line is installed by itself. */
const withCommandLine = !process.argv.includes('--extension');
/** Bundles of the extension, whose licences it carries. */
const SHIPPED = /^(?:client\/dist\/(?:extension|panel)\.js|server\/dist\/modules\/.*\.mjs)$/;
const OUT_TEST = path.join(root, 'out', 'test');

const base = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  sourcemap: production ? false : 'linked',
  minify: production,
  legalComments: 'none',
  charset: 'utf8',
};
/** Its ES module asks for its own address, which bundles of another kind do not have. */
const alias = {
  'web-tree-sitter': path.join(root, 'node_modules', 'web-tree-sitter', 'web-tree-sitter.cjs'),
};
const node = { ...base, platform: 'node', format: 'cjs', target: 'node20', mainFields: MAIN_FIELDS, alias };
const MODULES_FOLDER = 'server/dist/modules';
const modules = {
  ...MODULES,
  // Browsers take the same modules: what libraries of the older kind expect is brought by the files that start Node.
  banner: {},
  entryPoints: { ...STARTED_BY_EDITOR, ...THREADS, worker: 'server/src/worker.ts' },
  outdir: MODULES_FOLDER,
  outExtension: { '.js': '.mjs' },
  sourcemap: production ? false : 'linked',
  minify: production,
};

const bundles = [
  { ...CLIENT, sourcemap: production ? false : 'linked', minify: production },
  {
    ...base,
    ...PANEL,
    outfile: 'client/dist/panel.js',
  },
  {
    ...node,
    entryPoints: { engine: 'server/src/engine.ts' },
    outdir: 'server/dist',
  },
  modules,
  ...(withCommandLine
    ? [doorsBundle(MODULES_FOLDER, { doors: ['cli'], startFolder: 'server/dist', minify: production })]
    : []),
];

/** Other tests are loaded as they stand (`typescript.cjs`). VS Code's extension host and the bench take bundles. */
async function bundledTests() {
  const entries = {};
  for (const kind of ['vscode', 'bench']) {
    const names = await readdir(path.join(root, 'test', kind));
    for (const name of names.filter((file) => /\.(test|bench)\.ts$/.test(file) || file === 'index.ts')) {
      entries[`${kind}/${name.replace(/\.ts$/, '')}`] = `test/${kind}/${name}`;
    }
  }
  return entries;
}

/** Bundles of tests whose source is gone must not run. */
async function removeOthers(entries) {
  for (const name of await readdir(OUT_TEST, { recursive: true }).catch(() => [])) {
    const entry = name.replaceAll('\\', '/').replace(/\.js(\.map)?$/, '');
    if (!Object.keys(entries).some((kept) => kept === entry || kept.startsWith(`${entry}/`))) {
      await rm(path.join(OUT_TEST, name), { recursive: true, force: true });
    }
  }
}

if (process.argv.includes('--tests')) {
  const entryPoints = await bundledTests();
  await removeOthers(entryPoints);
  bundles.push({ ...node, entryPoints, outdir: OUT_TEST, external: ['vscode', 'mocha'] });
}

await rm(path.join(root, MODULES_FOLDER), { recursive: true, force: true });
await copyParser(path.join(root, MODULES_FOLDER));
/** What editors and people start: Node takes them by these names since the first version. */
for (const name of Object.keys(STARTED_BY_EDITOR))
  await writeFile(
    path.join(root, 'server', 'dist', `${name}.js`),
    `'use strict';\nObject.assign(globalThis, { require, __dirname: require('node:path').join(__dirname, 'modules') });\nimport('./modules/${name}.mjs');\n`,
  );

if (watch) {
  const { context } = await import('esbuild');
  for (const bundle of bundles) {
    await (await context({ ...bundle, logLevel: 'info' })).watch();
  }
} else {
  const built = await Promise.all(bundles.map((bundle) => build({ ...bundle, metafile: production })));
  // Reports of the command line hold the page.
  if (withCommandLine)
    for (const name of ['panel.js', 'panel.css'])
      await copyFile(path.join(root, 'client', 'dist', name), path.join(root, MODULES_FOLDER, name));
  if (production) {
    const metafiles = built.flatMap(({ metafile }) => metafile ?? []);
    const shipped = metafiles
      .flatMap(({ outputs }) => Object.keys(outputs))
      .filter((name) => SHIPPED.test(name));
    const packages = await bundledPackages(metafiles, shipped, root, [GRAMMAR]);
    await writeNotices(packages, path.join(root, 'THIRD-PARTY-NOTICES.txt'));
    const product = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
    await mkdir(path.join(root, 'out'), { recursive: true });
    await writeBillOfMaterials(packages, product, path.join(root, 'out', 'oomlint.cdx.json'));
  }
}
