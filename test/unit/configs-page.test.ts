import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseConfig } from '../../server/src/config/parse';
import { loadPython } from '../../server/src/config/python/grammar';
import { DIALECTS, detectDialect, mightBeTrainingConfig } from '../../server/src/dialects/registry';

const PAGE = readFileSync('docs/configs.md', 'utf8');
const NAMES: Readonly<Record<string, string>> = {
  json: 'a.json',
  yaml: 'a.yaml',
  toml: 'a.toml',
  shell: 'a.sh',
  python: 'a.py',
};

describe('the page of configs', () => {
  before(loadPython);

  const examples = [...PAGE.matchAll(/```(\w+) ([\w-]+)\n([\s\S]*?)```/g)];

  it('has examples', () => {
    assert.ok(examples.length >= 12);
  });

  for (const [, format = '', family = '', text = ''] of examples) {
    it(`shows what is recognised as ${family}`, () => {
      const name = NAMES[format] ?? '';
      assert.ok(mightBeTrainingConfig(text, name), 'the markers turn it away');
      assert.equal(detectDialect(parseConfig(`file:///${name}`, text))?.id, family);
    });
  }

  it('names every family', () => {
    const missing = DIALECTS.filter(
      ({ id, name }) => id !== 'in-house' && !PAGE.toLowerCase().includes(name.toLowerCase()),
    );
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    );
  });
});
