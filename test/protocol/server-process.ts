import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import type {
  FileSystemWatcher,
  InitializeResult,
  PublishDiagnosticsParams,
  RegistrationParams,
  ServerCapabilities,
} from 'vscode-languageserver-protocol';
import { STATUS_NOTIFICATION, type StatusParams } from '../../server/src/features/protocol';

/** The bundle that ships, run as an editor runs it. */
export const SERVER = path.resolve('server/dist/server.js');
const ANSWER_LIMIT_MS = 15_000;

/** How long a server may stay without output with work still to come: longer than it waits for typing to pause. */
const QUIET_MS = 300;

interface Options {
  /** The server in this process, over streams: its breakpoints are met, and it answers what the spawned one does. */
  readonly inBand?: boolean;
  readonly files?: Readonly<Record<string, string>>;
  /** A folder that is there already, and stays. */
  readonly folder?: string;
  readonly settings?: Record<string, unknown>;
  /** Without it the client cannot be asked for settings. */
  readonly configuration?: boolean;
  readonly capabilities?: Record<string, unknown>;
  /** Addresses of the workspace's folders; the server's own where they are left out. */
  readonly folders?: readonly string[];
  readonly initializationOptions?: Record<string, unknown>;
}

/** A server with a folder of its own, spoken to over streams: a process, or in this one where `OOMLINT_IN_BAND` is set. */
export class TestServer {
  readonly diagnostics: PublishDiagnosticsParams[] = [];
  readonly statuses: StatusParams[] = [];
  readonly log: string[] = [];
  /** Files whose settings the server asked for. */
  readonly askedSettings: string[] = [];
  settings: Record<string, unknown>;
  /** What the server asked to be watched. */
  readonly watchers: FileSystemWatcher[] = [];
  lensRefreshes = 0;
  hintRefreshes = 0;
  capabilities: ServerCapabilities = {};
  #version = 0;
  /** Messages that the server sent by itself. */
  #heard = 0;
  #ownsFolder = true;
  #waiting: { test: () => unknown; resolve: () => void }[] = [];

