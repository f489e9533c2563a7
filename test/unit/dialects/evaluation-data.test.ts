import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (release: string, config: string, passes: string, more = '') => `# oomlint: ${release}
from transformers import AutoModelForCausalLM, IntervalStrategy, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
args = ${config}
${more}
trainer = ${passes}
trainer.train()
`;

const problemOf = async (text: string) => {
  const { problems } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
  return problems.find(({ code }) => code === 'evaluation-data');
};

const NEW = 'version.transformers=5.23';
const ASKS = 'TrainingArguments("o", eval_strategy="epoch")';
const BARE = 'Trainer(model=model, args=args, train_dataset=rows)';

describe('a trainer that is to evaluate', () => {
  it('needs data for that, of the releases that look', async () => {
    assert.equal((await problemOf(script(NEW, ASKS, BARE)))?.severity, 'error');
    assert.equal(
      (await problemOf(script(NEW, ASKS, 'Trainer(model, args, None, rows, None)')))?.severity,
      'error',
    );
    const old = ASKS.replace('eval_', 'evaluation_');
    assert.equal((await problemOf(script('version.transformers=4.46.0', old, BARE)))?.severity, 'error');
    assert.equal(await problemOf(script('version.transformers=4.45.2', old, BARE)), undefined);
    const named = 'TrainingArguments("o", eval_strategy=IntervalStrategy.STEPS)';
    assert.equal((await problemOf(script(NEW, named, BARE)))?.severity, 'error');
    const tuned = 'SFTTrainer(model=model, args=args, train_dataset=rows)';
    assert.equal(
      (await problemOf(script(NEW, 'SFTConfig(eval_strategy="steps")', tuned)))?.severity,
      'error',
    );
    // Nobody names a release: it may be an older one.
    assert.equal((await problemOf(script('gpus=1', ASKS, BARE)))?.severity, 'warning');
  });

  it('is not refused where it has some, evaluates nothing, or is not seen as a whole', async () => {
    for (const text of [
      script(NEW, ASKS, 'Trainer(model=model, args=args, train_dataset=rows, eval_dataset=rows)'),
      script(NEW, ASKS, 'Trainer(model, args, None, rows, rows)'),
      script(NEW, ASKS, 'Trainer(model=model, args=args, **data)'),
      script(NEW, ASKS, 'Trainer(*parts, args=args)'),
      script(NEW, ASKS, 'Own(model=model, args=args)', 'class Own(Trainer):\n    pass'),
      script(NEW, 'TrainingArguments("o", eval_strategy="no")', BARE),
      script(NEW, 'TrainingArguments("o", eval_strategy=how)', BARE),
      script(NEW, 'TrainingArguments("o", eval_strategy="epoch", **more)', BARE),
      script(NEW, ASKS, BARE, 'args.eval_strategy = "no"'),
      script(NEW, ASKS, BARE, 'args.eval_strategy = how'),
    ])
      assert.equal(await problemOf(text), undefined, text);
  });
});
