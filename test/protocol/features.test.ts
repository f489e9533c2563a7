import assert from 'node:assert/strict';
import type {
  CodeAction,
  CodeLens,
  CompletionItem,
  DocumentLink,
  TextDocumentEdit,
  TextEdit,
} from 'vscode-languageserver-protocol';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Breakdown, Opened } from '../../server/src/features/protocol';
import { TestServer } from './server-process';

const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": {
    "stage": 3,
    "reduce_bucket_size": 200000000
  }
}
`;
const ACCELERATE = `# oomlint: model=meta-llama/Llama-3.1-8B gpu=H100-SXM5-80GB micro-batch=1 sequence=4096
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds.json
num_machines: 1
num_processes: 8
`;
const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';

describe('features', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  const place = (text: string, word: string) => {
    const line = text.split('\n').findIndex((candidate) => candidate.includes(word));
    return [line, (text.split('\n')[line]?.indexOf(word) ?? 0) + 1] as const;
  };
  const lenses = (uri: string) =>
    server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
  const actions = (uri: string, line: number, character: number) => {
    const at = { line, character };
    const diagnostics = (server.latest(uri)?.diagnostics ?? []).filter(
      ({ range }) => range.start.line <= line && line <= range.end.line,
    );
    return server.request<CodeAction[]>('textDocument/codeAction', {
      textDocument: { uri },
      range: { start: at, end: at },
      context: { diagnostics },
    });
  };
  const applied = (action: CodeAction | undefined, uri: string, text: string) => {
    const changes = (action?.edit?.documentChanges ?? []).filter(
      (change): change is TextDocumentEdit => 'edits' in change && change.textDocument.uri === uri,
    );
    const edits = changes.flatMap((change) => change.edits as TextEdit[]);
    return TextDocument.applyEdits(TextDocument.create(uri, 'x', 1, text), edits);
  };

  it('hover on a DeepSpeed key: meaning, value, memory, default, documentation', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('ds.json', DEEPSPEED);
    const text = (await server.hover(uri, ...place(DEEPSPEED, 'reduce_bucket_size'))) ?? '';
    assert.match(
      text,
      /^\*\*`zero_optimization\.reduce_bucket_size`\*\* 200,000,000 elements — set here · DeepSpeed\n/,
    );
    // Six lines are seen at once: the title, a head with three values, and what the key weighs.
    assert.deepEqual(
      text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('| :'))
        .slice(0, 6)
        .map((line) => line[0]),
      ['*', '|', '|', '|', '|', 'M'],
    );
    assert.match(text, /^Memory: communication buffers [\d.]+\s[GM]iB of the [\d.]+\sGiB peak\.$/m);
    assert.match(text, /\*\*Default\*\* `500000000`/);
    assert.match(text, /\[DeepSpeed documentation\]\(https:\/\//);
    for (const [, address] of text.matchAll(/\]\(([^)]*)\)/g)) {
      assert.match(address ?? '', /^((https|file):\/\/|command:oomlint\.estimateMemory\?)/);
    }
  });

  it('hover on an Accelerate key', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED } });
    const uri = await server.open('accelerate.yaml', ACCELERATE);
    const text = (await server.hover(uri, ...place(ACCELERATE, 'num_processes'))) ?? '';
    assert.match(text, /^\*\*`num_processes`\*\* 8\sGPUs — set here · Accelerate/);
  });

  it('hover on a directive shows the model it names', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED } });
    const uri = await server.open('accelerate.yaml', ACCELERATE);
    const model = (await server.hover(uri, ...place(ACCELERATE, 'Llama-3.1'))) ?? '';
    assert.match(model, /\*\*Parameters\*\* 8\.03B/);
    assert.match(model, /32 layers/);
    const rest = (await server.hover(uri, ...place(ACCELERATE, 'sequence='))) ?? '';
    assert.match(rest, /`batch\.sequence` 4,096 tokens/);
  });

  it('hover can be switched off, and is plain text for editors that want it', async () => {
    server = await TestServer.start({ settings: { hover: { enabled: false } } });
    const off = await server.open('ds.json', DEEPSPEED);
    assert.equal(await server.hover(off, ...place(DEEPSPEED, 'stage')), undefined);
    await server.stop();
    server = await TestServer.start({
      capabilities: { textDocument: { hover: { contentFormat: ['plaintext'] } } },
    });
    const uri = await server.open('ds.json', DEEPSPEED);
    const text = (await server.hover(uri, ...place(DEEPSPEED, 'reduce_bucket_size'))) ?? '';
    assert.match(text, /^zero_optimization\.reduce_bucket_size · DeepSpeed\n/);
    assert.doesNotMatch(text, /\*\*|`|\\_/);
  });

  it('lens gives the answer for the text as typed', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('ds.json', DEEPSPEED);
    const [lens] = await lenses(uri);
    assert.match(
      lens?.command?.title ?? '',
      /^(Fits|Tight|Does not fit): [\d.]+\sof\s[\d.]+\sGiB · Llama-3\.1-8B · 8×H100 · ≈ [\d.]+ m?s\/step$/,
    );
    assert.match(lens?.command?.tooltip ?? '', /\nBetween [\d.]+\sGiB and [\d.]+\sGiB\.\n/);
    assert.equal(lens?.command?.command, 'oomlint.estimateMemory');
    assert.deepEqual(lens?.command?.arguments, [{ uri }]);
    await server.change(uri, DEEPSPEED.replace('"stage": 3', '"stage": 0'));
    const [later] = await lenses(uri);
    assert.notEqual(later?.command?.title, lens?.command?.title);
  });

  it('lens reports what is missing, and can be switched off', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', DEEPSPEED);
    const [lens] = await lenses(uri);
    assert.equal(
      lens?.command?.title,
      'Oomlint: needs model, sequence length, GPU and number of GPUs to estimate',
    );
    assert.equal(lens?.command?.command, 'oomlint.supply');
    assert.deepEqual(lens?.command?.arguments, [
      { uri, fields: ['model.id', 'batch.sequence', 'hardware.gpu', 'hardware.gpus'] },
    ]);
    server.settings = { codeLens: { enabled: false } };
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    assert.deepEqual(await lenses(uri), []);
  });

  it('lens takes what the settings supply', async () => {
    server = await TestServer.start({
      settings: { gpu: 'H100-SXM5-80GB', gpus: 8, model: 'meta-llama/Llama-3.1-8B', sequence: 4096 },
    });
    const uri = await server.open('ds.json', DEEPSPEED);
    assert.match((await lenses(uri))[0]?.command?.title ?? '', / GiB · Llama-3\.1-8B · 8×H100 · /);
  });

  it('the project file has hovers and completion of its own, but not beside its schema', async () => {
    const text =
      'targets:\n  gpu: H100-SXM5-80GB\nrules:\n  tight: \nfiles:\n  - match: /ds.json\n    model: meta-llama/Llama-3.1-8B\n    seq: 4096\n    gpus: 8\n    ch\n';
    server = await TestServer.start({ files: { 'oomlint.yaml': text } });
    const ds = await server.open('ds.json', DEEPSPEED);
    assert.match((await lenses(ds))[0]?.command?.title ?? '', / GiB · Llama-3\.1-8B · 8×H100/);
    const uri = await server.open('oomlint.yaml', text);
    const labels = async (line: number, character: number) => {
      const at = server.at(uri, line, character);
      const found = await server.request<CompletionItem[]>('textDocument/completion', at);
      return found.map(({ label }) => label);
    };
    const first = (await server.hover(uri, 0, 2)) ?? '';
    assert.match(first, /^\*\*`targets`\*\* · oomlint\.yaml\n\nThe hardware/);
    assert.match(
      first,
      /Read by 1 config that is open: ds\.json \((Fits|Tight|Does not fit): [\d.]+\sof\s[\d.]+\sGiB\)\./,
    );
    assert.match((await server.hover(uri, 5, 6)) ?? '', /^\*\*`match`\*\* `\/ds\.json` · /);
    assert.match((await server.hover(uri, 7, 5)) ?? '', /^\*\*`seq`\*\* `4096` · .*\n\n.*[Tt]okens/);
    assert.ok((await labels(1, 7)).includes('B200-SXM'), 'GPUs of the catalog');
    assert.deepEqual(await labels(3, 9), ['off', 'hint', 'information', 'warning', 'error']);
    assert.ok((await labels(9, 6)).includes('checkpointing'));
    await server.notify('oomlint/schemasServed', { served: true });
    assert.deepEqual(await labels(9, 6), []);
    assert.equal(await server.hover(uri, 0, 2), undefined);
  });

  it('links open the files that a config names', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED } });
    const uri = await server.open('accelerate.yaml', ACCELERATE);
    const links = await server.request<DocumentLink[]>('textDocument/documentLink', {
      textDocument: { uri },
    });
    assert.deepEqual(
      links.map(({ target, tooltip }) => ({ target, tooltip })),
      [{ target: server.uri('ds.json'), tooltip: 'Open the DeepSpeed config ds.json' }],
    );
    assert.equal(links[0]?.range.start.line, 4);
  });

  it('status and breakdown give one answer', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED } });
    const uri = await server.open('accelerate.yaml', ACCELERATE);
    await server.until(() => server.statuses.some((status) => status.uri === uri), 'a status');
    const reported = server.statuses.find((status) => status.uri === uri);
    const breakdown = await server.request<Breakdown | null>('oomlint/breakdown', { uri });
    assert.equal(reported?.version, 1);
    assert.equal(breakdown?.version, 1);
    assert.equal(reported?.status?.dialect, 'Accelerate');
    assert.equal(reported?.status?.verdict, breakdown?.verdict);
    assert.match(reported?.status?.text ?? '', /^[\d.]+\sof\s[\d.]+\sGiB$/);
    const sum = breakdown?.parts.reduce((total, part) => total + part.bytes, 0);
    assert.equal(sum, breakdown?.peak?.processBytes);
    assert.equal(breakdown?.model?.id, 'meta-llama/Llama-3.1-8B');
  });

  it('breakdown works for a file that is not open', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED, 'oomlint.yaml': PROJECT } });
    const breakdown = await server.request<Breakdown | null>('oomlint/breakdown', {
      uri: server.uri('ds.json'),
    });
    assert.equal(breakdown?.dialect.id, 'deepspeed');
    assert.equal(breakdown?.version, undefined);
  });

  it('opens the figures of a breakdown, at its peak and at a sample', async () => {
    server = await TestServer.start({ files: { 'ds.json': DEEPSPEED } });
    const uri = await server.open('accelerate.yaml', ACCELERATE);
    const breakdown = await server.request<Breakdown | null>('oomlint/breakdown', { uri });
    const peak = await server.request<Opened | null>('oomlint/detail', { uri });
    assert.equal(peak?.version, 1);
    assert.equal(peak?.memory.value, breakdown?.peak?.processBytes);
    assert.deepEqual(
      peak?.memory.children?.map(({ value }) => value).sort((a, b) => a - b),
      breakdown?.parts.map(({ bytes }) => bytes).sort((a, b) => a - b),
    );
    assert.ok(peak?.figures.some(({ name }) => name === 'FLOPs per step'));
    const sample = await server.request<Opened | null>('oomlint/detail', { uri, sample: 0 });
    assert.equal(sample?.memory.value, breakdown?.timeline[0]?.bytes);
    assert.equal(await server.request('oomlint/detail', { uri: server.uri('none.json') }), null);
  });

  it('a misspelt key is put right in one click', async () => {
    server = await TestServer.start();
    const text = DEEPSPEED.replace('"stage"', '"stagee"');
    const uri = await server.open('ds.json', text);
    await server.published(uri);
    const found = await actions(uri, ...place(text, 'stagee'));
    const fix = found.find(({ title }) => title === 'Change to "stage"');
    assert.equal(fix?.kind, 'quickfix');
    assert.equal(fix?.isPreferred, true);
    assert.deepEqual(
      fix?.diagnostics?.map(({ code }) => code),
      ['unknown-key'],
    );
    assert.equal(applied(fix, uri, text), DEEPSPEED);
    server.forget();
    await server.change(uri, DEEPSPEED);
    await server.save(uri);
    await server.published(uri);
    assert.ok(!server.codes(uri).includes('unknown-key'));
  });

  it('missing facts are supplied in one click, and the answer follows', async () => {
    server = await TestServer.start();
    const text = ACCELERATE.slice(ACCELERATE.indexOf('\n') + 1);
    await server.write('ds.json', DEEPSPEED);
    const uri = await server.open('accelerate.yaml', text);
    await server.published(uri);
    const found = await actions(uri, 0, 0);
    assert.match(found[0]?.title ?? '', /^Choose model, /);
    assert.equal(found[0]?.command?.command, 'oomlint.supply');
    const directive = found.find(({ title }) => title.startsWith('Add the directive'));
    const supplied = applied(directive, uri, text);
    assert.match(supplied, /^# oomlint: model=\S+ .*gpu=\S+.*\ncompute_environment/);
    await server.change(uri, supplied);
    assert.match((await lenses(uri))[0]?.command?.title ?? '', / of\s[\d.]+\sGiB · /);
    const project = found.find(({ title }) => title.startsWith('Create oomlint.yaml'));
    const created = project?.edit?.documentChanges?.[0];
    assert.deepEqual(created, {
      kind: 'create',
      uri: server.uri('oomlint.yaml'),
      options: { ignoreIfExists: true },
    });
    assert.match(
      applied(project, server.uri('oomlint.yaml'), ''),
      /^files:\n {2}- match: \/accelerate\.yaml\n {4}model: /,
    );
  });

  it('actions keep to what the client can carry out', async () => {
    server = await TestServer.start({ initializationOptions: {}, capabilities: {} });
    const text = '// c\n{ "zero_optimization": { "stagee": 3 } }\n';
    const uri = await server.open('ds.json', text);
    await server.published(uri);
    const found = await actions(uri, 0, 0);
    assert.ok(found.every(({ command }) => command === undefined));
    assert.ok(found.every(({ edit }) => edit?.documentChanges === undefined && edit?.changes));
    assert.ok(found.some(({ title }) => title.startsWith('Add the directive // oomlint:')));
    assert.ok(!found.some(({ title }) => title.includes('oomlint.yaml')));
  });

  it('actions of another kind are not offered', async () => {
    server = await TestServer.start();
    const uri = await server.open('ds.json', DEEPSPEED);
    const at = { line: 0, character: 0 };
    const none = await server.request<CodeAction[]>('textDocument/codeAction', {
      textDocument: { uri },
      range: { start: at, end: at },
      context: { diagnostics: [], only: ['source.organizeImports'] },
    });
    assert.deepEqual(none, []);
  });
});
