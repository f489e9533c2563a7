import assert from 'node:assert/strict';
import { RUSSIAN } from '../../../server/src/wording/russian';
import { speak } from '../../../server/src/wording/say';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///project/axolotl.yaml';

async function problems(lines: string): Promise<string[]> {
  const text = `base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: x\n${lines}`;
  const host = new MemoryHost({
    [URI]: text,
    'file:///project/oomlint.yaml': 'targets: { gpu: H100-SXM5-80GB, gpus: 8 }\n',
  });
  const analysis = await new Workspace(host).analyze(URI);
  return (analysis?.problems ?? []).map(
    ({ code, message, range }) => `${range.start.line} ${code} ${message}`,
  );
}

describe('values that cannot be meant, of fields that every run needs', () => {
  afterEach(() => speak('en', undefined));

  it('are problems at their place', async () => {
    assert.deepEqual(await problems('sequence_len: -5\nmicro_batch_size: 99999999999999999999\n'), [
      '0 unknown-fields An estimate needs the micro batch and the sequence length. micro-batch: 100000000000000000000 is too large to be meant. sequence: -5 is below 1. Set them in a comment "# oomlint: micro-batch=1 sequence=4096", or in an oomlint.yaml.',
      '3 bad-value sequence_len: -5 is below 1.',
      '4 bad-value micro_batch_size: 100000000000000000000 is too large to be meant.',
    ]);
  });

  it('are named as people write them where they are flags', async () => {
    const uri = 'file:///project/train.sh';
    const script =
      'torchrun --nproc_per_node 8 train.py --model_name_or_path m --gradient_accumulation_steps 0 --output_dir o --bf16 True\n';
    const analysis = await new Workspace(new MemoryHost({ [uri]: script })).analyze(uri);
    assert.deepEqual(
      analysis?.problems.flatMap(({ code, message }) => (code === 'bad-value' ? [message] : [])),
      ['gradient_accumulation_steps: 0 is below 1.'],
    );
  });

  it('are none where they are a way to say nothing', async () => {
    for (const none of [0, -1])
      assert.deepEqual(
        (await problems(`sequence_len: ${none}\nmicro_batch_size: 1\n`)).filter((reported) =>
          /bad-value/.test(reported),
        ),
        [],
      );
  });

  it('have a reason, and what nobody states has none, in Russian as well', async () => {
    speak('ru', RUSSIAN);
    const [unknown] = await problems('sequence_len: -1\nmicro_batch_size: 1\n');
    assert.equal(
      unknown,
      '0 unknown-fields Для оценки нужно: длина последовательности. Задайте значение в комментарии "# oomlint: sequence=4096" или в файле oomlint.yaml.',
    );
  });
});
