import assert from 'node:assert/strict';
import { ranksOf } from '../../../server/src/workspace/ranks';
import { analysed, DEEPSPEED } from '../features/panel-run';

describe('ranks', () => {
  it('are one where all GPUs hold the same', async () => {
    const analysis = await analysed();
    const ranks = ranksOf(analysis);
    assert.equal(ranks?.length, 1);
    assert.deepEqual([ranks[0]?.first, ranks[0]?.last], [0, 7]);
    assert.equal(ranks[0]?.processBytes, analysis.estimate?.peak.processBytes);
  });

  it('are one per pipeline stage; the fullest is that of the estimate', async () => {
    const text = DEEPSPEED.replace('{\n', '// oomlint: parallel.pipeline=4\n{\n').replace(
      '"stage": 3',
      '"stage": 1',
    );
    const analysis = await analysed(text);
    const ranks = ranksOf(analysis) ?? [];
    assert.deepEqual(
      ranks.map(({ first, last }) => [first, last]),
      [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
      ],
    );
    const peak = analysis.estimate?.peak;
    assert.equal(ranks.find(({ first }) => first === peak?.rank)?.processBytes, peak?.processBytes);
    for (const { parts, processBytes } of ranks) {
      assert.equal(
        parts.reduce((sum, { bytes }) => sum + bytes, 0),
        processBytes,
      );
    }
  });
});
