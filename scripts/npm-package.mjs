// Builds what `npx oomlint` runs and packs it: out/npm/oomlint-VERSION.tgz. Command line, language server and engine share their code.
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundleServer, copyInto, place, product, ROOT, shellFiles } from './server-package.mjs';

const out = path.join(ROOT, 'out', 'npm');
const folder = path.join(out, 'oomlint');
await rm(out, { recursive: true, force: true });
const dist = path.join(folder, 'dist');
await bundleServer(dist, path.join(folder, 'THIRD-PARTY-NOTICES.txt'), ['cli', 'server', 'engine']);
const engine = await createRequire(import.meta.url)(path.join(dist, 'engine.js')).opened;
await place(
  path.join(dist, 'engine.mjs'),
  `import engine from './engine.js';\nexport const { ${Object.keys(engine).join(', ')} } = await engine.opened;\n`,
);
for (const [name, entry] of [
  ['oomlint', 'cli'],
  ['oomlint-language-server', 'server'],
])
  await place(
    path.join(folder, 'bin', `${name}.js`),
    `#!/usr/bin/env node\nrequire('../dist/${entry}.js');\n`,
    0o755,
  );
// What changed stands in the repository, which the package names.
await copyInto(folder, 'LICENSE', 'README.md');
const manifest = {
  name: 'oomlint',
  ...(await product()),
  type: 'commonjs',
  bin: { oomlint: './bin/oomlint.js', 'oomlint-language-server': './bin/oomlint-language-server.js' },
  exports: { '.': './dist/engine.mjs', './package.json': './package.json' },
  man: ['./share/man/man1/oomlint.1'],
  files: ['bin', 'dist', 'share', 'THIRD-PARTY-NOTICES.txt'],
  engines: { node: '>=20.19' },
};
await place(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
for (const [file, text] of shellFiles(path.join(dist, 'cli.js')))
  await place(path.join(folder, 'share', file), text);
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
const packed = execFileSync(npm, ['pack', '--json', '--pack-destination', out], {
  cwd: folder,
  encoding: 'utf8',
  shell: npm.endsWith('.cmd'),
  stdio: ['ignore', 'pipe', 'ignore'],
});
const [{ filename, size }] = [JSON.parse(packed)].flatMap((listed) =>
  Array.isArray(listed) ? listed : Object.values(listed),
);
console.log(`${path.join('out', 'npm', filename)}, ${(size / 1e6).toFixed(2)} MB`);
