import assert from 'node:assert/strict';
import { allFunctions, functionsOf } from '../house/functions';

/** Lines that a function of the engine or the client has at most. */
const LONGEST = 80;

describe('functions', () => {
  it('stay short enough to be read at once', () => {
    const all = allFunctions();
    assert.ok(all.length > 3000, `only ${all.length} functions were found`);
    const long = all.filter(({ lines }) => lines > LONGEST).sort((a, b) => b.lines - a.lines);
    assert.deepEqual(
      long.map(({ name, lines }) => `${lines} ${name}`),
      [],
    );
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
