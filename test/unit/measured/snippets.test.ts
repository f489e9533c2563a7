import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { LogFiguresReader } from '../../../server/src/measured/log-figures';
import { logLinesOf } from '../../../server/src/measured/log-line';

interface Snippet {
  readonly prefix: string;
  readonly body: readonly string[];
}
const SNIPPETS = Object.values(
  JSON.parse(readFileSync('snippets/memory.json', 'utf8')) as Record<string, Snippet>,
);

describe('snippets that record memory', () => {
  it('print figures in words that are read', () => {
    for (const { prefix, body } of SNIPPETS.filter((one) =>
      one.body.some((line) => line.includes('(GiB)')),
    )) {
      const keys = body.flatMap((line) => /'(memory\/[^']+)'/.exec(line)?.[1] ?? []);
      assert.equal(keys.length, 2, prefix);
      const reader = new LogFiguresReader();
      const printed = `{${keys.map((key, index) => `'${key}': ${index + 1}.5`).join(', ')}}`;
      for (const line of logLinesOf(printed)) reader.add(line);
      assert.deepEqual(
        reader.finish().series.map(({ kind, highest }) => [kind, highest.quantity.bytes]),
        [
          ['allocated', 1.5 * 2 ** 30],
          ['reserved', 2.5 * 2 ** 30],
        ],
        prefix,
      );
    }
  });

  it('ship with the extension', () => {
    const { contributes } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      contributes: { snippets: { path: string }[] };
    };
    assert.deepEqual(
      contributes.snippets.map(({ path }) => path),
      ['./snippets/memory.json'],
    );
    assert.match(readFileSync('.vscodeignore', 'utf8'), /^!snippets\/\*\.json$/m);
  });
});
