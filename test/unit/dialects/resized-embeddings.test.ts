import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { parseField } from '../../../server/src/run/parse-field';
import { smallWorkspace } from '../workspace/small-workspace';
import { factOf, read } from './reading';

const HEAD = `import torch
from transformers import AutoModelForCausalLM, AutoProcessor, AutoTokenizer, LlamaTokenizer, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
`;
const MODEL =
  'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", torch_dtype=torch.bfloat16)\n';
const TRAIN = 'Trainer(model, TrainingArguments("o", per_device_train_batch_size=1)).train()\n';

const reading = (text: string) => read('python', 'file:///train.py', HEAD + text + TRAIN);
const changes = (text: string) => factOf(reading(text), 'model.changes')?.value;
const open = (text: string) => (reading(text).unread ?? []).flatMap(({ fields = [] }) => fields);

describe('embeddings of another length', () => {
  before(loadPython);

  it('are counted where the code states how long they are', () => {
    const of = (size: string) => `${MODEL}model.resize_token_embeddings(${size})\n`;
    assert.deepEqual(changes(of('64000')), { vocab_size: 64000 });
    assert.deepEqual(changes(of('new_num_tokens=64001, pad_to_multiple_of=64')), { vocab_size: 64064 });
    assert.deepEqual(open(of('64000')), []);
  });

  it('are open where they are those of a tokenizer of another name, of which nothing is known', () => {
    const of = (name: string, count = 'len(tokenizer)') =>
      `tokenizer = LlamaTokenizer.from_pretrained("${name}")\n${MODEL}model.resize_token_embeddings(${count})\n`;
    assert.deepEqual(open(of('/data/merged_tokenizer')), ['model.changes']);
    assert.deepEqual(open(of('/data/merged_tokenizer', 'tokenizer.vocab_size')), ['model.changes']);
    assert.deepEqual(open(of('meta-llama/Llama-2-7b-hf')), []);
    // Another published model with as many tokens, and one with more.
    assert.deepEqual([open(of('huggyllama/llama-7b')), changes(of('huggyllama/llama-7b'))], [[], undefined]);
    assert.deepEqual(changes(of('meta-llama/Meta-Llama-3-8B')), { vocab_size: 128256 });
    const held = `processor = AutoProcessor.from_pretrained("/data/more")\n${MODEL}model.resize_token_embeddings(len(processor.tokenizer))\n`;
    assert.deepEqual(open(held), ['model.changes']);
  });

  it('change what is trained, and are stated from outside where they are open', async () => {
    const script = (header: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1 sequence=512${header}
${HEAD}tokenizer = AutoTokenizer.from_pretrained("/data/merged_tokenizer")
${MODEL}model.resize_token_embeddings(len(tokenizer))
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], modules_to_save=["embed_tokens", "lm_head"]))
${TRAIN}`;
    const of = async (header: string) =>
      (await smallWorkspace({ 'train.py': script(header) }).analyze('train.py')).estimate;
    assert.equal(await of(''), undefined);
    const stated = await smallWorkspace(
      { 'train.py': script('') },
      { settings: () => ({ 'model.changes': { vocab_size: 49953 } }) },
    ).analyze('train.py');
    assert.deepEqual(parseField('model.changes', '{"vocab_size": 49953}'), { value: { vocab_size: 49953 } });
    assert.ok('error' in parseField('model.changes', '{"vocab_size"'));
    const lora = 32 * 2 * 2 * 4096 * 8;
    assert.equal(stated.estimate?.model.trainableParameters, 2 * 49953 * 4096 + lora);
  });
});
