import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { factOf, read } from './reading';

const IMPORTS = `from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer
`;

function scoring(trainer: string, args = '', adapters = true, trl?: string): unknown[] {
  const peft = adapters ? ', peft_config=LoraConfig(r=8)' : '';
  const text = `${IMPORTS}${trainer}Trainer("Qwen/Qwen2.5-0.5B", args=${trainer}Config(${args})${peft}).train()`;
  const reading = read('python', 'file:///w/train.py', text, trl ? { 'version.trl': trl } : {});
  return ['method.scoringForwards', 'method.referenceModel'].map(
    (field) => factOf(reading, field as 'method.referenceModel')?.value,
  );
}

describe('passes that score what a model has generated', () => {
  before(loadPython);

  it('are those of the base under adapters, where the divergence from it has a weight', () => {
    assert.deepEqual(scoring('GRPO'), [0, false]);
    assert.deepEqual(scoring('GRPO', 'beta=0.04'), [1, false]);
    assert.deepEqual(scoring('GRPO', 'beta=0.04', false), [0, true]);
    assert.deepEqual(scoring('GRPO', '', true, '0.18.2'), [1, false]);
    assert.deepEqual(scoring('RLOO'), [2, false]);
    assert.deepEqual(scoring('RLOO', 'beta=0.0'), [1, false]);
    assert.deepEqual(scoring('RLOO', '', false), [1, true]);
  });

  it('are those of the model before an update, as the release computes them', () => {
    assert.deepEqual(scoring('GRPO', 'use_vllm=True')[0], 1);
    assert.deepEqual(scoring('GRPO', 'use_vllm=True', true, '0.22.2')[0], 0);
    assert.deepEqual(scoring('GRPO', 'use_vllm=True, vllm_importance_sampling_correction=False')[0], 0);
    // Two rounds over each rollout.
    assert.deepEqual(scoring('GRPO', 'num_iterations=2')[0], 0.5);
    assert.deepEqual(scoring('GRPO', 'num_iterations=2, beta=0.1', true, '0.17.0')[0], 1);
    // A step ends with a rollout, or it does not.
    const rounds = 'gradient_accumulation_steps=4, steps_per_generation=';
    assert.deepEqual(scoring('GRPO', `${rounds}2`)[0], 0);
    assert.deepEqual(scoring('GRPO', `${rounds}8`)[0], 1);
    assert.deepEqual(scoring('GRPO', `${rounds}8`, true, '0.19.1')[0], 1);
    assert.deepEqual(scoring('GRPO', `${rounds}3`, true, '0.18.2')[0], 1);
  });

  it('are named for what they score', () => {
    const note = (args: string) => {
      const text = `${IMPORTS}GRPOTrainer("Qwen/Qwen2.5-0.5B", args=GRPOConfig(${args}), peft_config=LoraConfig(r=8)).train()`;
      return factOf(read('python', 'file:///w/train.py', text), 'method.scoringForwards')?.origin.note ?? '';
    };
    assert.match(note(''), /^log-probabilities before an update are those of the pass that trains/);
    assert.match(note('beta=0.04'), /^log-probabilities of the reference are/);
    assert.match(note('use_vllm=True'), /^log-probabilities before an update are computed apart/);
    assert.match(note('use_vllm=True, beta=0.04'), /before an update and those of the reference/);
  });

  it('compare with the base as Unsloth weighs it', () => {
    const unsloth = (more: string) =>
      factOf(
        read(
          'python',
          'file:///w/train.py',
          `from unsloth import FastLanguageModel\nfrom trl import GRPOConfig, GRPOTrainer\nmodel, t = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B")\nmodel = FastLanguageModel.get_peft_model(model, r=8)\nGRPOTrainer(model=model, args=GRPOConfig(${more})).train()`,
        ),
        'method.scoringForwards',
      )?.value;
    assert.deepEqual([unsloth(''), unsloth('loss_type="bnpo"'), unsloth('loss_type="dr_grpo"')], [0, 1, 0]);
    assert.equal(unsloth('loss_type="bnpo", beta=0.0'), 0);
  });
});
