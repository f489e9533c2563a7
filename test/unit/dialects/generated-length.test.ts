import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { assertStates, read } from './reading';

const script = (more: string, calls: string) =>
  `from transformers import AutoModelForSeq2SeqLM, GenerationConfig, Seq2SeqTrainer, Seq2SeqTrainingArguments
model = AutoModelForSeq2SeqLM.from_pretrained("google-t5/t5-base")
args = Seq2SeqTrainingArguments(output_dir="o", predict_with_generate=True${more})
trainer = Seq2SeqTrainer(model=model, args=args)
trainer.train()
${calls}
`;
const trained = (more: string, calls: string) => read('python', 'file:///train.py', script(more, calls));

describe('tokens that an evaluation generates', () => {
  before(loadPython);

  for (const [more, calls, tokens] of [
    ['', '', '20 default'],
    [', generation_config=GenerationConfig(max_length=8)', '', '8 file'],
    [', generation_config=GenerationConfig(max_new_tokens=64)', '', '64 file'],
    ['', 'trainer.evaluate(max_length=128)', '128 file'],
    ['', 'trainer.evaluate(max_length=64)\ntrainer.predict(data, max_new_tokens=100)', '100 file'],
    [', generation_max_length=32', 'trainer.evaluate(max_length=128)', '128 file'],
    [', generation_max_length=32', 'trainer.evaluate()', '32 file'],
    [', eval_strategy="epoch", generation_max_length=32', 'trainer.evaluate(max_length=8)', '32 file'],
    [', eval_strategy="epoch", generation_max_length=32', 'trainer.evaluate(max_length=128)', '128 file'],
    [', generation_max_length=32', 'trainer.evaluate(max_length=8)\ntrainer.predict(data)', '32 file'],
  ] as const)
    it(`${more} ${calls}: ${tokens}`, () => {
      assertStates(trained(more, calls), { 'evaluation.generatedTokens': tokens });
    });

  it('have the beams that calls pass', () => {
    const calls = 'trainer.evaluate(max_length=128, num_beams=5)\ntrainer.predict(data, num_beams=3)';
    assertStates(trained(', generation_num_beams=2', calls), {
      'evaluation.generatedTokens': '128 file',
      'evaluation.beams': '5 file',
    });
    const { unread = [] } = trained('', 'trainer.evaluate(num_beams=asked())');
    assert.ok(unread.some(({ fields }) => fields?.includes('evaluation.beams')));
  });

  it('are those of the checkpoint wherever no call passes any, if it states them', async () => {
    const translated = async (strategy: string, calls: string) => {
      const text = script(`, eval_strategy="${strategy}"`, calls);
      const host = new MemoryHost({
        'file:///w/train.py': text.replace('google-t5/t5-base', 'Helsinki-NLP/opus-mt-en-fr'),
      });
      const analysis = await new Workspace(host, {}).analyze('file:///w/train.py');
      assert.ok(analysis);
      return analysis;
    };
    for (const [strategy, calls, words, tokens] of [
      ['epoch', 'trainer.evaluate(max_length=64)', /how many tokens and beams/, 512],
      ['no', 'trainer.evaluate(max_length=64)', /says how many beams/, 64],
      ['no', 'trainer.evaluate(max_length=64)\ntrainer.predict(data)', /how many tokens and beams/, 512],
      ['no', 'trainer.evaluate(num_beams=4)', /says how many tokens the/, 512],
      ['no', 'trainer.evaluate(max_length=64, num_beams=4)', undefined, 64],
    ] as const) {
      const { unread = [], resolved } = await translated(strategy, calls);
      const [left, ...more] = unread.filter(({ text }) => text === 'predict_with_generate');
      assert.deepEqual(more, []);
      if (words) assert.match(left?.message ?? '', words, calls);
      else assert.equal(left, undefined);
      assert.equal(resolved.values['evaluation.generatedTokens'], tokens, calls);
    }
  });

  it('are not known where the config is not', () => {
    const { unread = [] } = trained(', generation_config=made_elsewhere()', '');
    assert.ok(unread.some(({ fields }) => fields?.includes('evaluation.generatedTokens')));
  });

  it('have the beams of their config', () => {
    const config = ', generation_config=GenerationConfig(max_length=8, num_beams=4)';
    assertStates(trained(config, ''), { 'evaluation.beams': '4 file' });
  });

  for (const [given, states, isOpen] of [
    ['generation_config:\n  max_new_tokens: 512\n  num_beams: 4', ['512 file', '4 file'], false],
    ['generation_config:\n  max_length: 64', ['64 file', '1 default'], false],
    ['generation_config:\n  max_new_tokens: 512\ngeneration_max_length: 32', ['32 file', '1 default'], false],
    ['generation_config: my/model', [undefined, undefined], true],
    ['report_to: none', ['20 default', '1 default'], false],
  ] as const)
    it(`are those of a file: ${given.split('\n').join(', ')}`, () => {
      const reading = read(
        'hf-training-arguments',
        'file:///args.yaml',
        `output_dir: out\nper_device_train_batch_size: 8\neval_strategy: epoch\npredict_with_generate: true\nlearning_rate: 1e-5\n${given}\n`,
      );
      const [tokens, beams] = states;
      assertStates(reading, { 'evaluation.generatedTokens': tokens });
      if (beams?.endsWith('file')) assertStates(reading, { 'evaluation.beams': beams });
      const open = (reading.unread ?? []).some(({ fields }) =>
        fields?.includes('evaluation.generatedTokens'),
      );
      assert.equal(open, isOpen);
    });
});
