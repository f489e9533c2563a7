import assert from 'node:assert/strict';
import { NAMED_PACKAGES, releasedNames } from '../../../server/src/dialects/python/imported-names';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const TRAINS = `
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=8)).train()
`;
const IMPORTS = 'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n';

async function analyzed(text: string, more: Record<string, string> = {}) {
  const workspace = new Workspace(
    new MemoryHost({ 'file:///w/train.py': text, ...more }, { folders: ['file:///w'] }),
  );
  const analysis = await workspace.analyze('file:///w/train.py');
  assert.ok(analysis);
  return analysis;
}

async function release(text: string, of: 'transformers' | 'trl' | 'peft' = 'transformers', more = {}) {
  const { resolved } = await analyzed(text, more);
  const field = `version.${of}` as const;
  return `${resolved.values[field]} (${resolved.origins[field]?.kind}: ${resolved.origins[field]?.note})`;
}

describe('names that not all releases of a package have', () => {
  it('are read with the first release that has them, and the first that has not', () => {
    const names = releasedNames('transformers');
    assert.deepEqual(names.get('AdamW'), { until: { first: '4.50.3', last: '4.49.0' } });
    for (const name of [
      'TFAutoModelForSeq2SeqLM',
      'FlaxAutoModel',
      'PushToHubCallback',
      'KerasMetricCallback',
    ])
      assert.deepEqual(names.get(name), { until: { first: '5.0.0', last: '4.57.6' } }, name);
    assert.deepEqual(names.get('AutoModelForVision2Seq')?.until?.last, '4.57.6');
    assert.deepEqual(names.get('Qwen3ForCausalLM')?.since, { first: '4.51.3', before: '4.50.3' });
    // A lazy module answers to those in the place of others.
    for (const name of ['LlamaTokenizerFast', 'ViTImageProcessorFast', 'AutoModelForCausalLM', 'Trainer'])
      assert.equal(names.get(name), undefined, name);
    for (const name of NAMED_PACKAGES)
      for (const [one, { since, until }] of releasedNames(name)) {
        assert.ok(since || until, one);
        for (const end of [since?.before, until?.last]) assert.match(end ?? '1.0', /^\d+\.\d+/, one);
      }
  });

  it('tell of which release the file is that imports them', async () => {
    assert.match(
      await release(`from transformers import AdamW\n${IMPORTS}${TRAINS}`),
      /^4\.49\.0 \(inferred: `transformers` has `AdamW` up to release 4\.49\.0\)/,
    );
    assert.match(
      await release(`from transformers import TFAutoModel as T\n${IMPORTS}${TRAINS}`),
      /^4\.57\.6 /,
    );
    // The oldest end of all counts, that of arguments among them.
    const both = `from transformers import TFAutoModel, AdamW\n${IMPORTS}${TRAINS}`;
    assert.match(await release(both), /^4\.49\.0 /);
    const argument = TRAINS.replace('"o",', '"o", evaluation_strategy="no", ');
    assert.match(
      await release(`from transformers import TFAutoModel\n${IMPORTS}${argument}`),
      /^4\.50\.3 .*evaluation_strategy/,
    );
    const called = `import transformers\n${IMPORTS}${TRAINS}transformers.AdamW(model.parameters(), lr=1e-4)\n`;
    assert.match(await release(called), /^4\.49\.0 /);
    const trl = 'from trl import SFTConfig, SFTTrainer, AutoModelForCausalLMWithValueHead, PPOTrainer\n';
    const sft = `${trl}SFTTrainer(model="gpt2", args=SFTConfig(max_length=64)).train()\n`;
    assert.match(await release(sft, 'trl'), /^0\.2\d\.\d \(inferred: `trl` has /);
  });

  it('tell nothing where the import may fail without harm, or a release is named', async () => {
    const guarded = [
      'try:\n    from transformers import AdamW\nexcept ImportError:\n    from torch.optim import AdamW\n',
      'import sys\nif sys.argv:\n    from transformers import AdamW\n',
      'def later():\n    from transformers import AdamW\n',
      'from other import AdamW\n',
      'from transformers.optimization import Adafactor\n',
    ];
    for (const one of guarded) assert.match(await release(`${one}${IMPORTS}${TRAINS}`), /default/, one);
    const pinned = { 'file:///w/requirements.txt': 'transformers==5.3.0\n' };
    assert.match(
      await release(`from transformers import AdamW\n${IMPORTS}${TRAINS}`, 'transformers', pinned),
      /^5\.3\.0 \(environment/,
    );
    // No release has both.
    const neither = `from transformers import AdamW, Qwen3_5ForCausalLM\n${IMPORTS}${TRAINS}`;
    assert.match(await release(neither), /default/);
  });

  it('are looked for in trainings that are not estimated, too', async () => {
    const keras =
      'from transformers import TFAutoModelForSequenceClassification\nimport keras\nmodel = TFAutoModelForSequenceClassification.from_pretrained("bert-base-cased")\nmodel.compile(optimizer=keras.optimizers.Adam(1e-5))\nmodel.fit(data)\n';
    assert.match(await release(keras), /^4\.57\.6 /);
    const loop =
      'from torch.utils.data import DataLoader\nfrom transformers import AdamW, AutoModelForSequenceClassification\nmodel = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")\noptimizer = AdamW(model.parameters())\nfor batch in DataLoader(data, batch_size=8):\n    loss = model(**batch).loss\n    loss.backward()\n    optimizer.step()\n';
    assert.match(await release(loop), /^4\.49\.0 /);
  });

  it('are reported where the release that is pinned lacks them', async () => {
    const named = async (text: string, requirement?: string) =>
      (await analyzed(text, requirement ? { 'file:///w/requirements.txt': `${requirement}\n` } : {})).problems
        .filter(({ code }) => code === 'imported-name')
        .map(
          ({ severity, message, range }) =>
            `${severity} ${range.start.line}:${range.start.character} ${message}`,
        );
    const old = `from transformers import AdamW\n${IMPORTS}${TRAINS}`;
    assert.deepEqual(await named(old, 'transformers==5.3.0'), [
      'warning 0:25 `transformers` 5.3.0 has no `AdamW`: 4.49.0 is the last release with it.',
    ]);
    assert.deepEqual(await named(old, 'transformers>=5.1'), [
      'warning 0:25 `transformers` 5.24.0 has no `AdamW`: 4.49.0 is the last release with it.',
    ]);
    const recent = `from transformers import Qwen3ForCausalLM\n${IMPORTS}${TRAINS}`;
    assert.deepEqual(await named(recent, 'transformers==4.44.2'), [
      'warning 0:25 `transformers` 4.44.2 has no `Qwen3ForCausalLM`: 4.51.3 is the first release with it.',
    ]);
    // Releases between the last without it and the first with it were not looked at.
    for (const [text, requirement] of [
      [recent, 'transformers==4.51.0'],
      [old, 'transformers==4.50.0'],
      [old, 'transformers>=4.40'],
      [old, undefined],
    ] as const)
      assert.deepEqual(await named(text, requirement), [], requirement);
  });
});

describe('arguments of several calls of a file', () => {
  it('are taken by one release: the oldest end counts', async () => {
    const second = `${IMPORTS}${TRAINS}other = TrainingArguments("p", evaluation_strategy="epoch")\n`;
    assert.match(
      await release(second),
      /^4\.50\.3 \(inferred: `TrainingArguments` takes `evaluation_strategy`/,
    );
    // Of other classes arguments of the same names mean nothing of the kind.
    for (const other of [
      'from transformers.distributed import DistributedConfig as C',
      'from trl import ModelConfig as C',
    ])
      assert.match(await release(`${other}\n${IMPORTS}${TRAINS}more = C(tp_size=2)\n`), /default/);
    assert.match(
      await release(`${IMPORTS}${TRAINS}other = TrainingArguments("p", tp_size=2)\n`),
      /^4\.51\.3 \(inferred: `TrainingArguments` takes `tp_size`/,
    );
    const asked = 'from peft.import_utils import is_transformers_ge_v5\n';
    const newer =
      'if is_transformers_ge_v5:\n    other = TrainingArguments("p", evaluation_strategy="epoch")\n';
    assert.match(await release(`${asked}${IMPORTS}${TRAINS}${newer}`), /default/);
    const conditional = `${IMPORTS}${TRAINS}if flag():\n    other = TrainingArguments("p", evaluation_strategy="epoch")\n`;
    assert.match(await release(conditional), /default/);
    const older = `${IMPORTS}${TRAINS.replace('"o",', '"o", evaluation_strategy="no", ')}other = TrainingArguments("p", logging_dir="l")\n`;
    assert.match(await release(older), /^4\.50\.3 /);
  });
});
