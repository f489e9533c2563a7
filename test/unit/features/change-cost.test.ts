import assert from 'node:assert/strict';
import { changeCost } from '../../../server/src/features/change-cost';
import { projectChangeCost } from '../../../server/src/features/project-change-cost';
import { analysed, DEEPSPEED, PROJECT } from './panel-run';

describe('what a change costs', () => {
  it('stands at the key that states the new value, with the verdict where it turns', async () => {
    const before = await analysed();
    const text = DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 64');
    const after = await analysed(text);
    const cost = changeCost(before, after);
    assert.ok(cost);
    const gained = (after.estimate?.peak.processBytes ?? 0) - (before.estimate?.peak.processBytes ?? 0);
    assert.equal(cost.bytes, gained);
    assert.equal(cost.verdict, 'exceeds');
    const [micro, ...others] = cost.at;
    assert.deepEqual(others, []);
    assert.equal(micro?.removed, false);
    assert.match(
      text.split('\n')[micro?.range.start.line ?? -1] ?? '',
      /"train_micro_batch_size_per_gpu": 64/,
    );
    assert.match(micro?.label ?? '', /^\+[\d,.]+ GiB, fits → does not fit, [\d.]+× faster per token$/);
    assert.equal(micro?.lines[0], 'micro batch size: 2 → 64');
    assert.match(
      cost.words,
      /^peak \+.* GiB, step \+.*, [\d.]+× faster per token, global batch 64 → 2,048, fits → does not fit$/,
    );
  });

  it('has the time of a step alone where the step holds as many tokens', async () => {
    const cost = changeCost(await analysed(), await analysed(DEEPSPEED.replace('"stage": 3', '"stage": 1')));
    assert.match(cost?.words ?? '', /step [+−][\d.]+ m?s/);
    assert.doesNotMatch(cost?.words ?? '', /token|batch/);
    assert.match(cost?.at[0]?.label ?? '', /m?s\/step$/);
  });

  it('of a key that is gone stands where it was', async () => {
    const before = DEEPSPEED.replace('"stage": 3', '"offload_optimizer": { "device": "cpu" }, "stage": 3');
    const cost = changeCost(await analysed(before), await analysed());
    assert.ok(cost);
    const [gone] = cost.at;
    assert.equal(gone?.removed, true);
    assert.ok((gone?.bytes ?? 0) > 0);
    assert.match(gone?.label ?? '', /^\+/);
  });

  it('of several changes stands at each, and of all in what each adds', async () => {
    const text = DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 8').replace('"stage": 3', '"stage": 1');
    const cost = changeCost(await analysed(), await analysed(text));
    assert.deepEqual(
      cost?.at.map(({ lines }) => lines[0]),
      ['micro batch size: 2 → 8', 'ZeRO stage: 3 → 1'],
    );
    for (const { lines } of cost?.at ?? []) assert.ok(lines.some((line) => line.startsWith('All changes: ')));
  });

  it('is nothing where only the text differs, or the run has no estimate', async () => {
    assert.equal(changeCost(await analysed(), await analysed(DEEPSPEED.replaceAll('  ', '    '))), null);
    const other = await analysed(DEEPSPEED.replace('"stage": 3', '"stage": 1'));
    assert.equal(changeCost({ ...(await analysed()), estimate: undefined }, other), null);
  });
});

describe('what a change of a project file costs', () => {
  const FILE = 'file:///project/oomlint.yaml';
  const LONGER = PROJECT.replace('sequence: 2048', 'sequence: 16384');
  const reader = async (text: string, project = LONGER) => ({
    before: await analysed(text),
    after: await analysed(text, project),
  });
  const SMALL = DEEPSPEED.replace('_per_gpu": 2', '_per_gpu": 1');

  it('stands at its key, with the config whose peak changes most, and in words for each', async () => {
    const cost = projectChangeCost(FILE, [
      { ...(await reader(SMALL)) },
      await reader(DEEPSPEED),
      await reader(DEEPSPEED, PROJECT),
    ]);
    assert.ok(cost);
    assert.match(cost.short, /^ds\.json \+[\d.]+ GiB and 1 more config$/);
    assert.match(cost.words, /^ds\.json: peak \+[^;]*fits → does not fit; ds\.json: peak \+/);
    const [at, ...others] = cost.at;
    assert.deepEqual(others, []);
    assert.match(LONGER.split('\n')[at?.range.start.line ?? -1] ?? '', /sequence: 16384/);
    assert.match(at?.label ?? '', /^\+\d+ GiB, fits → does not fit.* \(ds\.json\)$/);
    assert.equal(at?.lines[0], 'sequence length: 2,048 → 16,384');
  });

  it('claims no number of configs where not all that read it are estimated', async () => {
    const cost = projectChangeCost(FILE, [await reader(SMALL), await reader(DEEPSPEED)], true);
    assert.match(cost?.short ?? '', /GiB and at least 1 more config$/);
  });

  it('is nothing where no run changes', async () => {
    assert.equal(projectChangeCost(FILE, [await reader(DEEPSPEED, `${PROJECT}# more\n`)]), null);
    assert.equal(projectChangeCost(FILE, []), null);
  });
});
