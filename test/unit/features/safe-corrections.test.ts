import assert from 'node:assert/strict';
import { withEdits } from '../../../server/src/advice/write/text-edits';
import { parseConfig } from '../../../server/src/config/parse';
import { codeActions } from '../../../server/src/features/code-actions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function corrections(file: string, text: string): Promise<string[]> {
  const uri = `file:///w/${file}`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  assert.ok(analysis);
  const range = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
  return codeActions(analysis, { text, range })
    .filter(({ title }) => title.startsWith('Change to'))
    .map(({ edits }) => withEdits(text, edits));
}

describe('corrections of names', () => {
  it('are none where the right name stands already', async () => {
    for (const [file, text, twice] of [
      [
        'ds.json',
        '{"train_batch_size": 1, "zero_optimization": {"stage": 2, "stagee": 3}}',
        /"stage".*"stage":/,
      ],
      [
        'a.toml',
        '[training]\nlocal_batch_size = 1\nlocal_batch_sizee = 2\nseq_len = 4\n[model]\nname = "llama3"\nflavor = "8B"\n',
        /local_batch_size = 2/,
      ],
      [
        'a.yaml',
        'base_model: x\nsequence_len: 1\nmicro_batch_size: 1\nmicro_batch_sizee: 2\ndatasets: []\n',
        /micro_batch_size: 2/,
      ],
    ] as const)
      for (const after of await corrections(file, text)) assert.ok(!twice.test(after), after);
  });

  it('are offered where it does not, and read', async () => {
    const [first = ''] = await corrections(
      'ds.json',
      '{"train_batch_size": 1, "zero_optimization": {"stagee": 3}}',
    );
    assert.ok(first.includes('"stage": 3'), first);
    assert.deepEqual(parseConfig('file:///w/ds.json', first).problems, []);
  });
});
