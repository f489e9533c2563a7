import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const read = async (model: string, tokenizer: string, call: string, head = 'SequenceClassification') => {
  const text = `# oomlint: gpu=A100-SXM4-80GB gpus=1
from transformers import AutoModelForDocumentQuestionAnswering, AutoModelForSequenceClassification, AutoProcessor, AutoTokenizer, Trainer, TrainingArguments
model = AutoModelFor${head}.from_pretrained("${model}")
${tokenizer}
def encode(rows, longest=384):
    return ${call}
data = data.map(encode, batched=True)
Trainer(model=model, args=TrainingArguments("o"), train_dataset=data).train()
`;
  const { resolved } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
  const { values, origins, unknown } = resolved;
  return {
    length: values['batch.sequence'],
    kind: origins['batch.sequence']?.kind,
    note: origins['batch.sequence']?.note,
    unknown: unknown.map(({ field }) => field),
  };
};

describe('the length that a tokenizer cuts samples to', () => {
  it('is not bounded by positions that a model turns by', async () => {
    const own = (name: string) => `tokenizer = AutoTokenizer.from_pretrained("${name}")`;
    const modern = 'answerdotai/ModernBERT-base';
    const open = await read(modern, own(modern), 'tokenizer(rows["text"])');
    assert.deepEqual([open.length, open.unknown], [undefined, ['batch.sequence']]);
    const cut = await read(modern, own(modern), 'tokenizer(rows["text"], truncation=True)');
    assert.equal(cut.length, 8192);
    const table = 'google-bert/bert-base-uncased';
    assert.equal((await read(table, own(table), 'tokenizer(rows["text"])')).length, 512);
  });

  it('is stated to that of a processor, too', async () => {
    const name = 'microsoft/layoutlmv2-base-uncased';
    const processor = `processor = AutoProcessor.from_pretrained("${name}")\ntokenizer = processor.tokenizer`;
    const call = 'tokenizer(rows["q"], max_length=longest, padding="max_length", truncation=True)';
    const { length, kind } = await read(name, processor, call, 'DocumentQuestionAnswering');
    assert.deepEqual([length, kind], [384, 'file']);
  });

  it('is the limit that the tokenizer is given, where it is given one', async () => {
    const table = 'google-bert/bert-base-uncased';
    const cut = async (given: string, later = '', model = table) => {
      const tokenizer = `tokenizer = AutoTokenizer.from_pretrained("${table}"${given})\n${later}`;
      return (await read(model, tokenizer, 'tokenizer(rows["text"], truncation=True)')).length;
    };
    assert.equal(await cut(''), 512);
    assert.equal(await cut(', model_max_length=128'), 128);
    assert.equal(await cut(', model_max_length=None'), 512);
    assert.equal(await cut('', 'tokenizer.model_max_length = 64'), 64);
    // No longer than the table of positions, which may not be known.
    assert.equal(await cut(', model_max_length=4096'), 512);
    const least = ', model_max_length=min(model.config.max_position_embeddings, 256)';
    assert.equal(await cut(least), 256);
    assert.equal(await cut(least, '', 'somebody/embeddings'), 256);
    assert.equal(await cut('', '', 'somebody/embeddings'), undefined);
  });

  it('is no limit that may be set after the call, or not at all', async () => {
    const cut = async (before: string, after = '', model = 'Qwen/Qwen2.5-0.5B') => {
      const text = `# oomlint: gpu=A100-SXM4-80GB gpus=1
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("${model}")
${before}
data = data.map(lambda rows: tokenizer(rows["text"], truncation=True))
${after}
model = AutoModelForCausalLM.from_pretrained("${model}")
Trainer(model=model, args=TrainingArguments("o"), train_dataset=data).train()
`;
      return (await smallWorkspace({ 'train.py': text }).analyze('train.py')).resolved.values[
        'batch.sequence'
      ];
    };
    assert.equal(await cut('tokenizer.model_max_length = 128'), 128);
    assert.equal(await cut('tokenizer.model_max_length = 4096\ntokenizer.model_max_length = 128'), 128);
    assert.equal(await cut('', 'tokenizer.model_max_length = 128'), undefined);
    assert.equal(
      await cut('tokenizer.model_max_length = 4096', 'tokenizer.model_max_length = 128'),
      undefined,
    );
    const huge = 'if tokenizer.model_max_length > 200_000:\n    tokenizer.model_max_length = 128';
    assert.equal(await cut(huge), undefined);
    // The table of positions holds, whatever is set.
    assert.equal(await cut('', 'tokenizer.model_max_length = 64', 'openai-community/gpt2'), 1024);
  });

  it('is no more than the smaller of two, of which one is known', async () => {
    const table = 'google-bert/bert-base-uncased';
    const tokenizer = `tokenizer = AutoTokenizer.from_pretrained("${table}")\nn = min(tokenizer.model_max_length, 256)`;
    for (const filled of ['', ', padding="max_length"']) {
      const call = `tokenizer(rows["text"], truncation=True, max_length=n${filled})`;
      const { length, kind } = await read(table, tokenizer, call);
      assert.deepEqual([length, kind], [256, 'inferred']);
    }
  });

  it('is no limit of its own where it is given one that is not known', async () => {
    const table = 'google-bert/bert-base-uncased';
    const tokenizer = `tokenizer = AutoTokenizer.from_pretrained("${table}", model_max_length=longest_of(data))`;
    const { note } = await read(table, tokenizer, 'tokenizer(rows["text"], truncation=True)');
    assert.match(String(note), /no sample can be longer than the 512 positions/);
  });

  it('is that of a target where an encoder has a decoder: one stack reads an answer in the row of its prompt', async () => {
    const targets = async (head: string, model: string, rows: string) => {
      const text = `from transformers import AutoModelFor${head}, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("${model}")
model = AutoModelFor${head}.from_pretrained("${model}")
def encode(row):
    asked = tokenizer(row["question"], max_length=256, truncation=True)
    answer = tokenizer(row["answer"], max_length=16, truncation=True)
    return {${rows}}
Trainer(model=model, args=TrainingArguments("o"), train_dataset=data.map(encode)).train()
`;
      const { resolved } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return [resolved.values['batch.sequence'], resolved.values['batch.targetSequence']];
    };
    const joined = 'asked["input_ids"] + answer["input_ids"]';
    const row = `"input_ids": ${joined}, "labels": ${joined}`;
    assert.deepEqual(await targets('CausalLM', 'Qwen/Qwen2.5-0.5B', row), [272, undefined]);
    const pair = '"input_ids": asked["input_ids"], "labels": answer["input_ids"]';
    assert.deepEqual(await targets('Seq2SeqLM', 'google-t5/t5-small', pair), [256, 16]);
  });
});
