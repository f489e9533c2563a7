import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import { pythonLines } from '../../../server/src/config/python/databricks-source';
import { loadPython } from '../../../server/src/config/python/grammar';
import { smallWorkspace } from '../workspace/small-workspace';

const source = (...cells: string[]) =>
  `# Databricks notebook source\n${cells.join('\n\n# COMMAND ----------\n\n')}\n`;
const named = (text: string) =>
  (parseConfig('file:///tune.py', text).installs ?? []).map(({ name, specifier }) => `${name}${specifier}`);

describe('source of a Databricks notebook', () => {
  before(loadPython);

  it('installs what its cells install, in their order', () => {
    const text = source(
      '# MAGIC %md\n# MAGIC Run `%pip install trl==0.1` first',
      '# MAGIC %pip install bitsandbytes==0.40.1 trl==0.4.7\n# MAGIC %pip install -U transformers[torch]==4.31.0\n# MAGIC dbutils.library.restartPython()',
      '# MAGIC %sh\n# MAGIC ls\n# MAGIC pip install peft==0.4.0',
      '# MAGIC %sh pip install accelerate==0.21.0',
      '# MAGIC !pip install torch==2.0.1',
    );
    const expected = [
      'bitsandbytes==0.40.1',
      'trl==0.4.7',
      'transformers==4.31.0',
      'peft==0.4.0',
      'accelerate==0.21.0',
      'torch==2.0.1',
    ];
    assert.deepEqual(named(text), expected);
    assert.deepEqual(named(text.replaceAll('\n', '\r\n')), expected);
    // Only that first line makes it a notebook.
    assert.deepEqual(named(text.replace('Databricks notebook source', 'Databricks')), []);
  });

  it('has installs at their places in the file', () => {
    const line = '# MAGIC %pip install trl==0.4.7';
    const [install] = parseConfig('file:///tune.py', source(line)).installs ?? [];
    const start = line.indexOf('trl');
    assert.deepEqual(install?.range, {
      start: { line: 1, character: start },
      end: { line: 1, character: line.length },
    });
  });

  it('is Python in its other cells, and behind the mark where its cell is', () => {
    const text = source(
      '# MAGIC %md\n# MAGIC # Words\n# MAGIC\n# MAGIC [f](x=9) is no Python: "',
      '# DBTITLE 1,Words\n# MAGIC %md\n# MAGIC f(x=0)',
      '# MAGIC %sql\n# MAGIC select f(x=1)',
      '# MAGIC %scala\n# MAGIC val a = f(x=2)',
      '# MAGIC %python\n# MAGIC from lib import f\n# MAGIC size = 3',
      'f(x=size)',
      '# MAGIC %pip install trl\n# MAGIC f(x=4)',
    );
    const { program, problems } = parseConfig('file:///tune.py', text);
    assert.deepEqual(problems, []);
    const made = program?.calls.filter(({ callee }) => callee === 'lib.f') ?? [];
    assert.deepEqual(
      made.map(({ named: [one] }) => one?.value.kind === 'scalar' && one.value.value),
      [3, 4],
    );
    assert.equal(
      text.split('\n')[made[1]?.range.start.line ?? 0]?.slice(made[1]?.range.start.character),
      'f(x=4)',
    );
  });

  it('has as many lines as the file, whatever stands in it', () => {
    const part = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '# COMMAND ----------',
        '# MAGIC',
        '# MAGIC %md',
        '# MAGIC %run ./a',
        '%pip install a',
        '',
        '\r',
      ),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = source(...parts);
        const lines = pythonLines(text);
        assert.equal(lines.count, text.split(/\r\n?|\n/).length);
        const written = text.split(/\r\n?|\n/);
        for (let at = 0; at <= lines.text.length; at++) {
          const { line, character } = lines.position(at);
          assert.ok(character <= (written[line]?.length ?? -1) + 1);
        }
      }),
    );
  });
});

const TRAINS = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype="bfloat16")
Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=ROWS)).train()`;

describe('a notebook that another runs', () => {
  const reading = (settings: Record<string, string>, run = './setup/names') =>
    smallWorkspace({
      'tune.py': source(`# MAGIC %run ${run} $mode="x"`, TRAINS),
      ...settings,
    }).analyze('tune.py');

  it('lends what it defines', async () => {
    const settings = source('MODEL = "meta-llama/Llama-3.1-8B"', 'ROWS = 3');
    for (const run of ['./setup/names', '"./setup/names"', './setup/names.py']) {
      const { resolved } = await reading({ 'setup/names.py': settings }, run);
      assert.equal(resolved.values['batch.micro'], 3, run);
    }
  });

  it('leaves unknown what nobody sees of it', async () => {
    const { resolved, estimate } = await reading({});
    assert.notEqual(resolved.values['batch.micro'], 3);
    assert.equal(estimate, undefined);
  });
});
