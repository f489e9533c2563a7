import assert from 'node:assert/strict';
import { TestServer } from './server-process';

const WRONG = '{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stagee": 3 }\n}\n';
const RIGHT = WRONG.replace('stagee', 'stage');
const NO_CONFIG = '{\n  "name": "app",\n  "version": "1.0.0"\n}\n';

describe('diagnostics', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  it('come when a file is opened, with the version of its text', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', WRONG);
    const { version, diagnostics } = await server.published(uri);
    assert.equal(version, 1);
    const found = diagnostics.find(({ code }) => code === 'unknown-key');
    assert.deepEqual(found?.range.start.line, 2);
    assert.equal(found?.source, 'oomlint');
    assert.equal(found?.data?.replacement, 'stage');
  });

  it('speak the language of the editor: rules of families, keys and verdicts', async () => {
    server = await TestServer.start({ initializationOptions: { trusted: false, language: 'ru' } });
    const uri = await server.open(
      'ds.json',
      WRONG.replace('"stagee": 3', '"stagee": 3, "stage": 3').replace(
        '{\n',
        '{ "fp16": { "enabled": true }, "bf16": { "enabled": true },\n',
      ),
    );
    const { diagnostics } = await server.published(uri);
    const message = (wanted: string) => diagnostics.find(({ code }) => code === wanted)?.message;
    assert.equal(message('two-precisions'), 'Включены и fp16, и bf16: DeepSpeed этого не принимает.');
    assert.equal(
      message('unknown-key'),
      'DeepSpeed не принимает неизвестный ключ "stagee" в "zero_optimization". Имелось в виду "stage"? Принят DeepSpeed 0.19: версию не называет ни один файл.',
    );
    for (const { message: reported } of diagnostics) assert.match(String(reported), /[а-яё]/i);
  });

  it('follow a save, not the typing before it', async () => {
    server = await TestServer.start({ settings: { diagnostics: { run: 'onSave' } } });
    const uri = await server.open('ds.json', RIGHT);
    await server.published(uri);
    server.forget();
    const version = await server.change(uri, WRONG);
    await server.until(() => server.statuses.some((status) => status.version === version), 'a status');
    assert.equal(server.latest(uri), undefined);
    await server.save(uri);
    const published = await server.published(uri);
    assert.equal(published.version, version);
    assert.ok(server.codes(uri).includes('unknown-key'));
  });

  it('go when they are put right, come back when that is undone, and stay while a text is half typed', async () => {
    server = await TestServer.start({ settings: { diagnostics: { run: 'onSave' } } });
    const text =
      '# oomlint: model=gpt2 gpu=T4 gpus=1\nbase_model: gpt2\nsequence_len: 1024\nmicro_batch_size: 512\nlora_rr: 3\n';
    const uri = await server.open('axolotl.yaml', text);
    await server.published(uri);
    const all = ['does-not-fit', 'unknown-key'];
    const reported = () =>
      server
        .codes(uri)
        .filter((code) => all.includes(String(code)))
        .sort();
    assert.deepEqual(reported(), all);
    const typed = async (next: string, codes: readonly string[] | undefined) => {
      server.forget();
      const version = await server.change(uri, next);
      if (codes) {
        await server.published(uri, (params) => params.version === version);
        assert.deepEqual(reported(), codes);
      } else {
        await server.until(() => server.statuses.some((status) => status.version === version), 'a status');
        assert.equal(server.latest(uri), undefined);
      }
    };
    await typed(text.replace('512', '1'), ['unknown-key']);
    await typed(text.replace('512', '1').replace('lora_rr', 'lora_r'), []);
    await typed(text.replace('lora_rr: 3', 'lora_qq: 3'), ['does-not-fit']);
    // Other figures are the same verdict, and another slip waits for the save.
    await typed(text.replace('512', '256').replace('lora_rr: 3', 'lora_qqq: 3'), undefined);
    await typed(text, all);
    await typed(text.replace('micro_batch_size: 512', 'micro_batch_si'), undefined);
  });

  it('follow the typing where that is asked for, once for a burst of keys', async () => {
    server = await TestServer.start({ settings: { diagnostics: { run: 'onType' } } });
    const uri = await server.open('ds.json', RIGHT);
    await server.published(uri);
    server.forget();
    let version = 0;
    for (let i = 0; i < 10; i += 1) {
      version = await server.change(uri, RIGHT.replace('stage', `stag${'e'.repeat(i + 2)}`));
    }
    await server.published(uri, (params) => params.version === version);
    assert.equal(server.diagnostics.length, 1);
    assert.ok(server.codes(uri).includes('unknown-key'));
  });

  it('go away when the file is closed', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', WRONG);
    await server.published(uri);
    server.forget();
    await server.close(uri);
    assert.deepEqual((await server.published(uri)).diagnostics, []);
  });

  it('go away while typing when the file is no config any more', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', WRONG);
    await server.published(uri);
    server.forget();
    await server.change(uri, '');
    assert.deepEqual((await server.published(uri)).diagnostics, []);
    assert.equal(server.statuses.at(-1)?.status, undefined);
  });

  it('go away when the file is switched off by a comment', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.jsonc', WRONG);
    await server.published(uri);
    server.forget();
    await server.change(uri, `// oomlint: off\n${WRONG}`);
    assert.deepEqual((await server.published(uri)).diagnostics, []);
  });

  it('go away when the setting switches Oomlint off, and come back with it', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', WRONG);
    await server.published(uri, ({ diagnostics }) => diagnostics.length > 0);
    server.forget();
    server.settings = { enable: false };
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    assert.deepEqual((await server.published(uri)).diagnostics, []);
    assert.equal(await server.hover(uri, 2, 28), undefined);
    server.forget();
    server.settings = {};
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    await server.published(uri, ({ diagnostics }) => diagnostics.length > 0);
  });

  it('take settings that are pushed, from editors that cannot be asked', async () => {
    server = await TestServer.start({ configuration: false });
    const uri = await server.open('ds.json', WRONG);
    await server.published(uri, ({ diagnostics }) => diagnostics.length > 0);
    server.forget();
    await server.notify('workspace/didChangeConfiguration', { settings: { oomlint: { enable: false } } });
    assert.deepEqual((await server.published(uri)).diagnostics, []);
  });

  it('leave other files alone, without a problem', async () => {
    server = await TestServer.start();
    const other = await server.open('package.json', NO_CONFIG);
    await server.open('git:/project/ds.json', WRONG);
    await server.open('vscode-notebook-cell:/project/n.ipynb', WRONG);
    const yaml = 'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n';
    const uri = await server.open('untitled:Untitled-1', yaml, 'yaml');
    await server.published(uri);
    assert.equal(await server.hover(other, 1, 4), undefined);
    assert.deepEqual(server.askedSettings, [uri]);
    assert.deepEqual([...new Set(server.diagnostics.map((params) => params.uri))], [uri]);
    assert.deepEqual(
      server.statuses.filter((status) => status.uri === other).map(({ status }) => status),
      [undefined],
    );
  });

  it('belong to the linked file when that is what is wrong, and follow its save', async () => {
    const yaml = [
      'compute_environment: LOCAL_MACHINE',
      'distributed_type: DEEPSPEED',
      'deepspeed_config:',
      '  deepspeed_config_file: ds.json',
      'num_processes: 8',
      '',
    ].join('\n');
    const project =
      'targets:\n  gpu: H100-SXM5-80GB\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
    server = await TestServer.start({ files: { 'ds.json': RIGHT, 'oomlint.yaml': project } });
    const accelerate = await server.open('accelerate.yaml', yaml);
    const { version } = await server.published(accelerate);
    const linked = await server.open('ds.json', RIGHT);
    await server.published(linked);
    await server.request('textDocument/codeLens', { textDocument: { uri: accelerate } });
    server.forget();
    // What states nothing else for the other file is no news to it.
    await server.change(linked, `${RIGHT}\n`);
    await server.save(linked);
    await server.published(linked);
    assert.equal(server.latest(accelerate), undefined);
    await server.change(linked, RIGHT.replace('"stage": 3', '"stage": 0'));
    await server.save(linked);
    const problems = await server.published(accelerate);
    assert.equal(problems.version, version);
    assert.ok(server.codes(accelerate).includes('does-not-fit'), server.codes(accelerate).join());
    await server.until(() => server.lensRefreshes > 0, 'a refresh of lenses');
  });

  it('follow a linked file that changes, appears or goes on disk', async () => {
    const yaml =
      'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n';
    server = await TestServer.start();
    const uri = await server.open('accelerate.yaml', yaml);
    await server.published(uri);
    assert.ok(server.codes(uri).includes('missing-file'), server.codes(uri).join());
    server.forget();
    await server.write('ds.json', RIGHT);
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: server.uri('ds.json'), type: 1 }],
    });
    await server.published(uri);
    assert.ok(!server.codes(uri).includes('missing-file'));
  });

  it('point to the other file that takes part', async () => {
    const yaml =
      'distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\nmixed_precision: fp16\n';
    const json =
      '{ "train_micro_batch_size_per_gpu": 1, "bf16": { "enabled": true }, "zero_optimization": { "stage": 3 } }\n';
    server = await TestServer.start({ files: { 'ds.json': json } });
    const uri = await server.open('accelerate.yaml', yaml);
    const { diagnostics } = await server.published(uri);
    const related = diagnostics.flatMap(({ relatedInformation = [] }) => relatedInformation);
    assert.ok(
      related.some(({ location }) => location.uri === server.uri('ds.json')),
      JSON.stringify(diagnostics),
    );
  });

  it('judge the project file too', async () => {
    server = await TestServer.start();
    const uri = await server.open('oomlint.yaml', 'targets:\n  gpuu: H100\n');
    await server.published(uri);
    assert.deepEqual(server.codes(uri), ['unknown-field']);
  });
});
