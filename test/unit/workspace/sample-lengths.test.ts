import assert from 'node:assert/strict';
import { changes } from '../../../client/webview/changes';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { codeLens } from '../../../server/src/features/code-lens';
import { tokensOfVerdict } from '../../../server/src/results/labels';
import type { RunValues } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ON: RunValues = { 'hardware.gpu': 'A100-SXM4-80GB', 'hardware.gpus': 1 };
const LAUNCH = 'torchrun --nproc_per_node 1 sft.py --config sft.yaml\n';
const AXOLOTL = `base_model: NousResearch/Llama-2-7b-hf
adapter: lora
lora_r: 16
lora_target_linear: true
sequence_len: 16384
micro_batch_size: 8
gradient_accumulation_steps: 1
optimizer: adamw_torch
bf16: true
flash_attention: true
gradient_checkpointing: true
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
`;

async function verdictOf(text: string, settings: RunValues = ON, files: Record<string, string> = {}) {
  const uri = 'file:///w/run.yaml';
  const host = new MemoryHost({ [uri]: text, ...files }, { folders: ['file:///w'] });
  const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
  assert.equal(analysis?.estimate?.verdict, 'exceeds');
  const problem = analysis.problems.find(({ code }) => code === 'does-not-fit');
  assert.ok(problem);
  return { analysis, problem };
}

