import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const SCRIPT = `from dataclasses import dataclass, field
from transformers import AutoModelForQuestionAnswering, HfArgumentParser, Trainer, TrainingArguments

@dataclass
class ModelArguments:
    model_name_or_path: str = field()
    do_calib: bool = field(default=False)
    save_onnx: bool = field(default=False)

parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
model = AutoModelForQuestionAnswering.from_pretrained(model_args.model_name_or_path)
trainer = Trainer(model=model, args=training_args, train_dataset=data)
if model_args.do_calib:
    calibrate(trainer)
if training_args.do_train:
    trainer.train()
`;
const README = `
\`\`\`bash
python run_quant_qa.py --model_name_or_path bert-base-uncased --output_dir calib --do_calib
\`\`\`

\`\`\`bash
python run_quant_qa.py --model_name_or_path bert-base-uncased --do_train --do_eval --per_device_train_batch_size 12 --output_dir out
\`\`\`

\`\`\`bash
python run_quant_qa.py --model_name_or_path out --output_dir ./ --save_onnx --per_device_eval_batch_size 1
\`\`\`
`;

describe('a script that trains where a switch asks for it', () => {
  it('has no run in commands that are given another switch', async () => {
    const { analyze } = smallWorkspace({
      'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
      'README.md': README,
      'run_quant_qa.py': SCRIPT,
    });
    const run = await analyze('run_quant_qa.py');
    assert.equal(run.runs?.length, 1);
    assert.equal(run.resolved.values['batch.micro'], 12);
  });
});