  private constructor(
    readonly spawned: ChildProcessWithoutNullStreams | undefined,
    readonly connection: MessageConnection,
    readonly folder: string,
    settings: Record<string, unknown>,
  ) {
    this.settings = settings;
    connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
      this.diagnostics.push(params);
      this.#changed();
    });
    connection.onNotification(STATUS_NOTIFICATION, (params: StatusParams) => {
      this.statuses.push(params);
      this.#changed();
    });
    connection.onNotification('window/logMessage', ({ message }: { message: string }) => {
      this.log.push(message);
      this.#changed();
    });
    connection.onRequest('workspace/configuration', ({ items }: { items: { scopeUri?: string }[] }) => {
      this.askedSettings.push(...items.map(({ scopeUri = '' }) => scopeUri));
      return items.map(() => this.settings);
    });
    connection.onRequest('client/registerCapability', ({ registrations }: RegistrationParams) => {
      for (const { method, registerOptions } of registrations)
        if (method === 'workspace/didChangeWatchedFiles') this.watchers.push(...registerOptions.watchers);
      this.#changed();
      return null;
    });
    connection.onRequest('workspace/codeLens/refresh', () => {
      this.lensRefreshes += 1;
      this.#changed();
      return null;
    });
    connection.onRequest('workspace/inlayHint/refresh', () => {
      this.hintRefreshes += 1;
      this.#changed();
      return null;
    });
    connection.listen();
  }

  static async start(options: Options = {}): Promise<TestServer> {
    const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'oomlint-protocol-')));
    const inBand = options.inBand ?? process.env.OOMLINT_IN_BAND !== undefined;
    const child = inBand
      ? undefined
      : spawn(process.execPath, [SERVER, '--stdio'], {
          stdio: 'pipe',
          env: { ...process.env, ...noModelCache(folder) },
        });
    const { output, input } = child ? { output: child.stdout, input: child.stdin } : await serveHere(folder);
    const connection = createMessageConnection(
      new StreamMessageReader(output),
      new StreamMessageWriter(input),
    );
    const server = new TestServer(child, connection, folder, options.settings ?? {});
    server.#ownsFolder = options.folder === undefined;
    for (const [name, text] of Object.entries(options.files ?? {})) {
      await server.write(name, text);
    }
    const { capabilities } = await server.#initialize(options);
    server.capabilities = capabilities;
    await connection.sendNotification('initialized', {});
    return server;
  }

  #initialize(options: Options): Promise<InitializeResult> {
    return this.request('initialize', {
      processId: this.spawned ? process.pid : null,
      rootUri: null,
      workspaceFolders: (options.folders ?? [this.uri('')]).map((uri) => ({ uri, name: 'test' })),
      initializationOptions: options.initializationOptions ?? { trusted: false },
      capabilities: options.capabilities ?? {
        workspace: {
          configuration: options.configuration ?? true,
          workspaceFolders: true,
          didChangeConfiguration: { dynamicRegistration: true },
          didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
          codeLens: { refreshSupport: true },
          inlayHint: { refreshSupport: true },
          workspaceEdit: { documentChanges: true, resourceOperations: ['create'] },
        },
        textDocument: {
          hover: { contentFormat: ['markdown', 'plaintext'] },
          publishDiagnostics: {
            relatedInformation: true,
            codeDescriptionSupport: true,
            dataSupport: true,
            versionSupport: true,
            tagSupport: { valueSet: [1, 2] },
          },
        },
      },
    });
  }

  uri(name: string): string {
    return pathToFileURL(path.join(this.folder, name)).href;
  }

  async write(name: string, text: string): Promise<void> {
    const file = path.join(this.folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  request<R>(method: string, params: unknown): Promise<R> {
    return this.connection.sendRequest<R>(method, params);
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.connection.sendNotification(method, params);
  }

  /** Opens a document and gives its URI. */
  async open(name: string, text: string, languageId = languageOf(name)): Promise<string> {
    const uri = /^[a-z-]+:/.test(name) ? name : this.uri(name);
    this.#version += 1;
    await this.notify('textDocument/didOpen', {
      textDocument: { uri, languageId, version: this.#version, text },
    });
    return uri;
  }

  /** Replaces the whole text and gives the new version. */
  async change(uri: string, text: string): Promise<number> {
    this.#version += 1;
    await this.notify('textDocument/didChange', {
      textDocument: { uri, version: this.#version },
      contentChanges: [{ text }],
    });
    return this.#version;
  }

  save(uri: string): Promise<void> {
    return this.notify('textDocument/didSave', { textDocument: { uri } });
  }

  close(uri: string): Promise<void> {
    return this.notify('textDocument/didClose', { textDocument: { uri } });
  }

  at(uri: string, line: number, character: number) {
    return { textDocument: { uri }, position: { line, character } };
  }

  async hover(uri: string, line: number, character: number): Promise<string | undefined> {
    const hover = await this.request<{ contents: { value: string } } | null>(
      'textDocument/hover',
      this.at(uri, line, character),
    );
    return hover?.contents.value;
  }

  latest(uri: string): PublishDiagnosticsParams | undefined {
    return this.diagnostics.findLast((params) => params.uri === uri);
  }

  codes(uri: string): string[] {
    return (this.latest(uri)?.diagnostics ?? []).map(({ code }) => String(code));
  }

  /** Waits for the next publish about a file, or one that already came since `forget`. */
  async published(uri: string, test: (params: PublishDiagnosticsParams) => boolean = () => true) {
    const find = () => this.diagnostics.findLast((params) => params.uri === uri && test(params));
    await this.until(() => find() !== undefined, `diagnostics of ${uri}`);
    const found = find();
    assert.ok(found);
    return found;
  }

  /** A point from which on only new messages count. */
  forget(): void {
    this.diagnostics.length = 0;
    this.statuses.length = 0;
  }

  /**
   * Until the server has nothing more to say: a pause in which nothing came, and two answers, before which timers that were due
   * have run. However slow the machine is, what follows from a message has followed then.
   */
  async settled(): Promise<void> {
    for (let before = -1; before !== this.#heard; ) {
      before = this.#heard;
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      for (let trip = 0; trip < 2; trip += 1) {
        await this.request('textDocument/codeLens', { textDocument: { uri: this.uri('no such file.json') } });
      }
    }
  }

  async until(test: () => unknown, what: string): Promise<void> {
    if (test()) {
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ test, resolve });
      timer = setTimeout(
        () => reject(new Error(`Waited for ${what}. Log: ${this.log.join('\n') || 'empty'}`)),
        ANSWER_LIMIT_MS,
      );
    });
    clearTimeout(timer);
  }

  /** The server's process, for what only a process can show: how it ends, and bytes as they come. */
  get child(): ChildProcessWithoutNullStreams {
    assert.ok(this.spawned, 'the server runs in this process');
    return this.spawned;
  }

  writeRaw(messages: readonly object[]): void {
    const frames = messages.map((message) => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    });
    this.child.stdin.write(frames.join(''));
  }

  /** Answers to requests that were written raw, in the order of their ids. */
  rawAnswers(ids: readonly string[]): Promise<{ id: string; error?: { code: number } }[]> {
    return new Promise((resolve) => {
      let text = '';
      const listen = (chunk: Buffer) => {
        text += chunk.toString('utf8');
        const found = ids.map(
          (id) =>
            new RegExp(`\\{"jsonrpc":"2.0","id":"${id}",.*?\\}(?=Content-Length|$)`, 's').exec(text)?.[0],
        );
        if (found.every((answer) => answer !== undefined)) {
          this.child.stdout.off('data', listen);
          resolve(found.map((answer) => JSON.parse(answer)));
        }
      };
      this.child.stdout.on('data', listen);
    });
  }

  get exited(): Promise<number | null> {
    return this.child.exitCode === null
      ? new Promise((resolve) => this.child.once('exit', resolve))
      : Promise.resolve(this.child.exitCode);
  }

  async stop(): Promise<number | null> {
    const child = this.spawned;
    if (child === undefined || child.exitCode === null) {
      await this.request('shutdown', undefined).catch(() => undefined);
    }
    // It would end this process.
    if (child?.exitCode === null) await this.notify('exit', undefined).catch(() => undefined);
    const code = child ? await this.exited : 0;
    this.connection.dispose();
    if (this.#ownsFolder) {
      await rm(this.folder, { recursive: true, force: true });
    }
    return code;
  }

  #changed(): void {
    this.#heard += 1;
    const ready = this.#waiting.filter(({ test }) => test());
    this.#waiting = this.#waiting.filter((entry) => !ready.includes(entry));
    for (const { resolve } of ready) {
      resolve();
    }
  }
}

