import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const notesOf = async (before: string) => {
  const text = `# oomlint: gpu=A100-SXM4-80GB gpus=1 sequence=128 version.transformers=5.23
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, Trainer, TrainingArguments, pipeline
${before}
model = AutoModelForSequenceClassification.from_pretrained("distilbert/distilbert-base-uncased")
Trainer(model=model, args=TrainingArguments("o"), train_dataset=rows).train()
`;
  const { estimate } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
  assert.ok(estimate);
  return estimate.notes.filter((note) => /gone when the training starts/.test(note));
};

const LARGE =
  'AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", dtype="auto", device_map="auto")';

describe('models on the GPU before the training', () => {
  it('are noted where they took more than it does', async () => {
    const [one] = await notesOf(`model = ${LARGE}`);
    assert.match(String(one), /12\.6 GiB/);
    const [two] = await notesOf(
      `model = ${LARGE}\npipe = pipeline("text-generation", model="meta-llama/Llama-2-7b-hf")`,
    );
    assert.match(String(two), /25\.1 GiB/);
  });

  it('are not where they stay, lay on the host, or took less', async () => {
    assert.deepEqual(await notesOf(`other = ${LARGE}`), []);
    assert.deepEqual(await notesOf(`model = ${LARGE.replace(', device_map="auto"', '')}`), []);
    assert.deepEqual(
      await notesOf('model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")'),
      [],
    );
  });

  it('are noted where they went to the host, with the model that lay beside them', async () => {
    const trained = async (maker: string) => {
      const text = `# oomlint: gpu=T4 gpus=1
import whisper
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Llama-3.2-1B-Instruct", max_seq_length=512, load_in_4bit=False)
model = FastLanguageModel.get_peft_model(model, r=8)
class Maker:
    def __init__(self, name, device=None):
        self.device = device if device else ("cuda" if torch.cuda.is_available() else "cpu")
        self.asr = whisper.load_model(name, device=self.device)
maker = Maker("${maker}")
maker.asr.transcribe("a.wav")
maker.asr.to("cpu")
SFTTrainer(model=model, train_dataset=rows, args=SFTConfig(per_device_train_batch_size=1)).train()
`;
      const { estimate } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return (estimate?.notes ?? []).filter((note) => /gone when the training starts/.test(note));
    };
    // 809 million weights in fp32, and 1.24 billion in fp16.
    assert.match(String(await trained('turbo')), /5\.3 GiB/);
    assert.deepEqual(await trained('tiny'), []);
  });
});
