import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { LUDWIG } from '../../../server/src/dialects/ludwig/ludwig-repository';
import { AUTOMODEL, MEGATRON_BRIDGE, NEMO } from '../../../server/src/dialects/nemo/nemo-repository';
import { OPEN_INSTRUCT } from '../../../server/src/dialects/open-instruct/open-instruct-repository';
import { OPENRLHF } from '../../../server/src/dialects/openrlhf/openrlhf-repository';
import * as shared from '../../../server/src/sources/repositories';
import { VERL } from '../../../server/src/sources/repositories';

const ROOT = process.cwd();
const KEYS = path.join(ROOT, 'server/data/framework-keys');

/** Rows of the table of docs/configs.md: family, source, release that was read, releases of the keys. */
async function rowsOfPage(): Promise<readonly (readonly string[])[]> {
  const page = await readFile(path.join(ROOT, 'docs/configs.md'), 'utf8');
  const table = page.slice(page.indexOf('## At which release each family was read'));
  const lines = table.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, 5),
  );
}

describe('the table of releases that families were read at', () => {
  it('has the release that links lead to', async () => {
    const own = [NEMO, AUTOMODEL, MEGATRON_BRIDGE, LUDWIG, OPEN_INSTRUCT, OPENRLHF, VERL];
    const known = [...Object.values(shared), ...own].filter((each) => typeof each === 'object');
    const rows = await rowsOfPage();
    assert.ok(rows.length >= 25);
    for (const [family, source, at] of rows) {
      const found = known.filter(({ name }) => name === source).map((each) => each.at);
      const short = found.map((each) => (/^[0-9a-f]{40}$/.test(each) ? each.slice(0, 12) : each));
      assert.ok(at !== undefined && short.includes(at), `${family}: ${at}, not ${short.join(' or ')}`);
    }
  });

  it('has the first and the last release of the keys, of every framework', async () => {
    const spans: string[] = [];
    for (const name of await readdir(KEYS)) {
      if (!name.endsWith('.jsonl')) continue;
      const [head = ''] = (await readFile(path.join(KEYS, name), 'utf8')).split('\n', 1);
      const { versions } = JSON.parse(head) as { versions: readonly string[] };
      spans.push(versions.length === 1 ? `${versions[0]}` : `${versions[0]} to ${versions.at(-1)}`);
    }
    const rows = await rowsOfPage();
    const stated = rows.flatMap(([, , , span]) => (span === '—' || span === undefined ? [] : [span]));
    assert.deepEqual(stated.sort(), spans.sort());
  });
});
