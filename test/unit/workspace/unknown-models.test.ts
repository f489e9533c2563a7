import assert from 'node:assert/strict';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { smallWorkspace } from './small-workspace';

const script = (model: string, more = '') => `# oomlint: gpu=A100-SXM4-80GB gpus=1
import transformers
from transformers import Trainer, TrainingArguments
${model}
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=4), train_dataset=rows${more}).train()
`;

const readOf = async (text: string) => {
  const analysis = await smallWorkspace({ 'train.py': text }).analyze('train.py');
  const assumed = new Map(assumptionsOf(analysis).map(({ field, value }) => [field, value]));
  return { assumed, unknown: analysis.resolved.unknown };
};

describe('a model that is not known', () => {
  it('has no published type, no task, no mask and no length of a language model', async () => {
    const { assumed, unknown } = await readOf(
      script('model = transformers.Pix2StructForConditionalGeneration.from_pretrained("someone/pix2struct")'),
    );
    for (const field of ['precision.weights', 'attention.mask', 'attention.unmaskedBatches'] as const)
      assert.equal(assumed.get(field), undefined, field);
    assert.deepEqual(
      unknown.map(({ field }) => field),
      ['model.id'],
    );
    const lost = await readOf(
      script('student = transformers.MobileNetV2ForImageClassification(config)\nmodel = prepared(student)'),
    );
    assert.equal(lost.assumed.get('method.objective'), undefined);
    assert.notEqual(lost.assumed.get('attention.mask'), true);
  });

  it('is asked for with its length where its class is one of text', async () => {
    const { unknown } = await readOf(
      script('model = transformers.AutoModelForCausalLM.from_pretrained("someone/large")'),
    );
    assert.deepEqual(
      unknown.map(({ field }) => field),
      ['model.id', 'batch.sequence'],
    );
  });
});
