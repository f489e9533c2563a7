import assert from 'node:assert/strict';
import type { TextDocumentEdit } from 'vscode-languageserver-protocol';
import { newestReleases } from '../../server/src/environment/versions';
import type { Applied, FixCards, Planned } from '../../server/src/features/advice-protocol';
import type { Breakdown, Comparison, Tried } from '../../server/src/features/protocol';
import { TestServer } from './server-process';

const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 }
}
`;
const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';

describe('requests of the panel', function () {
  this.timeout(30_000);
  let server: TestServer;
  let uri: string;

  beforeEach(async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    uri = await server.open('ds.json', DEEPSPEED);
  });
  afterEach(() => server.stop());

  it('a breakdown reports where keys stand and what can be tried', async () => {
    const breakdown = await server.request<Breakdown>('oomlint/breakdown', { uri });
    assert.ok(breakdown.keys?.some(({ key }) => key === 'zero_optimization.stage'));
    assert.equal(breakdown.knobs?.find(({ id }) => id === 'micro-batch')?.value, 1);
    assert.equal(breakdown.ranks, undefined, 'all GPUs hold the same');
  });

  it('a turned knob gives another run, and applied it gives the edit that makes it so', async () => {
    const tried = await server.request<Tried>('oomlint/try', { uri, turned: { 'micro-batch': 4 } });
    assert.deepEqual(tried.values, { 'batch.micro': 4 });
    const base = await server.request<Breakdown>('oomlint/breakdown', { uri });
    const peak = tried.breakdown?.peak?.processBytes ?? 0;
    assert.ok(peak > (base.peak?.processBytes ?? 0));
    const applied = await server.request<Applied>('oomlint/apply', { uri, values: tried.values });
    assert.deepEqual(applied.left, []);
    const { documentChanges } = applied.edit as { documentChanges: TextDocumentEdit[] };
    const [change] = documentChanges;
    assert.equal(change?.textDocument.uri, uri);
    const [edit] = change?.edits ?? [];
    assert.deepEqual(edit && 'newText' in edit && [edit.range.start.line, edit.newText], [1, '4']);
  });

  it('what would be written is shown before, and a fix is written by its id', async () => {
    const values = { 'batch.micro': 2, 'activations.checkpointing': 'full' } as const;
    const plan = await server.request<Planned>('oomlint/plan', { uri, values });
    assert.deepEqual(
      plan.files.map(({ name, note, added }) => [name, note ?? false, added]),
      [
        ['ds.json', false, ['  "train_micro_batch_size_per_gpu": 2,']],
        ['oomlint.yaml', true, ['files:', '  - match: /ds.json', '    checkpointing: full']],
      ],
    );
    assert.match(plan.byHand.join(' '), /--gradient_checkpointing True/);
    const large = await server.open('large.json', DEEPSPEED.replace('gpu": 1', 'gpu": 16'));
    const { fixes } = await server.request<FixCards>('oomlint/fixes', { uri: large });
    const [first] = fixes;
    assert.ok(first);
    const applied = await server.request<Applied>('oomlint/apply', { uri: large, values: {}, fix: first.id });
    assert.ok(applied.edit);
    assert.deepEqual(applied.byHand, first.byHand);
  });

  it('the version of a text in git is compared without being written anywhere', async () => {
    const text = DEEPSPEED.replace('"stage": 3', '"stage": 1');
    const compared = await server.request<Comparison>('oomlint/compare', { uri, other: { text } });
    const [stage] = compared.differences;
    assert.deepEqual([stage?.fields, stage?.before, stage?.after], [['zero.stage'], '1', '3']);
    assert.ok((stage?.bytes ?? 0) < 0);
    const still = await server.request<Breakdown>('oomlint/breakdown', { uri });
    assert.deepEqual(still.peak, compared.after.peak);
  });

  it('a config is held to itself under the newest releases, each version a difference of its own', async () => {
    await server.write('requirements.txt', 'torch==2.3.0\ntransformers==4.44.0\n');
    const pinned = await server.open('pinned.json', DEEPSPEED);
    const other = { releases: 'newest' };
    const compared = await server.request<Comparison>('oomlint/compare', { uri: pinned, other });
    const torch = compared.differences.find(({ fields }) => fields.includes('version.torch'));
    assert.equal(torch?.before, '2.3.0');
    assert.equal(torch?.after, newestReleases().torch);
    const bytes = compared.differences.reduce((sum, one) => sum + one.bytes, 0);
    const peaks = [compared.before, compared.after].map(({ peak }) => peak?.processBytes ?? 0);
    assert.equal(Math.round(bytes), Math.round((peaks[1] ?? 0) - (peaks[0] ?? 0)));
  });

  it('nothing is reported of what is no config', async () => {
    const other = await server.open('package.json', '{ "name": "x" }');
    for (const method of ['try', 'plan', 'fixes', 'apply', 'compare']) {
      const params = { uri: other, turned: {}, values: {}, other: { uri } };
      assert.equal(await server.request(`oomlint/${method}`, params), null, method);
    }
  });
});
