import assert from 'node:assert/strict';
import { Lines } from '../../../server/src/config/lines';
import { environmentMagics } from '../../../server/src/config/python/environment-magics';
import { loadPython } from '../../../server/src/config/python/grammar';
import { assertStates, read } from '../dialects/reading';

const set = (text: string) =>
  environmentMagics(new Lines(text)).map(({ key, value }) => [
    key,
    value.kind === 'scalar' ? value.value : value.kind,
  ]);

describe('magics that set variables of the environment', () => {
  before(loadPython);

  it('take the rest of the line for the value, as IPython does', () => {
    assert.deepEqual(set('%env A=1\n%env B = 2 \n%set_env C three four\n%env D=1 # why\r\n'), [
      ['A', '1'],
      ['B', '2'],
      ['C', 'three four'],
      ['D', '1 # why'],
    ]);
    assert.deepEqual(set('%env PATH=/opt:{PATH}\n%env HOME_OF=$HOME\n'), [
      ['PATH', 'unknown'],
      ['HOME_OF', 'unknown'],
    ]);
    assert.deepEqual(set('%env\n%env A\n# %env A=1\nx = "%env A=1"\n%environment A=1\n'), []);
  });

  it('count like those that code sets', () => {
    const script = (line: string) => `${line}
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-0.6B", max_seq_length=2048)
model = FastLanguageModel.get_peft_model(model, r=16)
SFTTrainer(model=model, train_dataset=rows, args=SFTConfig(output_dir="o")).train()
`;
    const of = (line: string) => read('python', 'file:///train.py', script(line));
    for (const line of [
      '%env UNSLOTH_RETURN_LOGITS=1',
      'import os; os.environ["UNSLOTH_RETURN_LOGITS"] = "1"',
    ])
      assertStates(of(line), { 'loss.implementation': 'in-place default' });
    // A comment is part of the value, which is another then.
    for (const line of ['', '%env UNSLOTH_RETURN_LOGITS = 1 # no cut cross-entropy'])
      assertStates(of(line), { 'loss.implementation': 'fused-chunks default' });
  });
});
