import assert from 'node:assert/strict';
import type { CodeLens, InlayHint } from 'vscode-languageserver-protocol';
import { TestServer } from './server-process';

const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
const zero = (bucket: number, micro: number | 'auto' = 1, stage = 3) => `{
  "train_micro_batch_size_per_gpu": ${JSON.stringify(micro)},
  "gradient_accumulation_steps": ${micro === 'auto' ? '"auto"' : 4},
  "bf16": { "enabled": true },
  "zero_optimization": {
    "stage": ${stage},
    "reduce_bucket_size": ${bucket}
  }
}
`;
const recipe = (micro: number, deepspeed = 'ds_a.json') => `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: ${micro}
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
bf16: true
max_length: 2048
output_dir: out
deepspeed: ${deepspeed}
`;
const ALL = { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } };

describe('configs of one folder', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  const lensOf = async (uri: string) => {
    const lenses = await server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    return lenses.map(({ command }) => command?.title ?? '').join(' | ');
  };
  /** Opens a config and has everything drawn that an editor draws. */
  const show = async (name: string, text: string) => {
    const uri = await server.open(name, text);
    await server.published(uri);
    await draw(uri);
    return uri;
  };
  const draw = async (uri: string) => {
    await lensOf(uri);
    await server.request<InlayHint[]>('textDocument/inlayHint', { textDocument: { uri }, range: ALL });
  };
  const start = async (files: Record<string, string> = {}) => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT, ...files } });
  };
  const quiet = async () => {
    await server.settled();
    server.forget();
    return { lenses: server.lensRefreshes, hints: server.hintRefreshes };
  };
  const sentTo = (uri: string) => ({
    diagnostics: server.diagnostics.filter((params) => params.uri === uri).length,
    statuses: server.statuses.filter((params) => params.uri === uri).length,
  });

  it('do not hear of each other where neither names the other', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000));
    const b = await show('ds_b.json', zero(200_000_000));
    const before = await quiet();
    for (let i = 1; i <= 5; i += 1) {
      await server.change(b, zero(200_000_000 + i * 1000));
      await draw(b);
      await server.settled();
    }
    await server.save(b);
    await server.published(b);
    await server.settled();
    assert.deepEqual({ lenses: server.lensRefreshes, hints: server.hintRefreshes }, before);
    assert.deepEqual(sentTo(a), { diagnostics: 0, statuses: 0 });
    assert.ok(sentTo(b).statuses >= 5);
  });

  it('do not hear of a neighbour that mentions them without using them', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000));
    const b = await show('note.yaml', recipe(1, 'ds_other.json'));
    const before = await quiet();
    await server.change(b, `${recipe(1, 'ds_other.json')}# not ds_a.json\n`);
    await draw(b);
    await server.settled();
    assert.deepEqual({ lenses: server.lensRefreshes, hints: server.hintRefreshes }, before);
    assert.deepEqual(sentTo(a), { diagnostics: 0, statuses: 0 });
  });

  it('count above a project file where they read it, not where they looked whether there is one', async () => {
    await start({ 'more/oomlint.yaml': PROJECT, 'more/ds_c.json': zero(200_000_000) });
    await show('ds_a.json', zero(200_000_000));
    await show('other/ds_b.json', zero(200_000_000));
    await show('more/ds_c.json', zero(200_000_000));
    const upper = await server.open('oomlint.yaml', PROJECT);
    const nearer = await server.open('more/oomlint.yaml', PROJECT);
    assert.match(await lensOf(upper), /^Used by 2 configs/);
    assert.match(await lensOf(nearer), /^Used by 1 config(?!s)/);
  });

  it('hear of an edit of the recipe that uses them', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000, 'auto'));
    const user = await show('recipe.yaml', recipe(1));
    await server.settled();
    await draw(a);
    const was = await lensOf(a);
    assert.match(was, /in the run of recipe\.yaml/);
    const before = await quiet();
    await server.change(user, recipe(4));
    await server.until(() => server.lensRefreshes > before.lenses, 'a refresh of the lenses');
    await server.until(() => server.hintRefreshes > before.hints, 'a refresh of the hints');
    assert.notEqual(await lensOf(a), was);
    assert.ok(sentTo(a).statuses > 0);
  });

  it('let the recipe hear of what they say, and of nothing where they say the same', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000, 'auto'));
    const user = await show('recipe.yaml', recipe(1));
    const was = await lensOf(user);
    const before = await quiet();
    // A blank line at the end states nothing.
    await server.change(a, `${zero(200_000_000, 'auto')}\n`);
    await draw(a);
    await server.settled();
    assert.deepEqual({ lenses: server.lensRefreshes, hints: server.hintRefreshes }, before);
    await server.change(a, zero(200_000_000, 'auto', 2));
    await server.until(() => server.lensRefreshes > before.lenses, 'a refresh of the lenses');
    await server.until(() => server.hintRefreshes > before.hints, 'a refresh of the hints');
    assert.notEqual(await lensOf(user), was);
  });

  it('hear of a neighbour that comes to use them, and of one that no longer does', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000, 'auto'));
    const user = await show('recipe.yaml', recipe(1, 'ds_other.json'));
    await draw(a);
    assert.doesNotMatch(await lensOf(a), /in the run of/);
    let before = await quiet();
    await server.change(user, recipe(1));
    await server.until(() => server.lensRefreshes > before.lenses, 'a refresh of the lenses');
    assert.match(await lensOf(a), /in the run of recipe\.yaml/);
    await draw(a);
    before = await quiet();
    await server.change(user, recipe(1, 'ds_other.json'));
    await server.until(() => server.lensRefreshes > before.lenses, 'a refresh of the lenses');
    assert.doesNotMatch(await lensOf(a), /in the run of/);
  });

  it('hear of a file that comes to lie beside them', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000, 'auto'));
    const before = await quiet();
    await server.write('recipe.yaml', recipe(1));
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: server.uri('recipe.yaml'), type: 1 }],
    });
    await server.until(() => server.lensRefreshes > before.lenses, 'a refresh of the lenses');
    assert.match(await lensOf(a), /in the run of recipe\.yaml/);
    await server.write('data.json', '{ "rows": [] }\n');
    await draw(a);
    const again = await quiet();
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: server.uri('data.json'), type: 1 }],
    });
    await server.settled();
    assert.deepEqual({ lenses: server.lensRefreshes, hints: server.hintRefreshes }, again);
    assert.equal(sentTo(a).diagnostics, 0);
  });

  it('an edit and its undoing before anybody looked are no news', async () => {
    await start();
    const a = await show('ds_a.json', zero(200_000_000, 'auto'));
    const user = await show('recipe.yaml', recipe(1));
    await server.settled();
    await draw(a);
    const before = await quiet();
    await server.change(user, recipe(4));
    await server.change(user, recipe(1));
    await server.settled();
    assert.deepEqual({ lenses: server.lensRefreshes, hints: server.hintRefreshes }, before);
    assert.deepEqual(sentTo(a), { diagnostics: 0, statuses: 0 });
  });
});
