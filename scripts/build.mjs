// Bundles what ships (client, panel page, server, command line, engine) and, with --tests, the test suites.
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');

/** jsonc-parser's UMD build hides its requires from bundlers: take the ES module. */
const mainFields = ['module', 'main'];
const base = {
  absWorkingDir: root,
  bundle: true,
  logLevel: 'warning',
  sourcemap: production ? false : 'linked',
  minify: production,
  legalComments: 'none',
};
const node = { ...base, platform: 'node', format: 'cjs', target: 'node20', mainFields };

const bundles = [
  {
    ...node,
    entryPoints: ['client/src/extension.ts'],
    outfile: 'client/dist/extension.js',
    external: ['vscode'],
  },
  {
    ...base,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    entryPoints: ['client/webview/panel.ts'],
    outfile: 'client/dist/panel.js',
  },
  {
    ...node,
    entryPoints: { server: 'server/src/main.ts', cli: 'server/src/cli.ts', engine: 'server/src/engine.ts' },
    outdir: 'server/dist',
  },
];

async function testEntries() {
  const entries = {};
  for (const kind of ['unit', 'protocol', 'page', 'vscode', 'bench']) {
    const folder = path.join(root, 'test', kind);
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    for (const name of names) {
      if (/\.(test|bench)\.ts$/.test(name) || name === 'index.ts') {
        entries[`${kind}/${name.replace(/\.ts$/, '')}`] = `test/${kind}/${name}`;
      }
    }
  }
  return entries;
}

if (process.argv.includes('--tests')) {
  await mkdir(path.join(root, 'out', 'test'), { recursive: true });
  bundles.push({
    ...node,
    entryPoints: await testEntries(),
    outdir: 'out/test',
    external: ['vscode', 'mocha', 'fast-check', 'playwright-core', 'ajv', 'esbuild'],
    sourcemap: 'inline',
  });
}

if (watch) {
  const { context } = await import('esbuild');
  for (const bundle of bundles) {
    await (await context({ ...bundle, logLevel: 'info' })).watch();
  }
} else {
  await Promise.all(bundles.map((bundle) => build(bundle)));
}
