import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { FileCache, TrackedFiles } from '../../../server/src/workspace/file-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { mayName, NamedFiles } from '../../../server/src/workspace/named-files';

const ROOT = 'file:///repo';

/** Files that nobody changes, and how often each was read. */
class CountedHost extends MemoryHost {
  readonly isStill = true;
  readonly reads = new Map<string, number>();

  override readText(uri: string): Promise<string | undefined> {
    this.reads.set(uri, (this.reads.get(uri) ?? 0) + 1);
    return super.readText(uri);
  }
}

const counted = (files: Readonly<Record<string, string>>) =>
  new CountedHost(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text])),
    { folders: [ROOT] },
  );

describe('names in a text', () => {
  const texts = {
    'run.sh': 'torchrun train.py configs/qwen2.5-7b.yaml --deepspeed ds.json\n',
    'made.sh': 'axolotl train configs/$SIZE.yaml # or small\n',
    'hydra.sh': 'python train.py --config-name large\n',
    'base.yaml': 'defaults:\n  - model: llama\n',
    'notes.md': 'See a-very-long-name-of-a-config-that-goes-on.jsonc, `x.py.ipynb` and Makefile.\n',
    'book.ipynb': '{"cells": [], "text": "!python tune_(4B).py"}',
  };
  const names = [
    ...[
      'train.py',
      'ds.json',
      's.json',
      'qwen2.5-7b.yaml',
      '7b.yaml',
      'small.yaml',
      'large.yaml',
      'llama.yaml',
    ],
    ...['a-very-long-name-of-a-config-that-goes-on.jsonc', 'config-that-goes-on.json', 'on.jsonc', 'x.py'],
    ...[
      'x.py.ipynb',
      'Makefile',
      'tune_(4B).py',
      'TRAIN.YAML',
      'train',
      'other.sh',
      'none.yaml',
      'none.ipynb',
    ],
  ];

  it('are found without the text as they are with it', () => {
    for (const [uri, text] of Object.entries(texts)) {
      const named = new NamedFiles(uri, text);
      for (const name of names)
        if (mayName(uri, text, name)) assert.ok(named.mayHave(name), `${name} in ${uri}`);
    }
    const script = new NamedFiles('run.sh', texts['run.sh']);
    assert.deepEqual(
      names.filter((name) => script.mayHave(name)),
      ['train.py', 'ds.json', 's.json', 'qwen2.5-7b.yaml', '7b.yaml', 'Makefile', 'TRAIN.YAML', 'train'],
    );
  });

  it('are none in a text that is too long to be looked into', () => {
    const long = `${'x'.repeat(200_001)} train.py`;
    assert.equal(new NamedFiles('run.sh', long).mayHave('train.py'), false);
    assert.equal(new NamedFiles('book.ipynb', long).mayHave('train.py'), true);
  });

  it('have the files of a folder read a few times each, whatever they print and however many they are', async () => {
    const cell = (code: string, printed: string) =>
      JSON.stringify({
        cells: [{ cell_type: 'code', source: code, outputs: [{ text: printed }] }],
        metadata: {},
      });
    const code = [
      'from trl import SFTConfig, SFTTrainer',
      'trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"))',
      'trainer.train()',
    ].join('\n');
    const host = counted(
      Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [`run${i}.ipynb`, cell(code, 'x'.repeat(1_500_000))]),
      ),
    );
    const workspace = new Workspace(host);
    for (let i = 0; i < 12; i++) assert.ok(await workspace.analyze(`${ROOT}/run${i}.ipynb`));
    assert.ok(Math.max(...host.reads.values()) <= 6, JSON.stringify([...host.reads]));
  });
});

describe('a program that several commands of a text start', () => {
  const flags = (batch: string) => ({
    kind: 'map' as const,
    range: PLACE,
    entries: [
      {
        key: 'batch',
        keyRange: PLACE,
        value: { kind: 'scalar' as const, value: batch, text: batch, quoted: false, range: PLACE },
      },
    ],
  });
  const PLACE = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
  const program = [
    'import argparse',
    'from sizes import LENGTH',
    'from trl import SFTConfig, SFTTrainer',
    'parser = argparse.ArgumentParser()',
    'parser.add_argument("--batch", type=int, default=1)',
    'args = parser.parse_args()',
    'config = SFTConfig(per_device_train_batch_size=args.batch, max_length=LENGTH)',
    'trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=config)',
    'trainer.train()',
  ].join('\n');

  it('is followed once per command, and anew where a module that it imports is another', async () => {
    const host = counted({ 'train.py': program, 'sizes.py': 'LENGTH = 512\n' });
    const cache = new FileCache(host);
    const read = (batch: string) =>
      new TrackedFiles(cache, []).read(`${ROOT}/train.py`, undefined, flags(batch));
    const [first, other, again] = [await read('2'), await read('4'), await read('2')];
    assert.ok(first);
    assert.equal(again?.document, first.document);
    assert.equal(again?.whole?.document, first.whole?.document);
    assert.notEqual(other?.whole?.document, first.whole?.document);
    host.write(`${ROOT}/sizes.py`, 'LENGTH = 1024\n');
    cache.forget(`${ROOT}/sizes.py`);
    const changed = await read('2');
    assert.notEqual(changed?.whole?.document, first.whole?.document);
    const length = changed?.reading.facts.find(({ field }) => field === 'batch.sequence');
    assert.equal(length?.value, 1024);
  });
});
