import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (init: string, passes: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
class Distillation(Trainer):
${init}
student = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")
teacher = AutoModelForSequenceClassification.from_pretrained("bert-large-uncased")
args = TrainingArguments("o")
Distillation(${passes}).train()
`;

const read = async (init: string, passes: string) => {
  const { resolved, problems } = await smallWorkspace({ 'train.py': script(init, passes) }).analyze(
    'train.py',
  );
  return {
    model: resolved.values['model.id'],
    problem: problems.find(({ code }) => code === 'trainer-argument')?.message,
  };
};

const NAMED = `    def __init__(self, teacher_model=None, student_model=None, *rest, **more):
        super().__init__(model=student_model, *rest, **more)
        self.teacher = teacher_model`;

describe('a trainer of a class of the file', () => {
  it('trains the model that its class hands on', async () => {
    const passes = 'student_model=student, teacher_model=teacher, args=args, train_dataset=rows';
    assert.deepEqual(await read(NAMED, passes), { model: 'distilbert-base-uncased', problem: undefined });
    const first = 'teacher, student, args=args, train_dataset=rows';
    assert.equal((await read(NAMED, first)).model, 'distilbert-base-uncased');
    const old = NAMED.replace('super()', 'super(Distillation, self)');
    assert.equal((await read(old, passes)).model, 'distilbert-base-uncased');
  });

  it('trains what the call names, and none where what is handed on is not seen', async () => {
    const inherits = '    def __init__(self, teacher=None, **more):\n        super().__init__(**more)';
    assert.equal(
      (await read(inherits, 'model=student, teacher=teacher, args=args')).model,
      'distilbert-base-uncased',
    );
    const made =
      '    def __init__(self, one=None, **more):\n        super().__init__(model=changed(one), **more)';
    assert.equal((await read(made, 'one=student, args=args')).model, undefined);
    // What is handed on is no argument of the class.
    assert.match(
      String((await read(NAMED, 'student_model=student, training_args=args')).problem),
      /training_args/,
    );
  });
});
