import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { Versions } from '../../../server/src/run/versions';
import { read, statedVersions } from './reading';

const script = (
  config: string,
  trainer = 'Trainer',
) => `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
${trainer}(model=model, args=${config}).train()
`;

function found(
  text: string,
  known: Readonly<Record<string, string>>,
  versions: Versions = statedVersions(known),
) {
  const { problems } = read('python', 'file:///w/train.py', text, known, versions);
  return problems
    .filter(({ code }) => /^(argument-release|deprecated-key)$/.test(code))
    .map(({ code, severity, data }) => `${code} ${severity} ${String(data?.replacement)}`);
}

const TRANSFORMERS = (version: string) => ({ 'version.transformers': version });
const TRL = (version: string) => ({ 'version.trl': version, 'version.transformers': '4.57.6' });

describe('arguments that a release does not take', () => {
  before(loadPython);

  it('stop the call where that release is named', () => {
    const eval_strategy = script('TrainingArguments("o", eval_strategy="steps")');
    const evaluation_strategy = script('TrainingArguments("o", evaluation_strategy="steps")');
    const renamed = 'argument-release error evaluation_strategy';
    for (const version of ['4.10.0', '4.30.2', '4.40.2'])
      assert.deepEqual(found(eval_strategy, TRANSFORMERS(version)), [renamed], version);
    for (const version of ['4.41.0', '4.57.6', '5.23.0'])
      assert.deepEqual(found(eval_strategy, TRANSFORMERS(version)), [], version);
    // The other name is none there.
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('4.30.2')), []);
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('4.45.2')), [
      'deprecated-key hint eval_strategy',
    ]);
    assert.deepEqual(found(evaluation_strategy, TRANSFORMERS('5.23.0')), [
      'deprecated-key hint eval_strategy',
      'argument-release error eval_strategy',
    ]);
  });

  it('are TRL’s own, too', () => {
    const length = script('SFTConfig("o", max_seq_length=512)', 'SFTTrainer');
    assert.match(found(length, TRL('1.16.0')).join(), /argument-release error/);
    assert.doesNotMatch(found(length, TRL('0.15.2')).join(), /argument-release/);
    const packing = script('SFTConfig("o", packing_strategy="bfd")', 'SFTTrainer');
    assert.match(found(packing, TRL('0.15.2')).join(), /argument-release error/);
  });

  it('tell nothing of a release that nobody names', () => {
    const assumed = { transformers: { version: '5.23.0', source: 'assumed' } } as const;
    assert.doesNotMatch(
      found(script('TrainingArguments("o", evaluation_strategy="no")'), {}, assumed).join(),
      /argument-release/,
    );
    const ranged = { transformers: { version: '4.57.6', oldest: '4.30.0', source: 'range' } } as const;
    assert.deepEqual(found(script('TrainingArguments("o", eval_strategy="no")'), {}, ranged), [
      'argument-release warning evaluation_strategy',
    ]);
  });
});
