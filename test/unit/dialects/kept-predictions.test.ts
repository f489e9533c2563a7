import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (
  more: string,
  args = '',
  head = 'CausalLM',
  name = 'Qwen/Qwen2.5-0.5B',
) => `# oomlint: gpu=T4 gpus=1
from transformers import AutoModelFor${head}, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("${name}")
model = AutoModelFor${head}.from_pretrained("${name}")
rows = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=512, padding="max_length"))
args = TrainingArguments("out", per_device_train_batch_size=1, fp16=True, optim="sgd", eval_strategy="steps"${args})
Trainer(model=model, args=args, train_dataset=rows, eval_dataset=held_out${more}).train()
`;
const METRICS = ', compute_metrics=score';

describe('what an evaluation keeps for metrics', () => {
  const read = async (more: string, args?: string, head?: string, name?: string) => {
    const { workspace, analyze } = smallWorkspace({ 'train.py': script(more, args, head, name) });
    const { resolved, estimate, unread = [] } = await analyze('train.py');
    assert.ok(workspace);
    return {
      kept: resolved.values['evaluation.predictions'],
      verdict: estimate?.verdict,
      left: unread.map(({ text }) => text),
    };
  };

  it('is everything that the model returns of every sample, so that no verdict stands while nobody knows how many there are', async () => {
    assert.deepEqual(await read(''), { kept: 'none', verdict: 'fits', left: [] });
    assert.deepEqual(await read(METRICS), { kept: 'logits', verdict: 'unknown', left: ['compute_metrics'] });
  });

  it('goes to the host after as many batches as are stated, and is nothing where the loss alone is wanted', async () => {
    const some = await read(METRICS, ', eval_accumulation_steps=1');
    assert.deepEqual(some, { kept: 'logits', verdict: 'fits', left: [] });
    assert.equal((await read(METRICS, ', prediction_loss_only=True')).kept, 'none');
    assert.equal((await read(', compute_metrics=None')).kept, 'none');
  });

  it('is one number of each position where logits are made smaller, and few where the head scores whole samples', async () => {
    const smaller = await read(`${METRICS}, preprocess_logits_for_metrics=argmax`);
    assert.equal(smaller.kept, 'tokens');
    assert.deepEqual(await read(METRICS, '', 'SequenceClassification'), {
      kept: 'none',
      verdict: 'fits',
      left: [],
    });
  });

  it('is what an encoder hands over, too, where a head behind its decoder scores whole samples', async () => {
    const name = 'facebook/bart-base';
    assert.deepEqual(await read(METRICS, '', 'SequenceClassification', name), {
      kept: 'logits',
      verdict: 'unknown',
      left: ['compute_metrics'],
    });
    const some = await read(METRICS, ', eval_accumulation_steps=1', 'SequenceClassification', name);
    assert.deepEqual(some, { kept: 'logits', verdict: 'fits', left: [] });
    const smaller = `${METRICS}, preprocess_logits_for_metrics=first`;
    assert.equal((await read(smaller, '', 'SequenceClassification', name)).kept, 'none');
  });
});
