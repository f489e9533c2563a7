import assert from 'node:assert/strict';
import {
  changesOf,
  decisiveUnread,
  type ReadRepository,
  shareOf,
  stopsBefore,
  tableOf,
  trainsElsewhere,
} from '../../python-runs/reading';
import repositories from '../../python-runs/repositories.json';
import { smallWorkspace } from '../workspace/small-workspace';

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

  it('counts none that is known to stop before it trains', () => {
    assert.ok(stopsBefore({ code: 'mamba-targets', message: 'PEFT 0.21 stops: no.' }));
    assert.ok(
      stopsBefore({
        code: 'model-class',
        message: '`A` takes no model of the type `b`: the call stops with a `ValueError`.',
      }),
    );
    assert.ok(!stopsBefore({ code: 'unknown-fields', message: 'An estimate needs the model.' }));
  });

  it('is whole where a value that is not known leaves the peak as it is', async () => {
    const open = async (evaluation: string) => {
      const { analyze } = smallWorkspace({
        'train.py': `# oomlint: gpu=A100-SXM4-80GB gpus=1 sequence=512
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments
model = AutoModelForSeq2SeqLM.from_pretrained("google-t5/t5-small")
args = Seq2SeqTrainingArguments("out", per_device_train_batch_size=16, eval_strategy="epoch"${evaluation})
Seq2SeqTrainer(model=model, args=args, train_dataset=rows, eval_dataset=held_out, compute_metrics=score).train()
`,
      });
      const analysis = await analyze('train.py');
      assert.equal(analysis.unread?.length, 1);
      return decisiveUnread(analysis).length;
    };
    // Tokens that it generates are few; all logits of 100,000 samples are not.
    assert.equal(await open(', predict_with_generate=True'), 0);
    assert.equal(await open(''), 1);
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
    // Of runs that are known as such: those of embeddings, none of which is estimated, were taken for none before. 832 were whole
    // while nothing was known of what an evaluation keeps. Of 4 more something is not counted.
    assert.ok(whole >= 823 && whole / runs >= 0.9, `${whole} of ${runs}`);
    const unsloth = all.find(({ name }) => name === 'unslothai/notebooks');
    assert.ok(unsloth);
    const own = shareOf([unsloth.notebooks, unsloth.scripts]);
    assert.ok(own.whole >= 838 && own.whole / own.runs >= 0.88, `${own.whole} of ${own.runs}`);
  });
});
