import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { SERVER, TestServer } from './server-process';

const CONFIG = '{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 3 }\n}\n';

describe('server process', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  it('reports what it can do', async () => {
    server = await TestServer.start({ inBand: false });
    const { capabilities } = server;
    assert.deepEqual(capabilities.textDocumentSync, { openClose: true, change: 2, save: true });
    assert.equal(capabilities.hoverProvider, true);
    assert.deepEqual(capabilities.codeLensProvider, { resolveProvider: true });
    assert.deepEqual(capabilities.documentLinkProvider, { resolveProvider: false });
    assert.deepEqual(capabilities.inlayHintProvider, { resolveProvider: true });
    assert.deepEqual(capabilities.codeActionProvider, {
      codeActionKinds: ['quickfix', 'source.fixAll.oomlint', 'refactor.rewrite'],
      resolveProvider: true,
    });
    assert.equal(capabilities.workspace?.workspaceFolders?.supported, true);
  });

  it('ends with 0 after shutdown, and answers nothing in between', async () => {
    server = await TestServer.start({ inBand: false });
    await server.request('shutdown', undefined);
    await assert.rejects(server.hover(server.uri('a.json'), 0, 0), { code: -32600 });
    await server.notify('exit', undefined);
    assert.equal(await server.exited, 0);
  });

  it('ends with 1 when asked to exit without shutdown', async () => {
    server = await TestServer.start({ inBand: false });
    await server.notify('exit', undefined);
    assert.equal(await server.exited, 1);
  });

  it('ends when the editor is gone', async () => {
    server = await TestServer.start({ inBand: false });
    server.child.stdin.end();
    assert.notEqual(await server.exited, undefined);
  });

  it('refuses what it does not know', async () => {
    server = await TestServer.start({ inBand: false });
    await assert.rejects(server.request('oomlint/nonsense', {}), { code: -32601 });
    await assert.rejects(server.request('textDocument/rename', {}), { code: -32601 });
  });

  it('answers every cancelled request as cancelled', async () => {
    server = await TestServer.start({ inBand: false });
    const uri = await server.open('ds.json', CONFIG);
    await server.published(uri);
    const ids = Array.from({ length: 20 }, (_, i) => `hover-${i}`);
    const answers = server.rawAnswers(ids);
    // In one piece, as requests and their cancellations arrive at a server that is busy.
    server.writeRaw(
      ids.flatMap((id) => [
        { id, method: 'textDocument/hover', params: server.at(uri, 1, 8) },
        { method: '$/cancelRequest', params: { id } },
      ]),
    );
    assert.deepEqual(
      (await answers).map(({ error }) => error?.code),
      Array(20).fill(-32800),
    );
  });

  it('answers null about what is not open', async () => {
    server = await TestServer.start({ inBand: false });
    const uri = server.uri('missing.json');
    assert.equal(await server.hover(uri, 0, 0), undefined);
    assert.deepEqual(await server.request('textDocument/codeLens', { textDocument: { uri } }), []);
    assert.equal(await server.request('oomlint/breakdown', { uri }), null);
    assert.equal(await server.request('oomlint/breakdown', { uri: 'git:/x?y' }), null);
  });

  it('survives parameters that make no sense', async () => {
    server = await TestServer.start({ inBand: false });
    await server.request('textDocument/hover', {}).catch(() => undefined);
    await server.request('oomlint/breakdown', null).catch(() => undefined);
    await server.request('oomlint/breakdown', { uri: 7 }).catch(() => undefined);
    await server.notify('textDocument/didChange', { textDocument: { uri: 'file:///x' } });
    await server.notify('workspace/didChangeConfiguration', { settings: null });
    const uri = await server.open('ds.json', CONFIG);
    await server.published(uri);
  });
});

describe('server program', function () {
  this.timeout(30_000);

  it('prints its version and its usage', () => {
    const print = (option: string) => execFileSync(process.execPath, [SERVER, option], { encoding: 'utf8' });
    assert.match(print('--version'), /^\d+\.\d+\.\d+\n$/);
    assert.match(print('--help'), /--stdio/);
  });

  it("speaks over Node's channel, as the extension asks it to", async () => {
    const child = fork(SERVER, ['--node-ipc'], { stdio: 'ignore' });
    const answer = new Promise<{ result?: { serverInfo?: { name: string } } }>((resolve) => {
      child.once('message', (message) => resolve(message as object));
    });
    const params = { processId: null, rootUri: null, capabilities: {} };
    child.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    assert.equal((await answer).result?.serverInfo?.name, 'Oomlint');
    child.send({ jsonrpc: '2.0', id: 2, method: 'shutdown' });
    child.send({ jsonrpc: '2.0', method: 'exit' });
    assert.equal(await new Promise((resolve) => child.once('exit', resolve)), 0);
  });
});