describe('a run that is too large where samples are as long as they may be', () => {
  it('is warned of, with the length that fits: how long they are only the data shows', async () => {
    const { analysis, problem } = await verdictOf(AXOLOTL);
    assert.equal(problem.severity, 'warning');
    // The verdict is of that length wherever it is shown.
    assert.match(problem.message, /^Does not fit at 16,384 tokens: needs /);
    assert.match(codeLens(analysis)?.title ?? '', /^Does not fit at 16,384 tokens: [\d.]+\sof\s/);
    const breakdown = breakdownOf(analysis);
    assert.equal(tokensOfVerdict(breakdown.open), 16384);
    const [verdict] = changes(breakdown, breakdown);
    assert.match(verdict?.[1] ?? '', /at 16,384 tokens/);
    assert.match(
      problem.message,
      /Only the data shows how long samples are: they are cut at 16,384 tokens\. With samples of up to \d[\d,]* tokens it would need \d+\.\d GiB\.$/,
    );
    const answer = analysis.answers?.find(({ field }) => field === 'batch.longestSequence');
    const length = answer?.otherwise?.changes['batch.sequence'] ?? 0;
    assert.notEqual(answer?.estimate?.verdict, 'exceeds');
    // The longest halving: twice as long does not fit.
    const twice = analysis.alternative?.({ 'batch.sequence': 2 * length });
    assert.ok(twice);
    const shorter = await new Workspace(
      new MemoryHost({ 'file:///w/run.yaml': AXOLOTL.replace('16384', String(2 * length)) }),
      { settings: () => ON },
    ).analyze('file:///w/run.yaml');
    assert.equal(shorter?.estimate?.verdict, 'exceeds');
  });

  it('is an error where each row is as long: packed, padded, or stated by a person', async () => {
    for (const more of ['sample_packing: true\n', 'pad_to_sequence_len: true\n'])
      assert.equal((await verdictOf(`${AXOLOTL}${more}`)).problem.severity, 'error', more);
    for (const changes of [{ 'batch.longestSequence': 16384 }, { 'batch.sequence': 16384 }] as RunValues[]) {
      const text = AXOLOTL.replace(
        'sequence_len: 16384\n',
        changes['batch.sequence'] ? '' : 'sequence_len: 16384\n',
      );
      assert.equal((await verdictOf(text, { ...ON, ...changes })).problem.severity, 'error');
    }
  });

  it('is an error where no length fits', async () => {
    const full = AXOLOTL.replace('Llama-2-7b', 'Llama-2-13b')
      .replace('adapter: lora\n', '')
      .replace(/lora_.*\n/g, '');
    const { problem, analysis } = await verdictOf(full);
    assert.equal(problem.severity, 'error');
    assert.ok(analysis.answers?.every(({ field }) => field !== 'batch.longestSequence') ?? true);
  });

  it('is offered no length that the images of a sample do not leave it', async () => {
    const preferring = (length: number) => `from transformers import AutoModelForVision2Seq, AutoProcessor
from trl import DPOConfig, DPOTrainer
from datasets import load_dataset
model = AutoModelForVision2Seq.from_pretrained("google/paligemma-3b-pt-448", torch_dtype="bfloat16")
processor = AutoProcessor.from_pretrained("google/paligemma-3b-pt-448")
data = load_dataset("some/pictures")["train"]
args = DPOConfig("o", per_device_train_batch_size=8, max_length=${length}, gradient_checkpointing=False, bf16=True)
DPOTrainer(model, None, args=args, train_dataset=data, processing_class=processor).train()
`;
    const offered = async (length: number) => {
      const uri = 'file:///w/train.py';
      const host = new MemoryHost({ [uri]: preferring(length) }, { folders: ['file:///w'] });
      const analysis = await new Workspace(host, { settings: () => ON }).analyze(uri);
      assert.equal(analysis?.estimate?.verdict, 'exceeds', String(length));
      const answer = analysis.answers?.find(({ field }) => field === 'batch.longestSequence');
      const message = analysis.problems.find(({ code }) => code === 'does-not-fit')?.message ?? '';
      assert.equal(message.includes('Only the data shows'), answer !== undefined);
      return answer?.otherwise?.changes['batch.sequence'];
    };
    // An image takes 1,024 tokens.
    assert.equal(await offered(1024), undefined);
    assert.equal(await offered(1536), undefined);
  });

  it('is offered one with small images, where their size decides how many tiles there are', async () => {
    const distilling = (more = '') =>
      `# oomlint: gpu=A100-SXM4-80GB${more}\nNPROC_PER_NODE=4 swift rlhf --rlhf_type gkd --model OpenGVLab/InternVL3-2B --teacher_model OpenGVLab/InternVL3-8B --dataset d --train_type full --torch_dtype bfloat16 --per_device_train_batch_size 4 --freeze_vit true --deepspeed zero2 --max_length 4096\n`;
    const offered = async (more?: string) => {
      const uri = 'file:///w/run.sh';
      const host = new MemoryHost({ [uri]: distilling(more) }, { folders: ['file:///w'] });
      const analysis = await new Workspace(host).analyze(uri);
      assert.equal(analysis?.estimate?.verdict, 'exceeds');
      const answer = analysis.answers?.find(({ field }) => field === 'batch.longestSequence');
      return answer?.otherwise?.changes['batch.imageTiles'];
    };
    assert.equal(await offered(), 1);
    assert.equal(await offered(' image-tiles=13'), undefined);
  });

  it('is an error where all samples are filled up to the length, whatever the data holds', async () => {
    const filling = (
      padding: string,
    ) => `from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2-large")
tokenizer = AutoTokenizer.from_pretrained("gpt2-large")
rows = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=1024, padding=${padding}))
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=32, fp16=True), train_dataset=rows).train()
`;
    const lengths = async (padding: string) => {
      const uri = 'file:///w/train.py';
      const host = new MemoryHost({ [uri]: filling(padding) }, { folders: ['file:///w'] });
      const analysis = await new Workspace(host, { settings: () => ON }).analyze(uri);
      assert.equal(analysis?.estimate?.verdict, 'exceeds', padding);
      return analysis.answers?.some(({ field }) => field === 'batch.longestSequence') ?? false;
    };
    assert.equal(await lengths('True'), true);
    assert.equal(await lengths('"max_length"'), false);
  });

  it('is an error where documents are joined into full rows', async () => {
    const titan = `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 8
seq_len = 65536
`;
    const uri = 'file:///w/train.toml';
    const host = new MemoryHost({ [uri]: titan, 'file:///w/launch.sh': LAUNCH });
    const settings = { 'hardware.gpu': 'A100-SXM4-80GB', 'hardware.gpus': 64 };
    const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
    const problem = analysis?.problems.find(({ code }) => code === 'does-not-fit');
    assert.ok(analysis?.answers?.every(({ field }) => field !== 'batch.longestSequence') ?? true);
    assert.ok(problem === undefined || !problem.message.includes('Only the data shows how long'));
  });
});

