import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  createMessageConnection,
  type MessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-jsonrpc/node';
import type {
  ClientCapabilities,
  Diagnostic,
  DocumentDiagnosticReport,
  Hover,
  InitializeResult,
  PublishDiagnosticsParams,
} from 'vscode-languageserver-protocol';
import { noted } from '../packages/noted';
import { type PackedNpm, packedNpm } from '../packages/packed-npm';

const FOLDER = path.join('test', 'fixtures', 'clients');
/** What `npm install oomlint` brings, started as the pages of editors tell. */
let server = '';

interface Sent {
  readonly method: string;
  readonly id?: number | string;
  readonly params?: object;
}
interface Transcript {
  readonly client: string;
  readonly messages: readonly Sent[];
}

/** A client played from what it sent, and what the server answered it. */
interface Played {
  readonly capabilities: InitializeResult['capabilities'];
  readonly client: ClientCapabilities;
  readonly asked: readonly { readonly method: string; readonly params: unknown }[];
  readonly published: readonly PublishDiagnosticsParams[];
  readonly connection: MessageConnection;
  readonly uri: string;
  stop(): Promise<void>;
}

async function play({ messages }: Transcript, more: object = {}): Promise<Played> {
  const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-client-'));
  const child = spawn(process.execPath, [server, '--stdio']);
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  );
  const asked: { method: string; params: unknown }[] = [];
  const published: PublishDiagnosticsParams[] = [];
  connection.onRequest((method, params) => {
    asked.push({ method, params });
    const { items } = (params ?? {}) as { items?: readonly unknown[] };
    return method === 'workspace/configuration' ? (items ?? []).map(() => null) : null;
  });
  connection.onNotification('textDocument/publishDiagnostics', (params) => {
    published.push(params);
  });
  connection.listen();
  const placed: readonly Sent[] = JSON.parse(
    JSON.stringify(messages).replaceAll('/${root}', folder.replaceAll('\\', '/')),
  );
  let result: InitializeResult | undefined;
  let client: ClientCapabilities = {};
  let uri = '';
  for (const { method, id, params = {} } of placed) {
    if (method === 'shutdown' || method === 'exit') continue;
    if (method === 'initialize') {
      const start = params as { readonly capabilities: ClientCapabilities };
      client = { ...start.capabilities, ...more };
      result = await connection.sendRequest(method, { ...start, capabilities: client });
    } else if (id === undefined) await connection.sendNotification(method, params);
    else await connection.sendRequest(method, params);
    if (method === 'textDocument/didOpen')
      uri = (params as { readonly textDocument: { readonly uri: string } }).textDocument.uri;
  }
  assert.ok(result && uri !== '');
  return {
    capabilities: result.capabilities,
    client,
    asked,
    published,
    connection,
    uri,
    stop: async () => {
      await connection.sendRequest('shutdown');
      await connection.sendNotification('exit');
      await new Promise((resolve) => child.once('exit', resolve));
      connection.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function until(test: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 20_000; !test(); ) {
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Which requests of the server an editor announces. */
const TAKEN: Readonly<Record<string, (client: ClientCapabilities) => boolean>> = {
  'workspace/configuration': ({ workspace }) => workspace?.configuration === true,
  'workspace/codeLens/refresh': ({ workspace }) => workspace?.codeLens?.refreshSupport === true,
  'workspace/inlayHint/refresh': ({ workspace }) => workspace?.inlayHint?.refreshSupport === true,
  'workspace/diagnostic/refresh': ({ workspace }) => workspace?.diagnostics?.refreshSupport === true,
  'client/registerCapability': ({ workspace }) =>
    workspace?.didChangeWatchedFiles?.dynamicRegistration === true ||
    workspace?.didChangeConfiguration?.dynamicRegistration === true,
};

/** The problems of the open text: asked for where the editor does so, else as they were sent. */
async function problemsOf({
  capabilities,
  connection,
  published,
  uri,
}: Played): Promise<readonly Diagnostic[]> {
  if (capabilities.diagnosticProvider === undefined) {
    await until(() => published.some((sent) => sent.uri === uri), 'problems');
    return published.filter((sent) => sent.uri === uri).flatMap(({ diagnostics }) => diagnostics);
  }
  const report = await connection.sendRequest<DocumentDiagnosticReport>('textDocument/diagnostic', {
    textDocument: { uri },
  });
  return report.kind === 'full' ? report.items : assert.fail(report.kind);
}

describe('other editors', function () {
  this.timeout(120_000);
  let packed: PackedNpm;
  const transcripts = new Map<string, Transcript>();

  before(async () => {
    packed = await packedNpm();
    server = packed.bin('oomlint-language-server');
    for (const name of await readdir(FOLDER))
      transcripts.set(name.replace('.json', ''), JSON.parse(await readFile(path.join(FOLDER, name), 'utf8')));
  });
  after(() => packed?.remove());
  const transcript = (name: string) => transcripts.get(name) ?? assert.fail(name);

  /** The one that asks for problems; all others are sent them, Zed among them: what it has for that stands where nobody looks. */
  const ASKING = 'jetbrains';

  for (const name of ['neovim', 'eglot', 'helix', 'zed', 'jetbrains', 'sublime'])
    it(`${name}: what it sends is answered, and nothing is asked that it does not take`, async () => {
      const played = await play(transcript(name));
      try {
        assert.equal(played.capabilities.diagnosticProvider !== undefined, name === ASKING);
        const problems = await problemsOf(played);
        assert.ok(
          problems.some(({ source }) => source === 'oomlint'),
          JSON.stringify(problems),
        );
        const hover = await played.connection.sendRequest<Hover | null>('textDocument/hover', {
          textDocument: { uri: played.uri },
          position: { line: 2, character: 6 },
        });
        assert.match(JSON.stringify(hover), /gradient_accumulation_steps/);
        const refused = played.asked.filter(({ method }) => TAKEN[method]?.(played.client) !== true);
        assert.deepEqual(refused, []);
        // Editors that name encodings are sent the one that positions are in; others take it for granted.
        const named = played.client.general?.positionEncodings;
        assert.equal(played.capabilities.positionEncoding, named ? 'utf-16' : undefined);
      } finally {
        await played.stop();
      }
    });

  it('all six have a page, and the table of pages names what each is played from', async () => {
    const pages = (await readdir(path.join('docs', 'editors'))).filter((name) => name !== 'README.md');
    const table = await readFile(path.join('docs', 'editors', 'README.md'), 'utf8');
    assert.deepEqual(pages.map((name) => (name === 'emacs.md' ? 'eglot' : name.replace('.md', ''))).sort(), [
      ...[...transcripts.keys()].sort(),
    ]);
    for (const name of pages) assert.ok(table.includes(`(${name})`), name);
    for (const name of pages)
      assert.doesNotMatch(await readFile(path.join('docs', 'editors', name), 'utf8'), /not tested/i);
  });

  it('positions in text that is not ASCII are those of the encoding that is agreed with an editor of UTF-8', async () => {
    const played = await play(transcript('helix'));
    try {
      assert.equal(played.capabilities.positionEncoding, 'utf-16');
      const uri = played.uri.replace(/[^/]+$/, 'ds_other.json');
      // Two, three and four bytes of UTF-8; one, one and two units of UTF-16.
      const line = '{ "note": "é日本🚀", "bf16": { "enabled": true }, "fp16": { "enabled": true },';
      const text = `${line}\n  "zero_optimization": { "stage": 3 } }\n`;
      const opened = { uri, languageId: 'json', version: 0, text };
      await played.connection.sendNotification('textDocument/didOpen', { textDocument: opened });
      const problems = await problemsOf({ ...played, uri });
      const found =
        problems.find(({ code }) => code === 'two-precisions') ?? assert.fail(JSON.stringify(problems));
      const { start, end } = found.range;
      assert.deepEqual([start.line, end.line], [0, 0]);
      assert.equal(start.character, line.indexOf('true'));
      assert.equal(line.slice(start.character, end.character), 'true');
      const hover = await played.connection.sendRequest<Hover | null>('textDocument/hover', {
        textDocument: { uri },
        position: { line: 0, character: line.indexOf('bf16') + 1 },
      });
      const range = hover?.range ?? assert.fail('no hover');
      assert.match(line.slice(range.start.character, range.end.character), /bf16/);
    } finally {
      await played.stop();
    }
  });

  it('an editor that asks for problems gets them by asking, once the same, and is asked to ask again', async () => {
    const { client } = await play(transcript('neovim')).then(async (one) => {
      await one.stop();
      return one;
    });
    const played = await play(transcript('neovim'), {
      textDocument: { ...client.textDocument, diagnostic: { dynamicRegistration: false } },
      workspace: { ...client.workspace, diagnostics: { refreshSupport: true } },
    });
    try {
      assert.ok(played.capabilities.diagnosticProvider);
      const ask = (previousResultId?: string) =>
        played.connection.sendRequest<DocumentDiagnosticReport>('textDocument/diagnostic', {
          textDocument: { uri: played.uri },
          previousResultId,
        });
      const first = await ask();
      assert.equal(first.kind, 'full');
      assert.ok('items' in first && first.items.length > 0);
      assert.ok(first.resultId);
      assert.equal((await ask(first.resultId)).kind, 'unchanged');
      // A project file that states what was missing changes the answer about a text that did not change.
      const around = played.uri.replace(/[^/]+$/, 'oomlint.yaml');
      await played.connection.sendNotification('textDocument/didOpen', {
        textDocument: {
          uri: around,
          languageId: 'yaml',
          version: 1,
          text: 'targets:\n  gpu: RTX 4090\n  gpus: 1\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n',
        },
      });
      await played.connection.sendNotification('textDocument/didSave', { textDocument: { uri: around } });
      await until(
        () => played.asked.some(({ method }) => method === 'workspace/diagnostic/refresh'),
        'a refresh',
      );
      const next = await ask(first.resultId);
      assert.equal(next.kind, 'full');
      assert.deepEqual(
        played.published.filter(({ uri }) => uri === played.uri),
        [],
        'and none is sent',
      );
    } finally {
      await played.stop();
    }
  });

  /** Whether a program of this machine answers. */
  const installed = (program: string, ...asked: readonly string[]) =>
    process.platform !== 'win32' && spawnSync(program, asked.length > 0 ? asked : ['--version']).status === 0;

  /** A folder with a config, the last piece of configuration of an editor's page in `own`, and the server for the path. */
  async function placed(page: string): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-editor-'));
    await cp(path.join('examples', 'does-not-fit.json'), path.join(folder, 'ds_config.json'));
    const text = await readFile(path.join('docs', 'editors', page), 'utf8');
    const block = [...text.matchAll(/```(?:lua|elisp|toml)\n(.*?)```/gs)].at(-1)?.[1] ?? assert.fail(page);
    await writeFile(path.join(folder, 'own'), block);
    await writeFile(
      path.join(folder, 'oomlint-language-server'),
      `#!/bin/sh\nexec '${process.execPath}' '${server}' "$@"\n`,
      { mode: 0o755 },
    );
    return folder;
  }

  /** Runs an editor of this machine with the last piece of configuration of its page, and with the server on its path. */
  const real = (
    program: string,
    page: string,
    args: (own: string) => readonly string[],
    wanted: RegExp,
    asked: readonly string[] = [],
  ) =>
    async function (this: Mocha.Context) {
      if (!installed(program, ...asked)) {
        console.log(`    ${program} is not on this machine: its transcript stands for it`);
        this.skip();
      }
      const folder = await placed(page);
      try {
        const { stdout, stderr } = spawnSync(program, args(path.join(folder, 'own')), {
          cwd: folder,
          encoding: 'utf8',
          timeout: 50_000,
          env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
        });
        assert.match(`${stdout}${stderr}`, wanted);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    };
  const script = (name: string) => path.resolve('test', 'fixtures', 'editors', name);

  it(
    'Neovim shows problems and hovers, by its page',
    real(
      'nvim',
      'neovim.md',
      (own) => ['--headless', '-u', 'NONE', '-c', `luafile ${own}`, '-c', `luafile ${script('neovim.lua')}`],
      /problem oomlint.*hover .*gradient_accumulation_steps/s,
    ),
  );
  it(
    'Emacs shows problems, by its page',
    real(
      'emacs',
      'emacs.md',
      (own) => ['--batch', '-l', own, '-l', script('emacs.el')],
      /problem oomlint/,
      // Emacs has its client since 29; Debian's 28 has it where `elpa-eglot` is installed.
      ['--batch', '-l', 'eglot'],
    ),
  );

  // Debian has it from trixie on: its transcript, which is what it sends, stands for it elsewhere.
  const hasHelix = installed('hx') && installed('tmux', '-V');
  if (!hasHelix) noted('hx and tmux are not on this machine: its transcript stands for Helix.');
  else
    it('Helix shows problems and hovers, by its page', async () => {
      const folder = await placed('helix.md');
      // It draws on a terminal alone; that of tmux can be read.
      const tmux = (...args: readonly string[]) =>
        spawnSync('tmux', ['-S', path.join(folder, 'terminal'), '-f', '/dev/null', ...args], {
          cwd: folder,
          encoding: 'utf8',
          env: { ...process.env, XDG_CONFIG_HOME: folder, PATH: `${folder}:${process.env.PATH}` },
        }).stdout;
      const shown = async (wanted: RegExp) => {
        const drawn = () => tmux('capture-pane', '-p');
        await until(() => wanted.test(drawn()), String(wanted)).catch((error) =>
          assert.fail(`${error}\n${drawn()}`),
        );
      };
      try {
        await mkdir(path.join(folder, 'helix'));
        await rename(path.join(folder, 'own'), path.join(folder, 'helix', 'languages.toml'));
        tmux('new-session', '-d', '-x', '160', '-y', '40', 'hx ds_config.json');
        await shown(/● +2 .*train_micro_batch_size_per_gpu/);
        tmux('send-keys', 'Space', 'd');
        await shown(/unknown-fields +An estimate needs the model/);
        tmux('send-keys', 'C-c', '3', 'g', 'g', 'l', 'l', 'Space', 'k');
        await shown(/gradient_accumulation_steps · DeepSpeed/);
      } finally {
        tmux('kill-server');
        await rm(folder, { recursive: true, force: true });
      }
    });
});
