import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const RECIPE = `model_name_or_path: Qwen/Qwen2.5-0.5B
torch_dtype: float16
use_peft: true
lora_r: 16
load_in_4bit: true
learning_rate: 1.0e-5
max_seq_length: 512
per_device_train_batch_size: 2
output_dir: o
`;
/** A script that makes the arguments of its model from those of the recipe; who defines their class is not here. */
const SCRIPT = `import torch
from transformers import BitsAndBytesConfig
from peft import LoraConfig
from alignment import H4ArgumentParser, ModelArguments, SFTConfig
from trl import SFTTrainer

parser = H4ArgumentParser((ModelArguments, SFTConfig))
model_args, training_args = parser.parse()
quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=model_args.quant_type_of_its_own)
kwargs = dict(torch_dtype=getattr(torch, model_args.torch_dtype), quantization_config=quantized)
trainer = SFTTrainer(model=model_args.model_name_or_path, model_init_kwargs=kwargs, args=training_args,
    peft_config=LoraConfig(r=model_args.lora_r, task_type="CAUSAL_LM"))
trainer.train()
`;

describe('a recipe that a script takes as its arguments', () => {
  const reported = async (flags: string) => {
    const { analyze } = smallWorkspace({
      'recipe.yaml': RECIPE,
      'train.py': SCRIPT,
      'run.sh': `# oomlint: gpu=H100-SXM5-80GB\naccelerate launch --num_processes 1 train.py recipe.yaml${flags}\n`,
    });
    const { problems, resolved } = await analyze('recipe.yaml');
    const about = problems.filter(({ code }) => /conflict|overridden/.test(code));
    return { resolved, about: about.map(({ code, severity, message }) => `${severity} ${code}: ${message}`) };
  };

  it('does not disagree with the script: what the command gives in the place of a value counts', async () => {
    const { resolved, about } = await reported(' --torch_dtype=bfloat16');
    assert.deepEqual(about, [
      'information overridden-value: train.py starts this run with torch_dtype = bf16, which counts in the place of fp16.',
    ]);
    assert.equal(resolved.values['precision.weights'], 'bf16');
  });

  it('is reported for nothing that the script passes on, or whose making is not understood', async () => {
    assert.deepEqual((await reported('')).about, []);
  });
});
