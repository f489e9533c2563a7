import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { SEEDS } from './seeds';

const SERVER = path.resolve('server/dist/server.js');
const PATIENCE_MS = 10_000;

/** A sequence of numbers that a seed decides (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const ODD: readonly unknown[] = [
  null,
  undefined,
  -1,
  1e9,
  '',
  'x',
  {},
  [],
  { line: -1, character: -1 },
  { line: 1e9, character: 1e9 },
  true,
];
const METHODS = [
  'hover',
  'completion',
  'codeLens',
  'codeAction',
  'inlayHint',
  'documentLink',
  'documentSymbol',
  'nothing',
];

/**
 * Speaks to a server as no editor should: odd parameters, unknown methods, edits of documents that are not open, requests that
 * are cancelled at once, broken JSON. It has to live on, and to answer what is asked rightly in the end.
 */
export async function abuse(seed: number, messages: number): Promise<void> {
  const next = numbers(seed);
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T;
  const server = spawn(process.execPath, [SERVER, '--stdio'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const answers = new Map<number, unknown>();
  let received = '';
  let errors = '';
  server.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  server.stdout.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    for (;;) {
      const head = /^Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(received.slice(0, 200));
      const length = Number(head?.[1]);
      if (!head || received.length < head[0].length + length) return;
      const message = JSON.parse(received.slice(head[0].length, head[0].length + length));
      received = received.slice(head[0].length + length);
      if (message.method === undefined) answers.set(message.id, message);
      else if (message.id !== undefined) send({ id: message.id, result: null });
    }
  });
  const raw = (body: string) =>
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  const send = (message: object) => raw(JSON.stringify({ jsonrpc: '2.0', ...message }));
  let id = 0;
  const request = (method: string, params?: unknown) => {
    send({ id: ++id, method, params });
    return id;
  };
  const answered = async (wanted: number, what: string) => {
    const late = Date.now() + PATIENCE_MS;
    while (!answers.has(wanted)) {
      assert.equal(server.exitCode, null, `the server ended: ${errors.slice(0, 300)}`);
      assert.ok(Date.now() < late, `no answer to ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return answers.get(wanted) as { result?: unknown; error?: { message: string } };
  };
  try {
    const started = await answered(
      request('initialize', {
        processId: null,
        rootUri: null,
        ...(seed % 2 === 0 ? { capabilities: {} } : {}),
      }),
      'initialize',
    );
    assert.equal(started.error, undefined, started.error?.message);
    send({ method: 'initialized', params: {} });
    const uris = [
      'file:///w/a.json',
      'file:///w/%zz.yaml',
      'untitled:Untitled-1',
      'x',
      '',
      'file:',
      'http://[',
      'file:///w/\udfff.json',
    ];
    for (let i = 0; i < messages; i++) {
      const uri = pick(uris);
      const [, , text] = pick(SEEDS);
      const textDocument =
        next(4) === 0
          ? pick(ODD)
          : { uri, languageId: pick(['json', 'yaml', 'x']), version: next(9) - 2, text };
      const position = next(2) === 0 ? pick(ODD) : { line: next(20), character: next(40) };
      const range = next(2) === 0 ? pick(ODD) : { start: position, end: position };
      switch (next(8)) {
        case 0:
          send({ method: 'textDocument/didOpen', params: next(5) === 0 ? pick(ODD) : { textDocument } });
          break;
        case 1:
          send({
            method: 'textDocument/didChange',
            params: {
              textDocument,
              contentChanges: next(3) === 0 ? pick(ODD) : [{ range, text: pick(['', '{', text]) }],
            },
          });
          break;
        case 2:
          send({ method: 'textDocument/didClose', params: { textDocument } });
          break;
        case 3:
          send({ method: '$/cancelRequest', params: { id: id - next(3) } });
          break;
        case 4:
          raw(pick(['{', '[]', 'null', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":{},"method":1}']));
          break;
        case 5:
          send({
            method: pick([
              'workspace/didChangeConfiguration',
              'workspace/didChangeWatchedFiles',
              'x/y',
              '$/setTrace',
            ]),
            params: pick(ODD),
          });
          break;
        default:
          request(
            `textDocument/${pick(METHODS)}`,
            next(6) === 0 ? pick(ODD) : { textDocument, position, range, context: pick(ODD) },
          );
      }
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const [, , text] = SEEDS[0] ?? ['', '', '{}'];
    const uri = 'file:///w/last.json';
    send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'json', version: 1, text } },
    });
    const last = await answered(
      request('textDocument/hover', { textDocument: { uri }, position: { line: 2, character: 5 } }),
      'the last hover',
    );
    assert.ok(
      JSON.stringify(last.result ?? '').includes('train_micro_batch_size_per_gpu'),
      JSON.stringify(last).slice(0, 300),
    );
  } finally {
    server.kill('SIGKILL');
  }
}
