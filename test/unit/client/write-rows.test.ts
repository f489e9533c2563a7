import assert from 'node:assert/strict';
import { writeRows } from '../../../client/src/write-rows';
import { planValues } from '../../../server/src/advice/apply-plan';
import { plannedOf } from '../../../server/src/features/advice-cards';
import type { RunValues } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { DEEPSPEED, PROJECT, URI } from '../features/panel-run';

const WORDS = {
  write: 'Write',
  note: 'Note It',
  written: 'What is written',
  byHand: 'By hand:',
  newFile: (name: string) => `${name} (new)`,
  noteIn: (name: string) => `${name} (a note that only Oomlint reads)`,
};

async function rowsOf(values: RunValues) {
  const folders = ['file:///project'];
  const host = new MemoryHost({ [URI]: DEEPSPEED, 'file:///project/oomlint.yaml': PROJECT }, { folders });
  const workspace = new Workspace(host);
  const analysis = await workspace.analyze(URI);
  assert.ok(analysis);
  const plan = await planValues(analysis, values, workspace);
  return writeRows(plannedOf(plan, values, folders), 'the change', WORDS);
}

describe('what is shown before a chosen run is written', () => {
  it('is every file with its lines, what Oomlint alone reads, and what is done by hand', async () => {
    const rows = await rowsOf({ 'batch.micro': 1, 'activations.checkpointing': 'full' });
    const labels = rows.map(({ label }) => label);
    assert.equal(labels[0], '$(check) Write');
    const byHand = labels.indexOf('By hand:');
    assert.match(labels[byHand + 1] ?? '', /^\$\(tools\) .*--gradient_checkpointing/);
    assert.ok(byHand < labels.indexOf('What is written'));
    assert.deepEqual(labels.slice(labels.indexOf('What is written') + 1), [
      '$(file) ds.json',
      '$(note) oomlint.yaml (a note that only Oomlint reads)',
    ]);
    assert.match(
      rows.find(({ label }) => label.includes('ds.json'))?.detail ?? '',
      /^− .*": 2,? {2}\+ .*": 1/,
    );
  });

  it('is called a note where no training changes by it', async () => {
    const [first] = await rowsOf({ 'activations.checkpointing': 'full' });
    assert.deepEqual([first?.label, first?.write], ['$(check) Note It', true]);
  });

  it('names a file that is made, which cannot be opened yet', () => {
    const file = {
      name: 'fsdp.yaml',
      uri: 'file:///p/fsdp.yaml',
      removed: [],
      added: ['a: 1'],
      create: true,
    };
    const rows = writeRows({ values: {}, files: [file], byHand: [], left: [] }, 'FSDP', WORDS);
    assert.deepEqual(rows.at(-1), { label: '$(file) fsdp.yaml (new)', detail: '+ a: 1' });
  });
});
