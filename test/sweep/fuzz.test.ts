import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../server/src/config/parse';
import { detectDialect } from '../../server/src/dialects/registry';
import { examine } from '../fuzz/examine';
import { changes, mutated, NONSENSE } from '../fuzz/mutate';
import { SEEDS } from '../fuzz/seeds';
import { LONG, runs } from '../unit/long';

/** `npm run fuzz` goes on for as long as it may; here the same few hundred texts each time. */
describe('every feature on texts that are not as they should be', function () {
  this.timeout(60_000);
  for (const [index, [family, file, text]] of SEEDS.entries()) {
    it(`${family}: as it stands`, async () => {
      assert.equal(detectDialect(parseConfig(`file:///${file}`, text))?.id, family);
      assert.ok((await examine(file, text)).analysed);
    });

    it(`${family}: nonsense in place of values`, async () => {
      const lines = text.split('\n').length;
      // Each of it meets every family in the long run, else a sixth of them.
      for (const [i, by] of NONSENSE.entries())
        if (LONG || i % 6 === index % 6)
          await examine(file, mutated(text, [{ kind: 'value', at: (i * 7) % lines, by }]), i);
    });

    it(`${family}: changed at random`, () =>
      fc.assert(
        fc.asyncProperty(changes, fc.nat(), async (made, at) => {
          await examine(file, mutated(text, made), at);
        }),
        { numRuns: runs(2, 12), seed: 7 },
      ));
  }
});
