import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { FieldPath } from '../../../server/src/run/fields';
import { factOf, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

const LOOP = (middle: string) => `import torch
from torch.utils.data import DataLoader
from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision, fully_shard
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2")
loader = DataLoader(data(), batch_size=8)
${middle}
for batch in loader:
    model(**batch).loss.backward()
    optimizer.step()
`;
const ADAMW = 'optimizer = torch.optim.AdamW(model.parameters())';
const UNSLOTH = (load: string, adapters = '') => `from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Llama-3.2-1B", ${load})
model = FastLanguageModel.get_peft_model(model, r=16, ${adapters})
SFTTrainer(model=model, train_dataset=data(), args=SFTConfig(per_device_train_batch_size=2)).train()
`;
const LIGHTNING = (strategy: string, more = '') => `import lightning as L
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy
from transformers import AutoModelForCausalLM
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained("gpt2")
L.Trainer(strategy=${strategy}, ${more}).fit(Module())
`;

/** Of each: the script around an argument's value, the field that it decides, and a value that a file may state. */
const CASES: readonly (readonly [string, (value: string) => string, FieldPath, string])[] = [
  [
    'fused',
    (value) => LOOP(`optimizer = torch.optim.AdamW(model.parameters(), fused=${value})`),
    'optimizer.implementation',
    'True',
  ],
  [
    'param_dtype',
    (value) =>
      LOOP(
        `model = FullyShardedDataParallel(model, mixed_precision=MixedPrecision(param_dtype=${value}))\n${ADAMW}`,
      ),
    'precision.scheme',
    'torch.bfloat16',
  ],
  [
    'offload_params',
    (value) =>
      LOOP(
        `model = FullyShardedDataParallel(model, cpu_offload=CPUOffload(offload_params=${value}))\n${ADAMW}`,
      ),
    'offload.parameters',
    'True',
  ],
  [
    'reshard_after_forward',
    (value) => LOOP(`fully_shard(model, reshard_after_forward=${value})\n${ADAMW}`),
    'fsdp.strategy',
    'False',
  ],
  ['max_seq_length', (value) => UNSLOTH(`max_seq_length=${value}`), 'batch.sequence', '4096'],
  ['dtype', (value) => UNSLOTH(`dtype=${value}`), 'precision.weights', 'torch.float16'],
  ['full_finetuning', (value) => UNSLOTH(`full_finetuning=${value}`), 'precision.scheme', 'True'],
  ['lora_dropout', (value) => UNSLOTH('', `lora_dropout=${value}`), 'lora.dropout', '0.1'],
  ['target_modules', (value) => UNSLOTH('', `target_modules=${value}`), 'lora.targets', '["q_proj"]'],
  [
    'finetune_mlp_modules',
    (value) => UNSLOTH('', `finetune_vision_layers=False, finetune_mlp_modules=${value}`),
    'lora.targets',
    'False',
  ],
  ['stage', (value) => LIGHTNING(`DeepSpeedStrategy(stage=${value})`), 'zero.stage', '3'],
  [
    'offload_optimizer',
    (value) => LIGHTNING(`DeepSpeedStrategy(stage=3, offload_optimizer=${value})`),
    'offload.optimizer',
    'True',
  ],
  [
    'activation_checkpointing_policy',
    (value) => LIGHTNING(`FSDPStrategy(activation_checkpointing_policy=${value})`),
    'activations.checkpointing',
    '{Block}',
  ],
  ['devices', (value) => LIGHTNING('"ddp"', `devices=${value}`), 'hardware.gpus', '8'],
];

describe('arguments of Python calls that decide memory', () => {
  before(loadPython);

  for (const [key, script, field, example] of CASES) {
    it(`${key}: what only the running script knows is reported, and ${field} is not assumed`, () => {
      assert.notEqual(
        factOf(python(script(example)), field)?.value,
        undefined,
        `${key}=${example} states ${field}`,
      );
      for (const unknown of ['settings.value', '1 if ask() else 2', 'compute()']) {
        const reading = python(`from somewhere import ask, compute, settings\n${script(unknown)}`);
        assert.ok(
          (reading.unread ?? []).some(({ fields }) => fields?.includes(field)),
          `${key}=${unknown} is reported: ${JSON.stringify(reading.unread)}`,
        );
        const { origin } = factOf(reading, field) ?? {};
        assert.ok(
          origin?.kind !== 'default' && origin?.kind !== 'inferred',
          `${field} is ${origin?.kind} where ${key}=${unknown}`,
        );
      }
    });
  }

  it('names of a module that is not at hand are no values: each is reported, none draws a warning or a default', () => {
    const reading = python(`from config import BATCH, settings
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained(
    "Qwen/Qwen2.5-7B", dtype=settings.dtype, quantization_config=BitsAndBytesConfig(load_in_4bit=settings.four)
)
args = SFTConfig(
    per_device_train_batch_size=BATCH, max_length=settings.length, gradient_checkpointing=settings.checkpoint,
    bf16=settings.bf16, optim=settings.optim,
)
SFTTrainer(model=model, args=args, train_dataset=data(), peft_config=LoraConfig(r=settings.rank)).train()
`);
    assert.deepEqual(reading.problems, []);
    const fields = new Set((reading.unread ?? []).flatMap((one) => one.fields ?? []));
    for (const field of [
      'precision.weights',
      'quantization.kind',
      'lora.rank',
      'batch.micro',
      'batch.sequence',
      'activations.checkpointing',
      'precision.compute',
      'optimizer.name',
    ] as const) {
      assert.ok(fields.has(field), `${field} is reported`);
      assert.equal(factOf(reading, field), undefined, `${field} is not assumed`);
    }
  });
});
