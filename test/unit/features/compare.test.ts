import assert from 'node:assert/strict';
import { compareRuns } from '../../../server/src/features/compare';
import { analysed, DEEPSPEED, PROJECT } from './panel-run';

describe('two runs compared', () => {
  it('differ by what their fields cost, one after the other', async () => {
    const before = await analysed();
    const after = await analysed(
      DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 8').replace('"stage": 3', '"stage": 1'),
      PROJECT.replace('sequence: 2048', 'sequence: 4096'),
    );
    const compared = compareRuns(before, after);
    assert.ok(compared);
    const peaks = [compared.before, compared.after].map(({ peak }) => peak?.processBytes ?? 0);
    const sum = compared.differences.reduce((bytes, difference) => bytes + difference.bytes, 0);
    assert.equal(sum, (peaks[1] ?? 0) - (peaks[0] ?? 0));
    const names = compared.differences.map(({ fields }) => fields.join());
    for (const field of ['batch.micro', 'zero.stage', 'batch.sequence'])
      assert.ok(names.includes(field), field);
    const micro = compared.differences.find(({ fields }) => fields.includes('batch.micro'));
    assert.deepEqual([micro?.before, micro?.after], ['2', '8']);
    assert.ok(micro && micro.bytes > 0);
  });

  it('count what follows from a change to that change', async () => {
    const stated = DEEPSPEED.replace('"gradient_accumulation_steps": 4', '"train_batch_size": 64');
    const compared = compareRuns(
      await analysed(stated),
      await analysed(stated.replace('_gpu": 2', '_gpu": 4')),
    );
    const [micro, ...others] = compared?.differences ?? [];
    assert.deepEqual(micro?.fields, ['batch.micro'], 'the accumulation follows from the global batch');
    assert.deepEqual(others, []);
    assert.equal(compared?.after.compute?.tokensPerStep, compared?.before.compute?.tokensPerStep);
    const larger = await analysed(stated.replace('"train_batch_size": 64', '"train_batch_size": 128'));
    assert.deepEqual(
      compareRuns(await analysed(stated), larger)?.differences.map(({ fields }) => fields),
      [['batch.global']],
    );
    // Where the accumulation is what is stated, the global batch follows.
    const more = await analysed(DEEPSPEED.replace('_steps": 4', '_steps": 8'));
    assert.deepEqual(
      compareRuns(await analysed(), more)?.differences.map(({ fields }) => fields),
      [['batch.accumulation']],
    );
  });

  it('do not differ where one release is written with more zeros', async () => {
    const under = (accelerate: string) =>
      analysed(DEEPSPEED, `${PROJECT}  version.accelerate: '${accelerate}'\n`);
    assert.deepEqual(compareRuns(await under('1.15'), await under('1.15.0'))?.differences, []);
    const [found] = compareRuns(await under('1.5'), await under('1.15.0'))?.differences ?? [];
    assert.deepEqual([found?.before, found?.after], ['1.5', '1.15.0']);
  });

  it('do not differ where only the text does', async () => {
    const other = DEEPSPEED.replaceAll('  ', '    ');
    assert.deepEqual(compareRuns(await analysed(), await analysed(other))?.differences, []);
  });
});
