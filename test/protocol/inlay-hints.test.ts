import assert from 'node:assert/strict';
import type { CodeLens, InlayHint, InlayHintLabelPart } from 'vscode-languageserver-protocol';
import type { Catalog } from '../../server/src/features/catalog-protocol';
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
const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
const ALL = { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } };

describe('inlay hints', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  const hintsOf = (uri: string, range = ALL) =>
    server.request<InlayHint[]>('textDocument/inlayHint', { textDocument: { uri }, range });
  const partOf = ({ label }: InlayHint): InlayHintLabelPart => {
    assert.ok(Array.isArray(label) && label[0], JSON.stringify(label));
    return label[0];
  };
  const textOf = ({ label }: InlayHint) =>
    typeof label === 'string' ? label : label.map(({ value }) => value).join('');
  const at = (hints: readonly InlayHint[], line: number) => {
    const hint = hints.find(({ position }) => position.line === line);
    assert.ok(hint, JSON.stringify(hints));
    return hint;
  };
  const start = async (options: Parameters<typeof TestServer.start>[0] = {}) => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT }, ...options });
    return server.open('ds.json', DEEPSPEED);
  };

  it('bring the status with them: it waits for a pause in typing only where nothing was worked out yet', async () => {
    const asked = await start();
    const left = await server.open('left.json', DEEPSPEED);
    await server.settled();
    // The one that is left alone changes first, so its pause ends first. Ten times, as a machine may do other things meanwhile.
    const first: string[] = [];
    for (let micro = 2; micro < 12; micro++) {
      const known = server.statuses.length;
      const text = DEEPSPEED.replace('_gpu": 1', `_gpu": ${micro}`);
      await server.change(left, text);
      await server.change(asked, text);
      await hintsOf(asked);
      await server.until(() => server.statuses.length > known + 1, 'both statuses');
      first.push(server.statuses[known]?.uri ?? '');
    }
    assert.ok(first.includes(asked), first.join('\n'));
  });

  it('stand behind values, open the panel at their part, and are resolved when asked', async () => {
    const uri = await start();
    const stage = at(await hintsOf(uri), 5);
    assert.equal(stage.position.character, '    "stage": 3,'.length);
    assert.equal(stage.tooltip, undefined);
    const part = partOf(stage);
    assert.match(part.value, /^ [█-▏]+ [a-z ,]+( and \d more:)? [\d.]+\sGiB$/u);
    assert.equal(part.command?.command, 'oomlint.estimateMemory');
    const [argument] = part.command?.arguments ?? [];
    assert.equal(argument.uri, uri);
    assert.deepEqual(argument.position, { line: 5, character: '    "stage": 3'.length }, 'of its key');
    const resolved = await server.request<InlayHint>('inlayHint/resolve', stage);
    const tooltip = resolved.tooltip;
    assert.ok(typeof tooltip === 'object');
    assert.equal(tooltip.kind, 'markdown');
    assert.match(tooltip.value, /^\*\*`zero_optimization\.stage`\*\* · at the peak of\s[\d.]+\sGiB, in the /);
    // What the bar of the hint is of.
    assert.match(tooltip.value, /^[\d.]+\sof\s[\d.]+\sGiB of one GPU\.$/m);
    assert.match(tooltip.value, /- \*\*optimizer states\*\* [\d.]+\sGiB = `[^`]*8[^`]*`/);
    // What other stages would give, the present one marked.
    assert.match(tooltip.value, /\| \*\*▸ .*3.*\*\* \| \*\*[\d.]+&nbsp;GiB\*\*/);
    assert.match(tooltip.value, /\| .*2.* \| [\d.]+&nbsp;GiB \|/);
  });

  it('follow the text: no hint of an older text gets words of the newer one', async () => {
    const uri = await start();
    const old = at(await hintsOf(uri), 5);
    await server.change(uri, DEEPSPEED.replace('"stage": 3', '"stage": 0'));
    const late = await server.request<InlayHint>('inlayHint/resolve', old);
    assert.equal(late.tooltip, undefined);
    const fresh = at(await hintsOf(uri), 5);
    assert.notEqual(textOf(fresh), textOf(old));
    assert.ok((await server.request<InlayHint>('inlayHint/resolve', fresh)).tooltip);
  });

  it('answer for the asked lines alone', async () => {
    const uri = await start({ settings: { inlayHints: { show: 'all' } } });
    const line = { start: { line: 6, character: 0 }, end: { line: 6, character: 80 } };
    assert.deepEqual(
      (await hintsOf(uri, line)).map(({ position }) => position.line),
      [6],
    );
    assert.ok((await hintsOf(uri)).length > 3);
  });

  it('follow the setting at once', async () => {
    const uri = await start({ settings: { inlayHints: { show: 'off' } } });
    assert.deepEqual(await hintsOf(uri), []);
    server.settings = { inlayHints: { show: 'all' } };
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    await server.until(() => server.hintRefreshes > 0, 'a refresh of the hints');
    const all = await hintsOf(uri);
    server.settings = {};
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    const few = await hintsOf(uri);
    assert.ok(few.length > 0 && few.length < all.length, `${few.length} of ${all.length}`);
  });

  it('are asked for anew when another file changes them', async () => {
    const uri = await start();
    const before = textOf(at(await hintsOf(uri), 1));
    const refreshes = server.hintRefreshes;
    await server.write('oomlint.yaml', PROJECT.replace('4096', '8192'));
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: server.uri('oomlint.yaml'), type: 2 }],
    });
    await server.until(() => server.hintRefreshes > refreshes, 'a refresh of the hints');
    assert.notEqual(textOf(at(await hintsOf(uri), 1)), before);
  });

  it('are plain text where the editor has no panel', async () => {
    const uri = await start({ initializationOptions: {} });
    const hint = at(await hintsOf(uri), 5);
    assert.equal(typeof hint.label, 'string');
  });

  it('say nothing about files that are no configs', async () => {
    await start();
    assert.deepEqual(await hintsOf(await server.open('data.json', '{ "a": 1 }\n')), []);
  });

  it('no problems are published where they are switched off, and they come back', async () => {
    const bad = DEEPSPEED.replace('"stage"', '"stagee"');
    server = await TestServer.start({ settings: { diagnostics: { run: 'off' } } });
    const uri = await server.open('ds.json', bad);
    await server.until(() => server.statuses.some((status) => status.uri === uri), 'a status');
    assert.equal(server.latest(uri), undefined);
    server.settings = {};
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    await server.published(uri, ({ diagnostics }) => diagnostics.length > 0);
    server.settings = { diagnostics: { run: 'off' } };
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    await server.until(() => server.latest(uri)?.diagnostics.length === 0, 'cleared problems');
  });

  it('speak Russian to an editor that does', async () => {
    const uri = await start({ initializationOptions: { trusted: false, language: 'ru' } });
    const all = await hintsOf(uri);
    assert.match(all.map(textOf).join(' '), /[\d,]+\sГиБ {2}[█-▏]+ состояния модели/u);
    const lenses = await server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    assert.match(
      lenses.map(({ command }) => command?.title).join(' '),
      /^Помещается: [\d,]+ из [\d,]+\sГиБ · /,
    );
    const tooltip = (await server.request<InlayHint>('inlayHint/resolve', at(all, 5))).tooltip;
    assert.ok(typeof tooltip === 'object');
    assert.match(tooltip.value, /на пике [\d,]+\sГиБ, момент: /);
  });

  it('the catalog lists models, and finds no GPU where it may not ask', async () => {
    await start();
    const catalog = await server.request<Catalog>('oomlint/catalog', {});
    assert.ok(catalog.models.some(({ id }) => id === 'meta-llama/Llama-3.1-8B'));
    assert.equal(catalog.detected, undefined);
    assert.deepEqual(catalog.cached, []);
  });
});
