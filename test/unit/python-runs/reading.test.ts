import assert from 'node:assert/strict';
import { changesOf, type ReadRepository, shareOf, tableOf, trainsElsewhere } from '../../python-runs/reading';
import repositories from '../../python-runs/repositories.json';

const sample: ReadRepository = {
  name: 'a/b',
  commit: 'f'.repeat(40),
  notebooks: { whole: 9, withheld: 1, elsewhere: 4, 'no run': 2 },
  scripts: { partly: 1 },
};

describe('how far Python files of public repositories are read', () => {
  it('is a share of the runs that train with PyTorch', () => {
    assert.deepEqual(shareOf([sample.notebooks, sample.scripts]), { runs: 11, whole: 9 });
    assert.ok(trainsElsewhere('Unknown, so there is no verdict: Keras trains here: that is not estimated.'));
    assert.ok(trainsElsewhere('Runs of `UNet2DModel` are not estimated.'));
    assert.ok(!trainsElsewhere('Runs of `AutoModelForCTC.from_pretrained` are not estimated.'));
  });

  it('shows what another reading changed', () => {
    const now = { ...sample, notebooks: { ...sample.notebooks, whole: 10, withheld: 0 } };
    assert.deepEqual(changesOf(sample, now), [
      'a/b notebooks whole: 9 -> 10',
      'a/b notebooks withheld: 1 -> 0',
    ]);
    assert.deepEqual(changesOf(sample, sample), []);
    assert.match(tableOf([sample]), /notebooks: 9 of 10 whole, 90\.0 %/);
  });

  it('is kept with the commit of each repository, and does not fall', () => {
    const all: readonly ReadRepository[] = repositories;
    for (const { name, commit } of all) assert.match(commit, /^[0-9a-f]{40}$/, name);
    const { runs, whole } = shareOf(all.map(({ notebooks }) => notebooks));
    assert.ok(runs > 900, String(runs));
    // Of runs that are known as such: those of embeddings, none of which is estimated, were taken for none before.
    // Of 8 more something is not counted.
    assert.ok(whole >= 832 && whole / runs >= 0.9, `${whole} of ${runs}`);
    const unsloth = all.find(({ name }) => name === 'unslothai/notebooks');
    assert.ok(unsloth);
    const own = shareOf([unsloth.notebooks, unsloth.scripts]);
    assert.ok(own.whole >= 838 && own.whole / own.runs >= 0.88, `${own.whole} of ${own.runs}`);
  });
});
