import assert from 'node:assert/strict';
import { completions } from '../../../server/src/features/completion/completion';
import { noTriedValues, withOutcomes } from '../../../server/src/features/completion/outcome';
import { Workspace } from '../../../server/src/workspace/analyze';
import { readConfig } from '../../../server/src/workspace/file-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { marked } from './sample';

const URI = 'file:///repo/sft.yaml';

async function offered(textWithMark: string, gpu = 'H100-SXM5-80GB', gpus = 1, values = noTriedValues()) {
  const { text, position } = marked(textWithMark);
  const workspace = new Workspace(new MemoryHost({ [URI]: text }), {
    settings: () => ({ 'hardware.gpu': gpu, 'hardware.gpus': gpus }),
  });
  const config = readConfig(URI, text);
  assert.ok(config);
  const found = await completions({ ...config, position });
  const tried = await withOutcomes(
    found,
    text,
    (changed) => workspace.preview(URI, new Map([[URI, changed]])),
    values,
  );
  return [...tried].sort((a, b) => (a.sort < b.sort ? -1 : 1));
}

const RECIPE = (micro: string, more = '') => `model_name_or_path: Qwen/Qwen2.5-0.5B
torch_dtype: bfloat16
per_device_train_batch_size: ${micro}
gradient_accumulation_steps: 4
gradient_checkpointing: false
max_length: 2048
learning_rate: 1.0e-5
output_dir: out
${more}`;

describe('what completed values would give', () => {
  it('reports the peak of each and puts those first that fit', async () => {
    const values = await offered(RECIPE('|'));
    assert.deepEqual(values.map(({ label }) => label).sort(), ['1', '16', '2', '32', '4', '8']);
    for (const { outcome } of values) assert.match(outcome ?? '', /GiB, /);
    const fits = values.map(({ outcome }) => !/does not fit/.test(outcome ?? ''));
    assert.ok(fits.includes(true) && fits.includes(false), `${values.map(({ outcome }) => outcome)}`);
    assert.deepEqual(
      fits,
      [...fits].sort((a, b) => Number(b) - Number(a)),
    );
  });

  it('has under Enter the largest that fits, where nothing is typed yet and the value decides', async () => {
    const under = async (text: string) =>
      (await offered(text)).filter(({ preselect }) => preselect).map(({ label }) => label);
    const values = await offered(RECIPE('|'));
    const fitting = values.filter(({ outcome }) => /, fits$/.test(outcome ?? '')).map(({ label }) => +label);
    assert.ok(fitting.length > 1, `${fitting}`);
    assert.deepEqual(await under(RECIPE('|')), [String(Math.max(...fitting))]);
    // What is typed may be meant as it stands.
    assert.deepEqual(await under(RECIPE('1|')), []);
    // More accumulation needs no more than two steps of it: none of its values is the largest.
    assert.deepEqual(
      await under(RECIPE('4').replace('gradient_accumulation_steps: 4', 'gradient_accumulation_steps: |')),
      [],
    );
  });

  it('leaves values alone where nothing can be estimated', async () => {
    const values = await offered(
      `${RECIPE('|').replace(/^model.*\n/, 'model_name_or_path: no/such-model\n')}`,
    );
    assert.ok(values.length > 0);
    for (const { outcome } of values) assert.doesNotMatch(outcome ?? '', /GiB/);
  });

  it('reports the peak of every optimizer that Axolotl takes', async () => {
    const recipe = `base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\nsequence_len: 4096\nbf16: true\ngradient_checkpointing: true\nlearning_rate: 1e-5\ndatasets:\n  - path: x\n    type: alpaca\noptimizer: |\n`;
    const known = noTriedValues();
    let values = await offered(recipe, undefined, 8, known);
    assert.ok(values.length > 40);
    // On a busy machine the last ones come with the next key.
    for (let again = 0; again < 10 && values.some(({ untried }) => untried); again++) {
      assert.ok(values.filter(({ outcome }) => outcome).length >= 16);
      values = await offered(recipe, undefined, 8, known);
    }
    for (const { label, outcome } of values) assert.match(outcome ?? '', /GiB, /, label);
  });

  it('tries no catalog', async () => {
    const values = await offered(
      'model_name_or_path: |\nlearning_rate: 1.0e-5\nmax_length: 512\npacking: true\n',
    );
    assert.ok(values.length > 100);
  });
});
