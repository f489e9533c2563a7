import assert from 'node:assert/strict';
import { allFunctions, functionsOf } from '../house/functions';

/** Lines of the longest function of the engine and of the client, and how many have more than 80: both go down as functions are split, and never up. */
const LONGEST = { server: 100, client: 131 };
const OVER_80 = 17;

describe('functions', () => {
  it('stay short enough to be read at once', () => {
    const all = allFunctions();
    assert.ok(all.length > 3000, `only ${all.length} functions were found`);
    const long = all.filter(({ lines }) => lines > 80).sort((a, b) => b.lines - a.lines);
    const words = long.map(({ name, lines }) => `${lines} ${name}`).join('\n');
    for (const [wing, longest] of Object.entries(LONGEST)) {
      const lines = long.find(({ name }) => name.startsWith(wing))?.lines ?? 0;
      assert.ok(lines <= longest, words);
    }
    assert.ok(long.length <= OVER_80, words);
  });

  it('are measured from their names to their closing braces', () => {
    const source =
      'export function a(\n  b: number,\n): void {\n  if (b) {\n  }\n}\n\nclass C {\n  d(): void {\n  }\n}\n';
    assert.deepEqual(functionsOf(source), [
      { name: 'a', lines: 6 },
      { name: 'd', lines: 2 },
    ]);
  });
});
