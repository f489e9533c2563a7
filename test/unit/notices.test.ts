import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { billOfMaterials } from '../../scripts/bill-of-materials.mjs';
import { STARTED_BY_EDITOR } from '../../scripts/modules.mjs';
import { bundledPackages } from '../../scripts/notices.mjs';

describe('notices of the packages that are shipped', function () {
  this.timeout(60_000);

  it('name each that the server holds, with the text of its licence', async () => {
    const { metafile } = await build({
      entryPoints: STARTED_BY_EDITOR,
      outdir: 'server/dist',
      bundle: true,
      write: false,
      metafile: true,
      minify: true,
      platform: 'node',
      mainFields: ['module', 'main'],
      logLevel: 'silent',
      loader: { '.yaml': 'text' },
    });
    const found = await bundledPackages(
      [metafile],
      ['server/dist/server.js', 'server/dist/mcp.js'],
      process.cwd(),
    );
    const names = found.map(({ name }) => name);
    const { dependencies } = JSON.parse(readFileSync('server/package.json', 'utf8'));
    for (const name of ['yaml', 'jsonc-parser', 'vscode-languageserver', 'vscode-jsonrpc', 'ignore'])
      assert.ok(names.includes(name), name);
    // The command line alone needs these.
    const others = ['commander', 'chokidar'];
    for (const name of Object.keys(dependencies))
      if (!others.includes(name)) assert.ok(names.includes(name), name);
    for (const { name, license, text } of found) {
      assert.ok(
        /^(MIT|ISC|Apache-2\.0|BlueOak-1\.0\.0|BSD-\d-Clause|0BSD)$/.test(license),
        `${name}: ${license}`,
      );
      assert.ok(text.length > 200, name);
    }
  });

  it('have their counterpart for programs, in a format that these know', () => {
    const { components, bomFormat, specVersion } = billOfMaterials(
      [
        { name: 'yaml', version: '2.8.1', license: 'ISC' },
        { name: '@renovatebot/pep440', version: '4.2.1', license: 'Apache-2.0' },
      ],
      { name: 'oomlint', version: '0.1.0', license: 'MIT' },
    );
    assert.deepEqual([bomFormat, specVersion], ['CycloneDX', '1.6']);
    assert.deepEqual(
      components.map(({ purl, licenses }) => [purl, licenses[0]?.license.id]),
      [
        ['pkg:npm/yaml@2.8.1', 'ISC'],
        ['pkg:npm/%40renovatebot/pep440@4.2.1', 'Apache-2.0'],
      ],
    );
  });

  it('go into the package', () => {
    assert.ok(readFileSync('.vscodeignore', 'utf8').includes('!THIRD-PARTY-NOTICES.txt'));
  });
});
