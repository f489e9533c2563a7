import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';
import type { Diagnostic, PublishDiagnosticsParams } from 'vscode-languageserver-protocol';
import { CACHE, npmInstall } from '../../scripts/npm-cache.mjs';

/** The language server of the YAML extension, no dependency of the project. */
const PACKAGE = 'yaml-language-server';
const RELEASE = '2.0.0';
const LIMIT_MS = 20_000;

/** Its program, fetched once; undefined, with a printed line, where npm does not bring it. */
export async function yamlServerProgram(): Promise<string | undefined> {
  const folder = path.join(CACHE, `${PACKAGE}@${RELEASE}`);
  const program = path.join(folder, 'node_modules', PACKAGE, 'bin', PACKAGE);
  if (existsSync(program)) return program;
  try {
    await npmInstall(folder, `${PACKAGE}@${RELEASE}`);
    return program;
  } catch (error) {
    const [line] = String(error).split('\n');
    console.log(
      `      ${PACKAGE} ${RELEASE} is not to be had from npm: nothing beside it is tested. ${line}`,
    );
    return undefined;
  }
}

/** Where schemas come from, as an extension contributes them. */
export interface Schemas {
  readonly addressOf: (uri: string) => string | undefined;
  readonly content: (address: string) => Promise<string>;
}

/** The YAML extension's server as that extension starts it, with schemas of a contributor. */
export class YamlNeighbour {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #connection;
  readonly #published = new Map<string, readonly Diagnostic[]>();
  #heard: () => void = () => undefined;

  private constructor(program: string, schemas: Schemas) {
    this.#child = spawn(process.execPath, [program, '--stdio'], { stdio: 'pipe' });
    this.#connection = createMessageConnection(
      new StreamMessageReader(this.#child.stdout),
      new StreamMessageWriter(this.#child.stdin),
    );
    const settings: Readonly<Record<string, unknown>> = {
      yaml: { validate: true, hover: true, completion: true, schemaStore: { enable: false } },
    };
    this.#connection.onRequest('workspace/configuration', ({ items }: { items: { section: string }[] }) =>
      items.map(({ section }) => settings[section] ?? {}),
    );
    this.#connection.onRequest('client/registerCapability', () => null);
    this.#connection.onRequest('custom/schema/request', (uri: string) => {
      const address = schemas.addressOf(uri);
      return address === undefined ? [] : [address];
    });
    this.#connection.onRequest('custom/schema/content', (address: string) => schemas.content(address));
    this.#connection.onNotification(
      'textDocument/publishDiagnostics',
      ({ uri, diagnostics }: PublishDiagnosticsParams) => {
        this.#published.set(uri, diagnostics);
        this.#heard();
      },
    );
    this.#connection.onUnhandledNotification(() => undefined);
    this.#connection.listen();
  }

  static async start(program: string, folder: string, language: string, schemas: Schemas) {
    const neighbour = new YamlNeighbour(program, schemas);
    await neighbour.request('initialize', {
      processId: process.pid,
      locale: language,
      rootUri: folder,
      workspaceFolders: [{ uri: folder, name: 'test' }],
      capabilities: {
        workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true } },
        textDocument: {
          hover: { contentFormat: ['markdown'] },
          completion: { completionItem: { snippetSupport: true, documentationFormat: ['markdown'] } },
          publishDiagnostics: {},
        },
      },
    });
    await neighbour.notify('initialized', {});
    await neighbour.notify('yaml/registerCustomSchemaRequest', {});
    return neighbour;
  }

  request<R>(method: string, params: unknown): Promise<R> {
    return this.#connection.sendRequest<R>(method, params);
  }

  notify(method: string, params: unknown): Promise<void> {
    return this.#connection.sendNotification(method, params);
  }

  /** Opens a document and gives the problems that it publishes. */
  async open(uri: string, text: string): Promise<readonly Diagnostic[]> {
    this.#published.delete(uri);
    const heard = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no problems of ${uri}`)), LIMIT_MS);
      this.#heard = () => {
        if (!this.#published.has(uri)) return;
        clearTimeout(timer);
        resolve();
      };
    });
    await this.notify('textDocument/didOpen', {
      textDocument: { uri, languageId: 'yaml', version: 1, text },
    });
    await heard;
    return this.#published.get(uri) ?? [];
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    await this.request('shutdown', undefined).catch(() => undefined);
    await this.notify('exit', undefined).catch(() => undefined);
    this.#child.kill();
    await gone;
    this.#connection.dispose();
  }
}
