// Builds what `npx oomlint` runs and packs it: out/npm/oomlint-VERSION.tgz. Command line, language server and engine share their code.
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { copyParser, ENTRIES, GRAMMAR, MODULES } from './modules.mjs';
import { bundledPackages, writeNotices } from './notices.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const out = path.join(root, 'out', 'npm');
const folder = path.join(out, 'oomlint');
await rm(out, { recursive: true, force: true });
await mkdir(path.join(folder, 'bin'), { recursive: true });
const { metafile } = await build({
  ...MODULES,
  entryPoints: { ...ENTRIES, engine: 'server/src/engine.ts' },
  outdir: path.join(folder, 'dist'),
  minify: true,
});
await copyParser(path.join(folder, 'dist'));
for (const [name, entry] of [
  ['oomlint', 'cli'],
  ['oomlint-language-server', 'server'],
])
  await writeFile(
    path.join(folder, 'bin', `${name}.js`),
    `#!/usr/bin/env node\nimport '../dist/${entry}.js';\n`,
    {
      mode: 0o755,
    },
  );
const notices = await bundledPackages([metafile], Object.keys(metafile.outputs), root, [GRAMMAR]);
await writeNotices(notices, path.join(folder, 'THIRD-PARTY-NOTICES.txt'));
for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md'])
  await copyFile(path.join(root, file), path.join(folder, file));
const { version, license, repository, keywords } = JSON.parse(
  await readFile(path.join(root, 'package.json'), 'utf8'),
);
const manifest = {
  name: 'oomlint',
  version,
  description: 'Does this training run fit the GPU? Peak memory of training configs, before the run.',
  license,
  repository,
  keywords,
  type: 'module',
  bin: { oomlint: './bin/oomlint.js', 'oomlint-language-server': './bin/oomlint-language-server.js' },
  exports: { '.': './dist/engine.js', './package.json': './package.json' },
  files: ['bin', 'dist', 'CHANGELOG.md', 'THIRD-PARTY-NOTICES.txt'],
  engines: { node: '>=20.19' },
};
await writeFile(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const packed = execFileSync(npm, ['pack', '--json', '--pack-destination', out], {
  cwd: folder,
  encoding: 'utf8',
  shell: npm.endsWith('.cmd'),
  stdio: ['ignore', 'pipe', 'ignore'],
});
const [{ filename, size }] = [JSON.parse(packed)].flatMap((told) =>
  Array.isArray(told) ? told : Object.values(told),
);
console.log(`${path.join('out', 'npm', filename)}, ${(size / 1e6).toFixed(2)} MB`);
