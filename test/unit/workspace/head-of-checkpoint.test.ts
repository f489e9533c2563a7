import assert from 'node:assert/strict';
import { ROOT, smallWorkspace } from './small-workspace';

const BERT = {
  model_type: 'bert',
  hidden_size: 256,
  intermediate_size: 1024,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  vocab_size: 30522,
  max_position_embeddings: 512,
  type_vocab_size: 2,
};

/** The run of a file beside a checkpoint whose `config.json` names a class. */
async function run(name: string, files: Record<string, string>, file: string) {
  const { analyze } = smallWorkspace({
    'tuned/config.json': JSON.stringify({ ...BERT, architectures: [name] }),
    'oomlint.yaml':
      'model: {path: ./tuned}\nbatch: {sequence: 512}\nhardware: {gpu: A100-SXM4-80GB, gpus: 1}\n',
    ...files,
  });
  return analyze(file);
}

const ARGUMENTS = { 'args.json': '{"output_dir": "o", "per_device_train_batch_size": 32, "bf16": true}' };

describe('the head that the config.json of a checkpoint names', () => {
  for (const [name, objective] of [
    ['BertForSequenceClassification', 'classification'],
    ['BertForTokenClassification', 'token-classification'],
    ['BertForQuestionAnswering', 'question-answering'],
    ['BertForMultipleChoice', 'multiple-choice'],
    ['BertForMaskedLM', 'lm'],
    ['BertForPreTraining', 'lm'],
    ['BertModel', 'lm'],
  ] as const)
    it(`${name} is trained for ${objective} where no file states which class loads it`, async () => {
      const { resolved } = await run(name, ARGUMENTS, 'args.json');
      assert.equal(resolved.values['method.objective'], objective);
      const note = resolved.origins['method.objective']?.note ?? '';
      assert.equal(note.includes(`\`${name}\``), objective !== 'lm');
    });

  it('is a fraction of the memory of scores over the vocabulary, which the other answer states', async () => {
    const classified = await run('BertForSequenceClassification', ARGUMENTS, 'args.json');
    const guessed = await run('BertForMaskedLM', ARGUMENTS, 'args.json');
    const bytes = ({ estimate }: typeof classified) => estimate?.peak.processBytes ?? Number.NaN;
    assert.ok(bytes(classified) < 0.5 * bytes(guessed));
    const answer = classified.answers?.find(({ field }) => field === 'method.objective');
    assert.equal(answer?.estimate?.processBytes, bytes(guessed));
  });

  it('is taken for a script that nobody knows, and not where the file states another', async () => {
    const launch = (more: string) => ({
      'run.sh': `torchrun --nproc_per_node 1 train.py --model_name_or_path ./tuned --output_dir o --bf16 --max_seq_length 512 --per_device_train_batch_size 32${more}\n`,
    });
    const { resolved } = await run('BertForSequenceClassification', launch(''), 'run.sh');
    assert.equal(resolved.values['method.objective'], 'classification');
    const stated = await run('BertForSequenceClassification', launch(' # oomlint: objective=lm'), 'run.sh');
    assert.equal(stated.resolved.values['method.objective'], 'lm');
  });

  it('stands back where a framework or a script has a class of its own', async () => {
    const llama = JSON.stringify({
      model_type: 'llama',
      architectures: ['LlamaForSequenceClassification'],
      hidden_size: 256,
      intermediate_size: 512,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      vocab_size: 32000,
    });
    const { analyze } = smallWorkspace({
      'tuned/config.json': llama,
      'a.yaml':
        'base_model: ./tuned\nmicro_batch_size: 1\nsequence_len: 512\noptimizer: adamw_torch\ndatasets:\n  - path: a.jsonl\n    type: alpaca\n',
      'train.py': [
        'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments',
        "model = AutoModelForCausalLM.from_pretrained('./tuned')",
        "Trainer(model=model, args=TrainingArguments(output_dir='o'), train_dataset=data).train()",
      ].join('\n'),
    });
    for (const file of ['a.yaml', 'train.py']) {
      const { resolved } = await analyze(file);
      assert.equal(resolved.values['method.objective'], 'lm', `${ROOT}/${file}`);
    }
  });
});