/** No model from this machine's cache takes part. */
function noModelCache(folder: string): Record<string, string> {
  return { HF_HOME: path.join(folder, 'no-cache'), HF_HUB_CACHE: '', HUGGINGFACE_HUB_CACHE: '' };
}

/** What `main.ts` does, between two streams of this process. */
async function serveHere(folder: string): Promise<{ readonly output: Readable; readonly input: Writable }> {
  const { createEngine } = await import('../../server/src/lsp/engine');
  const { NODE_MACHINE } = await import('../../server/src/lsp/node-machine');
  const { startServer } = await import('../../server/src/server');
  const { DiskHost } = await import('../../server/src/workspace/disk-host');
  Object.assign(process.env, noModelCache(folder));
  const [output, input] = [new PassThrough(), new PassThrough()];
  const connection = createConnection(
    ProposedFeatures.all,
    new StreamMessageReader(input),
    new StreamMessageWriter(output),
  );
  startServer(connection, {
    version: 'in-band',
    disk: new DiskHost([]),
    machine: NODE_MACHINE,
    createEngine: async (...parts) => createEngine(...parts),
  });
  return { output, input };
}

function languageOf(name: string): string {
  return /\.ya?ml$/.test(name) ? 'yaml' : name.endsWith('.jsonc') ? 'jsonc' : 'json';
}
