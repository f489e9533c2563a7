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

  it('is as much as there are samples, where the text divides, cuts or chooses them, or their number is published', async () => {
    const samples = async (data: string, given: string) => {
      const text = script(METRICS).replace('held_out', given).replace('args =', `${data}\nargs =`);
      const { analyze } = smallWorkspace({
        'train.py': `from datasets import load_dataset\nfrom tqdm import tqdm\n${text}`,
      });
      const { resolved, unread = [] } = await analyze('train.py');
      const found = resolved.values['evaluation.samples'];
      assert.equal(unread.length, found === undefined ? 1 : 0, data);
      return found;
    };
    const loads = 'ds = load_dataset("someone/rows"';
    for (const [data, given, count] of [
      [`${loads}, split="train[:5000]")`, 'ds', 5000],
      [`${loads}, split="train[100:350]").shuffle(seed=1)`, 'ds', 250],
      [`${loads}, split="train[:5000]").train_test_split(test_size=0.2)`, 'ds["test"]', 1000],
      [
        `${loads}, split="train[:150]")\nds = ds.train_test_split(0.1)\nds = ds.map(f, batched=True)`,
        'ds["test"]',
        15,
      ],
      [`${loads})["train"].train_test_split(test_size=64)`, 'ds["test"]', 64],
      [`${loads})\nsome = ds["validation"].select(range(100)).map(f)`, 'some', 100],
      [`${loads}, split="test").take(32)`, 'ds', 32],
      [
        'ds = load_dataset("lambdalabs/pokemon-blip-captions")\nds = ds["train"].train_test_split(test_size=0.1)',
        'ds["test"]',
        84,
      ],
      [
        'ds = load_dataset("Etherll/kaira", split="train").train_test_split(test_size=0.06)\nrows = [f(x) for x in tqdm(ds["test"], desc="t")]',
        'rows',
        72,
      ],
      // Nobody knows how many there are, or are left.
      [`${loads})`, 'ds["test"]', undefined],
      [`${loads}, split="train[:10%]")`, 'ds', undefined],
      [`${loads}, split="train").train_test_split(test_size=0.2)`, 'ds["test"]', undefined],
      [`${loads}, split="train[:5000]").filter(f)`, 'ds', undefined],
      [`${loads}, split="train[:5000]").map(f, batched=True, remove_columns=["a"])`, 'ds', undefined],
      ['ds = load_dataset("timit_asr")\nds["test"] = ds["test"].filter(f)', 'ds["test"]', undefined],
      ['ds = load_dataset("timit_asr", data_files="a.json")', 'ds["test"]', undefined],
      ['ds = load_dataset("timit_asr")\nrows = [f(x) for x in ds["test"] if x]', 'rows', undefined],
    ] as const)
      assert.equal(await samples(data, given), count, data);
  });

  it('makes no run too large by itself where samples are as long as a limit which none may reach', async () => {
    const verdict = async (stated: string) => {
      const text = script(METRICS)
        .replace(', padding="max_length"', '')
        .replace('gpus=1', `gpus=1${stated}`)
        .replace('held_out', 'load_dataset("someone/rows", split="test[:200]")');
      const { analyze } = smallWorkspace({ 'train.py': `from datasets import load_dataset\n${text}` });
      const { estimate } = await analyze('train.py');
      assert.equal(estimate?.peak.moment, 'evaluation');
      return estimate?.verdict;
    };
    assert.equal(await verdict(' sequence=512'), 'exceeds');
    assert.equal(await verdict(''), 'tight');
  });

  it('is not known where a list decides what is left out', async () => {
    const text = script(METRICS).replace('.train()', '.train(ignore_keys_for_eval=["hidden_states"])');
    const { analyze } = smallWorkspace({ 'train.py': text });
    const { resolved, unread = [] } = await analyze('train.py');
    assert.deepEqual(
      unread.map(({ text: words }) => words),
      ['ignore_keys_for_eval'],
    );
    assert.equal(resolved.origins['evaluation.predictions']?.kind, 'default');
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
