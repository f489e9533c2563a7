import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { corpusFiles } from '../../corpus/corpus-files';
import { factOf, read } from './reading';

const FOLDERS = ['test/fixtures/configs', 'examples'];

describe('rules of families', () => {
  const own = FOLDERS.flatMap((folder) =>
    readdirSync(folder).map((name) => ({
      uri: `file:///w/${name}`,
      text: readFileSync(path.join(folder, name), 'utf8'),
    })),
  );
  const all = [...own, ...corpusFiles()];

  it('report and state nothing', () => {
    const known = { 'hardware.gpus': 8, 'version.deepspeed': '0.19.8', 'version.transformers': '5.20' };
    const families = new Set<string>();
    for (const { uri, text } of all) {
      const document = parseConfig(uri, text);
      const dialect = detectDialect(document);
      if (!dialect) continue;
      families.add(dialect.id);
      const reading = dialect.read(document, { known });
      const stated = () => {
        const { facts, links, autos, unread, keys, joinsOnly } = reading;
        return JSON.stringify({ facts, links, autos, unread, keys: keys?.length, joinsOnly });
      };
      const before = stated();
      const { problems } = reading;
      assert.equal(stated(), before, uri);
      assert.equal(reading.problems, problems, 'looked for once');
    }
    assert.ok(families.size >= 4);
  });

  it('are not needed for a number that cannot be read to be unknown, nor for what the caller fills', () => {
    const text =
      '{"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}, "train_micro_batch_size_per_gpu": "four"}';
    const reading = read('deepspeed', 'file:///w/ds.json', text);
    assert.equal(factOf(reading, 'batch.micro')?.value, 'four');
    assert.deepEqual(
      reading.autos.map(({ key }) => key),
      ['zero_optimization.reduce_bucket_size'],
    );
    assert.equal(reading.problems.filter(({ code }) => code === 'wrong-type').length, 1);
  });
});
