import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { CodeAction } from 'vscode-languageserver';
import type { Learned, MeasuredAnswer } from '../../server/src/features/measured-protocol';
import type { Breakdown } from '../../server/src/features/protocol';
import { TestServer } from './server-process';

const PROJECT = 'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 1\n';
const CONFIG = `base_model: NousResearch/Llama-3.2-1B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 2048
micro_batch_size: 4
gradient_accumulation_steps: 1
optimizer: adamw_torch
bf16: true
output_dir: runs/7
`;
const LOG = `[axolotl] [RANK:0] min_input_len: 31
[axolotl] [RANK:0] max_input_len: 1187
{'loss': 1.1, 'memory/max_active (GiB)': 30.5, 'memory/max_allocated (GiB)': 30.5, 'memory/device_reserved (GiB)': 34.25, 'epoch': 0.1}
`;

describe('measured runs', function () {
  this.timeout(60_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });
  const lenses = async (uri: string) =>
    (
      await server.request<{ command?: { title: string } }[]>('textDocument/codeLens', {
        textDocument: { uri },
      })
    )
      .map(({ command }) => command?.title ?? '')
      .filter((title) => title.startsWith('measured'));

  it('lie beside the estimate where the config names their folder', async () => {
    server = await TestServer.start({
      files: { 'train.yaml': CONFIG, 'oomlint.yaml': PROJECT, 'runs/7/train.log': LOG },
    });
    const uri = await server.open('train.yaml', CONFIG);
    const [title = ''] = await lenses(uri);
    assert.match(title, /^measured 34\.3 of 79\.\d GiB held by the allocator, estimated \d+\.\d GiB$/);
    const { measured, peak } = await server.request<Breakdown>('oomlint/breakdown', { uri });
    assert.equal(measured?.run, '7');
    assert.deepEqual(
      measured?.compared.map(({ kind, measuredBytes, estimatedBytes }) => [
        kind,
        measuredBytes,
        estimatedBytes,
      ]),
      [
        ['allocated', 30.5 * 2 ** 30, peak?.allocatedBytes],
        ['active', 30.5 * 2 ** 30, peak?.allocatedBytes],
        ['reserved', 34.25 * 2 ** 30, peak?.reservedBytes],
      ],
    );
  });

  it('are chosen, learned from with what was picked, and forgotten', async () => {
    const other = CONFIG.replace('runs/7', 'elsewhere');
    server = await TestServer.start({
      files: { 'train.yaml': other, 'oomlint.yaml': PROJECT, 'logs/a.log': LOG, 'logs/b.log': 'epoch 1\n' },
    });
    const uri = await server.open('train.yaml', other);
    assert.deepEqual(await lenses(uri), []);
    assert.equal(await server.request<Learned | null>('oomlint/learn', { uri }), null);
    const place = uri.replace('train.yaml', 'logs/a.log');
    const answer = await server.request<MeasuredAnswer>('oomlint/measured', { uri, place });
    assert.equal(answer.beside?.run, 'a.log');
    assert.equal((await lenses(uri)).length, 1);
    const { facts } = await server.request<Learned>('oomlint/learn', { uri });
    assert.deepEqual(
      facts.map(({ field }) => field),
      ['batch.varied', 'batch.longestSequence'],
    );
    const fields = ['batch.longestSequence'];
    const { file } = await server.request<Learned>('oomlint/learn', { uri, fields });
    assert.equal(file?.isNew, false);
    assert.match(
      file?.text ?? '',
      /^targets:[\s\S]*measured:\n {2}- source: logs\/a\.log\n {4}match: "\/train\.yaml"/,
    );
    assert.match(file?.text ?? '', /batch\.longestSequence: 1187/);
    assert.doesNotMatch(file?.text ?? '', /batch\.varied/);
    const nothing = uri.replace('train.yaml', 'logs/b.log');
    const none = await server.request<MeasuredAnswer>('oomlint/measured', { uri, place: nothing });
    assert.match(none.problem ?? '', /b\.log/);
    const gone = uri.replace('train.yaml', 'nowhere.log');
    assert.match(
      (await server.request<MeasuredAnswer>('oomlint/measured', { uri, place: gone })).problem ?? '',
      /ENOENT/,
    );
    await server.request('oomlint/measured', { uri });
    assert.deepEqual(await lenses(uri), []);
  });

  it('teach by code actions: at the key that a fact is about, at the top, and nowhere else', async () => {
    server = await TestServer.start({
      files: { 'train.yaml': CONFIG, 'oomlint.yaml': PROJECT, 'runs/7/train.log': LOG },
    });
    const uri = await server.open('train.yaml', CONFIG);
    const actions = async (line: number, only?: string[]) => {
      const at = { line, character: 0 };
      const found = await server.request<CodeAction[]>('textDocument/codeAction', {
        textDocument: { uri },
        range: { start: at, end: at },
        context: { diagnostics: [], ...(only ? { only } : {}) },
      });
      return found.filter(({ kind }) => kind === 'refactor.rewrite');
    };
    const line = (key: string) => CONFIG.split('\n').findIndex((text) => text.startsWith(key));
    const titles = (await actions(line('sequence_len'))).map(({ title }) => title);
    assert.deepEqual(titles, [
      'Add to oomlint.yaml what the run measured: samples of different lengths: 31 to 1187 tokens (Axolotl, line 2)',
      'Add to oomlint.yaml what the run measured: longest sample: 1187 tokens (Axolotl, line 2)',
    ]);
    assert.equal((await actions(0)).length, 2);
    assert.equal((await actions(line('output_dir'))).length, 2);
    assert.deepEqual(await actions(line('optimizer')), []);
    assert.deepEqual(await actions(0, ['quickfix']), []);
    const [, longest] = await actions(0, ['refactor']);
    const edit = JSON.stringify(longest?.edit);
    assert.match(edit, /\/oomlint\.yaml"/);
    assert.match(edit, /batch\.longestSequence: 1187/);
    assert.doesNotMatch(edit, /batch\.varied/);
  });

  it('lie under the estimate as a timeline where they left a snapshot, read beside the other requests', async () => {
    const other = CONFIG.replace('runs/7', 'elsewhere');
    const snapshot = readFileSync('test/fixtures/snapshots/step.json', 'utf8');
    server = await TestServer.start({
      files: { 'train.yaml': other, 'oomlint.yaml': PROJECT, 'logs/step.json': snapshot },
    });
    const uri = await server.open('train.yaml', other);
    const place = uri.replace('train.yaml', 'logs/step.json');
    const answer = await server.request<MeasuredAnswer>('oomlint/measured', { uri, place });
    const timeline = answer.beside?.timeline;
    assert.equal(timeline?.device, 0);
    assert.equal(timeline.olderBytes, 300 * 2 ** 20);
    assert.deepEqual(
      timeline.alive.map(({ call, phase, blocks }) => [call, phase, blocks]),
      [
        ['loss/loss_utils.py:36 forward', 'forward', 2],
        ['llama/modeling_llama.py:312 forward', 'forward', 8],
      ],
    );
    const { measured } = await server.request<Breakdown>('oomlint/breakdown', { uri });
    assert.deepEqual(measured?.timeline, timeline);
  });
});
