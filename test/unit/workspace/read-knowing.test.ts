import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect, ReadContext } from '../../../server/src/dialects/dialect';
import { fact } from '../../../server/src/run/origin';
import { readKnowing } from '../../../server/src/workspace/read-knowing';

/** A family whose files state the stage that is known, and whose rules ask for the GPUs. */
function asking() {
  let reads = 0;
  const dialect: Dialect = {
    id: 'asking',
    name: 'Asking',
    markers: /./,
    keys: [],
    detect: () => 1,
    read(_, context: ReadContext) {
      const { known } = context;
      reads++;
      const stage = known['zero.stage'];
      return {
        facts: [fact('zero.stage', Number(stage ?? 0), { kind: 'file' })],
        links: [],
        get problems() {
          const message = `${String(known['hardware.gpus'])} GPUs, ${String(context.model?.layers)} layers`;
          const start = { line: 0, character: 0 };
          return [
            {
              code: 'world-size' as const,
              severity: 'error' as const,
              message,
              range: { start, end: start },
            },
          ];
        },
        autos: [],
      };
    },
  };
  return { dialect, reads: () => reads };
}

describe('reading with what is known', () => {
  const document = () => parseConfig('file:///w/a.json', '{}');

  it('reads once what asked for nothing that is another now', () => {
    const { dialect, reads } = asking();
    const text = document();
    const alone = readKnowing(dialect, text, { known: {} });
    const inRun = readKnowing(dialect, text, { known: { 'hardware.gpus': 8 }, model: { layers: 2 } });
    assert.equal(reads(), 1);
    assert.equal(inRun.facts, alone.facts);
    const third = readKnowing(dialect, text, { known: { 'zero.stage': 3, 'hardware.gpus': 8 } });
    assert.equal(reads(), 2);
    assert.equal(third.facts[0]?.value, 3);
    readKnowing(dialect, text, { known: { 'zero.stage': 3 } });
    readKnowing(dialect, text, { known: { 'hardware.gpus': 4 } });
    assert.equal(reads(), 2, 'both are still known');
    readKnowing(dialect, document(), { known: {} });
    assert.equal(reads(), 3, 'another document');
  });

  it('looks at rules with what is known when they are looked at', () => {
    const { dialect } = asking();
    const text = document();
    const alone = readKnowing(dialect, text, { known: {} });
    const inRun = readKnowing(dialect, text, { known: { 'hardware.gpus': 8 }, model: { layers: 2 } });
    assert.equal(inRun.problems[0]?.message, '8 GPUs, 2 layers');
    assert.equal(alone.problems[0]?.message, 'undefined GPUs, undefined layers');
    // What the rules asked for is no part of what the facts hang on.
    assert.equal(readKnowing(dialect, text, { known: { 'hardware.gpus': 2 } }).facts, alone.facts);
  });
});
