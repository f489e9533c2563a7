import assert from 'node:assert/strict';
import type { CodeAction, CodeLens, TextDocumentEdit, TextEdit } from 'vscode-languageserver-protocol';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Found } from '../../server/src/features/search-protocol';
import { TestServer } from './server-process';

const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 1, // per GPU
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": {
    "stage": 1
  }
}
`;
const PROJECT =
  'targets:\n  gpu: A100-SXM4-40GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 2048\n';
const RECIPE = `# oomlint: gpu=A100-SXM4-80GB gpus=8
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 16
gradient_accumulation_steps: 1
max_length: 16384
bf16: true
learning_rate: 2.0e-5
gradient_checkpointing: true
dataset_name: x/y
deepspeed: ds.json # the other half
`;
const OTHER = '{\n  "train_micro_batch_size_per_gpu": 16,\n  "zero_optimization": { "stage": 3 }\n}\n';

/** An editor that asks for edits when an action is taken. */
const LAZY = {
  workspace: {
    configuration: true,
    workspaceEdit: { documentChanges: true, changeAnnotationSupport: { groupsOnLabel: true } },
  },
  textDocument: {
    hover: { contentFormat: ['markdown' as const] },
    codeAction: {
      dataSupport: true,
      resolveSupport: { properties: ['edit'] },
      codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'source.fixAll'] } },
    },
  },
};

describe('advice', function () {
  this.timeout(60_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  /** Actions where the verdict is shown. */
  const actions = async (uri: string, only?: string[]) => {
    const diagnostics = server.latest(uri)?.diagnostics ?? [];
    const verdict = diagnostics.find(({ code }) => code === 'does-not-fit' || code === 'tight');
    assert.ok(verdict, JSON.stringify(diagnostics));
    return server.request<CodeAction[]>('textDocument/codeAction', {
      textDocument: { uri },
      range: verdict.range,
      context: { diagnostics: [verdict], ...(only ? { only } : {}) },
    });
  };
  /** The text changes and is saved; what is published about it is there. */
  const changed = async (uri: string, text: string) => {
    const version = await server.change(uri, text);
    await server.save(uri);
    await server.published(uri, (published) => published.version === version);
  };
  const applied = (action: CodeAction | undefined, uri: string, text: string) => {
    const changes = (action?.edit?.documentChanges ?? []) as TextDocumentEdit[];
    const edits = changes
      .filter(({ textDocument }) => textDocument.uri === uri)
      .flatMap((change) => change.edits as TextEdit[]);
    return TextDocument.applyEdits(TextDocument.create(uri, 'x', 1, text), edits);
  };

  it('fixes state their result, and the diagnostic is gone once one is taken', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('ds.json', DEEPSPEED);
    await server.published(uri);
    const fixes = (await actions(uri)).filter(({ title }) => /GiB, fits/.test(title));
    assert.ok(fixes.length > 0);
    const preferred = fixes.filter(({ isPreferred }) => isPreferred);
    assert.equal(preferred.length, 1);
    assert.doesNotMatch(preferred[0]?.title ?? '', /By hand/);
    assert.equal(fixes[0]?.diagnostics?.length, 1);
    for (const fix of fixes) {
      const after = applied(fix, uri, DEEPSPEED);
      assert.match(after, /\/\/ per GPU/, fix.title);
    }
    await changed(uri, applied(preferred[0], uri, DEEPSPEED));
    assert.deepEqual(
      (server.latest(uri)?.diagnostics ?? []).filter(
        ({ code }) => code === 'does-not-fit' || code === 'tight',
      ),
      [],
    );
  });

  it('edits come when an action is taken, and its title states where several files change', async () => {
    server = await TestServer.start({ files: { 'ds.json': OTHER }, capabilities: LAZY });
    const uri = await server.open('sft.yaml', RECIPE);
    await server.published(uri);
    const shown = await actions(uri, ['quickfix']);
    const lazy = shown.filter(({ title }) => /GiB, fits/.test(title));
    assert.ok(lazy.length > 0 && lazy.every(({ edit, data }) => edit === undefined && data !== undefined));
    let several = 0;
    for (const action of lazy) {
      const resolved = await server.request<CodeAction>('codeAction/resolve', action);
      const changes = (resolved.edit?.documentChanges ?? []) as TextDocumentEdit[];
      assert.ok(changes.length > 0, action.title);
      const named = /, in ([^,]+\.(?:yaml|json)(?:(?:, | and )[^,]+)*)$/.exec(action.title)?.[1];
      assert.equal(named?.split(/, | and /).length ?? 1, changes.length, action.title);
      if (changes.length > 1) several++;
      // Edits to be confirmed would each have to be ticked.
      assert.equal(resolved.edit?.changeAnnotations, undefined);
    }
    assert.ok(several > 0);
    // The text has changed meanwhile: an old action is worth nothing.
    await server.change(uri, RECIPE.replace('16', '8'));
    const stale = await server.request<CodeAction>('codeAction/resolve', lazy[0]);
    assert.equal(stale.edit, undefined);
  });

  it('old spellings are put right together, on request', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const text = DEEPSPEED.replace(
      '"stage": 1',
      '"stage": 1,\n    "stage3_gather_fp16_weights_on_model_save": true',
    );
    const uri = await server.open('ds.json', text);
    await server.published(uri);
    const [all] = await actions(uri, ['source.fixAll']);
    assert.equal(all?.kind, 'source.fixAll.oomlint');
    assert.match(applied(all, uri, text), /"stage3_gather_16bit_weights_on_model_save": true/);
    assert.ok((await actions(uri)).every(({ kind }) => kind === 'quickfix'));
  });

  it('hovers show neighbouring values, and a lens the largest micro batch', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('ds.json', DEEPSPEED);
    const line = DEEPSPEED.split('\n').findIndex((row) => row.includes('"stage"'));
    const text = (await server.hover(uri, line, 6)) ?? '';
    assert.match(text, /\| ZeRO stage \| Peak \| \| &nbsp;&nbsp;Speed \|/);
    // All stages, in their order, each with its outcome.
    const rows = [...text.matchAll(/^\| (?:\*\*▸ )?(\d)(?:\*\*)? \| .*GiB.*(?:fit|tight)/gm)].map(
      ([, stage]) => stage,
    );
    assert.deepEqual(rows, ['0', '1', '2', '3']);
    assert.match(text, /\*\*▸ 1\*\*/);
    assert.match(text, /No stage shards activations/);
    const lenses = await server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    const second = lenses[1];
    assert.ok(second);
    assert.equal(second.data, uri);
    const later = { range: second.range, data: second.data };
    const lens = await server.request<CodeLens>('codeLens/resolve', later);
    // What is known is not asked for again: the line is drawn once.
    const again = await server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    assert.deepEqual(again[1], lens);
    assert.ok(second.command === undefined || second.command.title === lens.command?.title);
    assert.match(
      lens.command?.title ?? '',
      /^(largest micro batch that fits: \d+|(not even|even) a micro batch of 1 (fits|is tight))$/,
    );
    // An editor may ask about a lens of a text that has no estimate any more.
    await server.change(uri, '{ "name": "no config" }\n');
    const late = await server.request<CodeLens>('codeLens/resolve', later);
    assert.equal(late.command?.title, 'Open the memory breakdown');
    assert.equal(late.command?.command, 'oomlint.estimateMemory');
  });

  it('a click on the largest micro batch writes it; where the run has it already, it leads to the panel', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT.replace('40GB', '80GB') } });
    const small = DEEPSPEED.replace('"stage": 1', '"stage": 3');
    const uri = await server.open('ds.json', small);
    const lens = await server.request<CodeLens>('codeLens/resolve', {
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      data: uri,
    });
    const micro = Number(/fits: (\d+)$/.exec(lens.command?.title ?? '')?.[1]);
    assert.equal(lens.command?.command, 'oomlint.writeRun');
    assert.deepEqual(lens.command?.arguments, [
      { uri, values: { 'batch.micro': micro }, label: `Micro batch ${micro}` },
    ]);
    const text = small.replace(/("train_micro_batch_size_per_gpu": )\d+/, `$1${micro}`);
    assert.notEqual(text, small);
    await server.change(uri, text);
    const same = await server.request<CodeLens>('codeLens/resolve', lens);
    assert.equal(same.command?.title, lens.command?.title);
    assert.equal(same.command?.command, 'oomlint.estimateMemory');
  });

  it('a search gives runs that fit, and one of them can be written', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('ds.json', DEEPSPEED);
    const found = await server.request<Found | null>('oomlint/search', { uri });
    const [option] = found?.front ?? [];
    assert.ok(option && found && found.fitting > 0);
    const written = await server.request<{ edit?: CodeAction['edit']; left: unknown[] }>('oomlint/apply', {
      uri,
      values: option.changes,
    });
    assert.deepEqual(written.left, []);
    await changed(uri, applied({ title: '', edit: written.edit }, uri, DEEPSPEED));
    assert.deepEqual(
      (server.latest(uri)?.diagnostics ?? []).filter(({ code }) => code === 'does-not-fit'),
      [],
    );
  });
});
