import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const SCRIPT = `import torch
from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

@dataclass
class Arguments(SFTConfig):
    base: str = field(default=None)
    bits: str = field(default="fp32")

args = HfArgumentParser(Arguments).parse_args_into_dataclasses()[0]
if args.bits in ["nf4", "fp4"]:
    packed = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=args.bits)
    model = AutoModelForCausalLM.from_pretrained(args.base, quantization_config=packed)
else:
    model = AutoModelForCausalLM.from_pretrained(
        args.base, dtype=torch.bfloat16 if args.bits == "bf16" else torch.float32)
SFTTrainer(model=model, args=args, train_dataset=data, peft_config=LoraConfig(r=8)).train()
`;
const launched = (base: string, bits: string, script = SCRIPT) =>
  smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
    'run.sh': `python train.py --base ${base} --bits ${bits} --bf16 True --per_device_train_batch_size 2\n`,
    'train.py': script,
  }).analyze('run.sh');

describe('arguments of a script that is read', () => {
  it('mean what its code makes of them', async () => {
    for (const [bits, field, value] of [
      ['nf4', 'quantization.kind', 'nf4'],
      ['bf16', 'precision.weights', 'bf16'],
    ] as const) {
      const { resolved, unread = [] } = await launched('Qwen/Qwen2.5-0.5B', bits);
      assert.equal(resolved.values[field], value);
      assert.deepEqual(
        unread.map(({ text }) => text),
        [],
      );
    }
  });

  it('are left where its code is not here', async () => {
    const { unread = [] } = await smallWorkspace({
      'run.sh':
        'python train.py --model_name_or_path Qwen/Qwen2.5-0.5B --bits nf4 --bf16 True --per_device_train_batch_size 2\n',
    }).analyze('run.sh');
    assert.ok(
      unread.some(({ text, fields }) => text === '--bits: nf4' && fields?.includes('quantization.kind')),
    );
  });

  it('have no default of TRL in a model that the script loads itself', async () => {
    const note = async (base: string, script?: string) =>
      (await launched(base, 'nf4', script)).resolved.origins['precision.weights']?.note ?? '';
    assert.doesNotMatch(await note('someone/not-here'), /TRL/);
    const named = SCRIPT.replace('SFTTrainer(model=model', 'SFTTrainer(model=args.base');
    assert.match(await note('someone/not-here', named), /TRL/);
  });
});
