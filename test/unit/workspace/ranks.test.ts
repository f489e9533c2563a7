import assert from 'node:assert/strict';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { compareRuns } from '../../../server/src/features/compare';
import { ranksOf } from '../../../server/src/features/ranks';
import { tryKnobs } from '../../../server/src/features/try';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { analysed, DEEPSPEED } from '../features/panel-run';

/** The run on a pipeline of that many stages. */
const onPipeline = (stages: number): Promise<Analysis> =>
  analysed(
    DEEPSPEED.replace('{\n', `// oomlint: parallel.pipeline=${stages}\n{\n`).replace(
      '"stage": 3',
      '"stage": 1',
    ),
  );

describe('ranks', () => {
  it('are not distinguished where all GPUs hold the same', async () => {
    assert.equal(ranksOf(await analysed()), undefined);
  });

  it('are one per pipeline stage; the fullest is that of the estimate', async () => {
    const analysis = await onPipeline(4);
    const { ranks = [], peak } = breakdownOf(analysis);
    assert.deepEqual(
      ranks.map(({ first, last }) => [first, last]),
      [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
      ],
    );
    assert.equal(ranks.find(({ first }) => first === peak?.rank)?.processBytes, peak?.processBytes);
    assert.equal(Math.max(...ranks.map(({ processBytes }) => processBytes)), peak?.processBytes);
    for (const { parts, processBytes } of ranks) {
      assert.equal(
        parts.reduce((sum, { bytes }) => sum + bytes, 0),
        processBytes,
      );
    }
  });

  it('follow the knobs of a run that is tried', async () => {
    const analysis = await onPipeline(2);
    const tried = tryKnobs(analysis, { 'micro-batch': 4 })?.breakdown;
    assert.deepEqual(
      tried?.ranks?.map(({ first, last }) => [first, last]),
      [
        [0, 3],
        [4, 7],
      ],
    );
    assert.equal(
      tried?.ranks?.find(({ first }) => first === tried.peak?.rank)?.processBytes,
      tried?.peak?.processBytes,
    );
    for (const [i, rank] of ranksOf(analysis)?.entries() ?? [])
      assert.ok((tried?.ranks?.[i]?.processBytes ?? 0) > rank.processBytes, rank.label);
  });

  it('are shown of both runs that are compared', async () => {
    const compared = compareRuns(await onPipeline(4), await onPipeline(2));
    assert.deepEqual([compared?.before.ranks?.length, compared?.after.ranks?.length], [4, 2]);
  });
});
