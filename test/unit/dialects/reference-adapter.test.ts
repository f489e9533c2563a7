import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { estimate } from '../../../server/src/estimate';
import { aModel, aRun, CARD } from '../memory/a-run';
import { factOf, read } from './reading';

/** `model.add_adapter("ref", default_config)` (TRL 1.16, `dpo_trainer.py`, `grpo_trainer.py`, `kto_trainer.py`, `rloo_trainer.py`). */
describe('adapters that are copied to be the reference', () => {
  before(loadPython);

  const copied = (
    method: string,
    { args = '', trl = '1.16.0', more = '', by = 'file', peft = '0.21.0', lora = '' } = {},
  ) => {
    const put = by === 'file' ? `model = get_peft_model(model, LoraConfig(r=8${lora}))\n` : '';
    const given = by === 'trainer' ? ', peft_config=LoraConfig(r=8)' : '';
    const text = `from transformers import AutoModelForCausalLM
from peft import LoraConfig, get_peft_model
from trl import ${method}Config, ${method}Trainer
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
${put}${method}Trainer(model, args=${method}Config(${args})${given}${more}).train()
`;
    const known = { 'version.trl': trl, 'version.peft': peft } as const;
    return (
      factOf(read('python', 'file:///w/train.py', text, known), 'method.referenceAdapter')?.value ?? false
    );
  };

  it('are those of a model that has them when the trainer is given it', () => {
    assert.equal(copied('DPO'), true);
    assert.equal(copied('KTO'), true);
    assert.equal(copied('DPO', { by: 'trainer' }), false);
    assert.equal(copied('DPO', { by: 'nobody' }), false);
    assert.equal(copied('SFT'), false);
    assert.equal(copied('DPO', { args: 'precompute_ref_log_probs=True' }), true);
    const own = ', ref_model=AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")';
    assert.equal(copied('DPO', { more: own }), false);
  });

  it('are none of rollouts that nothing is compared with', () => {
    assert.equal(copied('GRPO'), false);
    assert.equal(copied('GRPO', { args: 'beta=0.04' }), true);
    assert.equal(copied('RLOO'), true);
    assert.equal(copied('RLOO', { args: 'beta=0.0' }), false);
  });

  it('are made since a release of each trainer, and not of stacked parameters before PEFT 0.20', () => {
    assert.deepEqual([copied('DPO', { trl: '0.28.0' }), copied('DPO', { trl: '0.29.0' })], [false, true]);
    assert.deepEqual([copied('KTO', { trl: '1.1.0' }), copied('KTO', { trl: '1.2.0' })], [false, true]);
    const args = 'beta=0.04';
    assert.deepEqual(
      ['0.26.0', '0.27.0'].map((trl) => copied('GRPO', { trl, args })),
      [false, true],
    );
    const lora = ', target_parameters=["experts.down_proj"]';
    assert.deepEqual(
      ['0.19.1', '0.20.0'].map((peft) => copied('DPO', { peft, lora })),
      [false, true],
    );
  });

  it('lie in fp32 beside those that are trained, whatever type these have', () => {
    const model = aModel({
      model_type: 'llama',
      vocab_size: 1000,
      hidden_size: 512,
      intermediate_size: 1024,
      num_hidden_layers: 2,
      num_attention_heads: 8,
    });
    const parts = (values: Parameters<typeof aRun>[0]) => {
      const run = aRun({ 'method.kind': 'lora', 'lora.rank': 64, 'lora.targets': ['all-linear'], ...values });
      const { parts } = estimate({ run, model, accelerator: CARD });
      const of = (wanted: string) => parts.find(({ category }) => category === wanted)?.bytes ?? 0;
      return [of('adapters'), of('reference-model')] as const;
    };
    for (const dtype of ['fp32', 'bf16'] as const) {
      const [adapters, reference] = parts({ 'lora.dtype': dtype, 'method.referenceAdapter': true });
      assert.equal(reference, dtype === 'fp32' ? adapters : 2 * adapters);
    }
    assert.equal(parts({})[1], 0);
  });
});