describe("a run that is too large for samples as long as Unsloth's limit", () => {
  const notebook = (collator: string) => `from unsloth import FastModel
from unsloth.trainer import UnslothVisionDataCollator
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
model, processor = FastModel.from_pretrained("unsloth/gemma-4-E2B-it", max_seq_length=8192, load_in_4bit=False)
model = FastModel.get_peft_model(model, finetune_vision_layers=False, r=8)
def collate(rows):
    return processor(text=[row["text"] for row in rows], audio=[row["audio"]["array"] for row in rows], return_tensors="pt", padding=True)
def rows(row):
    return {"messages": [{"role": "user", "content": [{"type": "audio", "audio": row["audio"]["array"]}]}]}
data = load_dataset("some/speech").map(rows)
trainer = SFTTrainer(model=model, train_dataset=data, data_collator=${collator}, args=SFTConfig(per_device_train_batch_size=8, dataset_text_field="", max_length=8192))
trainer.train()
`;

  it('may fit: clips are cut at 30 seconds, and how long their texts are only the data shows', async () => {
    for (const [collator, reason] of [
      [
        'UnslothVisionDataCollator(model, processor)',
        /max_seq_length` is the longest that a sample may be: where the data is shorter, less is needed\. With samples of up to/,
      ],
      ['collate', /max_length` is taken for the longest that they get\. With samples of up to/],
    ] as const) {
      const uri = 'file:///w/train.py';
      const text = notebook(collator);
      const host = new MemoryHost({ [uri]: text }, { folders: ['file:///w'] });
      const settings = { 'hardware.gpu': 'T4', 'hardware.gpus': 1 };
      const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
      const { verdict, peak, capacityBytes, unmodelled } = analysis?.estimate ?? assert.fail();
      assert.equal(analysis?.unread, undefined);
      assert.equal(unmodelled, undefined);
      assert.equal(verdict, 'tight');
      assert.ok(peak.processBytes > 3 * capacityBytes && peak.lowerBytes < capacityBytes);
      const problem = analysis?.problems.find(({ code }) => code === 'tight');
      assert.match(problem?.message ?? '', reason);
    }
  });
});

describe('a run that is too large for samples as long as the positions of its model', () => {
  const script = (call: string) => `from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("facebook/opt-1.3b")
model = AutoModelForCausalLM.from_pretrained("facebook/opt-1.3b")
rows = load_dataset("some/sentences")["train"].map(lambda row: tokenizer(${call}))
args = TrainingArguments("out", per_device_train_batch_size=16, bf16=True, gradient_checkpointing=True)
Trainer(model=model, args=args, train_dataset=rows, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()
`;
  const analyzed = async (call: string) => {
    const uri = 'file:///w/train.py';
    const host = new MemoryHost({ [uri]: script(call) }, { folders: ['file:///w'] });
    const settings = { 'hardware.gpu': 'A10', 'hardware.gpus': 1 };
    const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
    return analysis ?? assert.fail();
  };

  it('may fit where nothing cuts them: only the data shows how long they are', async () => {
    const { estimate, problems, resolved } = await analyzed('row["text"]');
    assert.equal(resolved.values['batch.sequence'], 2048);
    assert.equal(estimate?.verdict, 'tight');
    const words = problems.find(({ code }) => code === 'tight')?.message ?? '';
    assert.match(
      words,
      /No sample can be longer than the 2048 positions of the model.* With samples of up to [\d,]+ tokens it would need/,
    );
  });

  it('may fit where the tokenizer cuts them to what it takes at most, which nobody chose for the data', async () => {
    const uri = 'file:///w/train.py';
    const text = script('row["text"], truncation=True')
      .replaceAll('facebook/opt-1.3b', 'openai-community/gpt2-xl')
      .replace('gradient_checkpointing=True', 'gradient_checkpointing=False');
    const host = new MemoryHost({ [uri]: text }, { folders: ['file:///w'] });
    const settings = { 'hardware.gpu': 'A100-SXM4-40GB', 'hardware.gpus': 1 };
    const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
    assert.equal(analysis?.resolved.values['batch.sequence'], 1024);
    assert.equal(analysis.estimate?.verdict, 'tight');
  });

  it('is too large where the file cuts them there, with the length that may fit', async () => {
    const { estimate, problems } = await analyzed('row["text"], max_length=2048, truncation=True');
    assert.equal(estimate?.verdict, 'exceeds');
    const problem = problems.find(({ code }) => code === 'does-not-fit');
    assert.equal(problem?.severity, 'warning');
    assert.match(
      problem?.message ?? '',
      /is the longest that a sample may be: where the data is shorter, less is needed\. With samples of up to [\d,]+ tokens it would need/,
    );
  });

  it('is too large where they are filled up to as many', async () => {
    const { estimate } = await analyzed(
      'row["text"], max_length=2048, truncation=True, padding="max_length"',
    );
    assert.equal(estimate?.verdict, 'exceeds');
  });
});
