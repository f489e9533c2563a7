import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node';
import { type Figures, longConfig, PROJECT, report, timed } from './samples';

const STARTS = 5;
const ROUNDS = 120;
const WARM_UP = 20;
const PROBLEM_ROUNDS = 24;
const SETTLE_MS = 1500;
const PATIENCE_MS = 20_000;

/** Where `npm install --prefix <folder> yaml-language-server vscode-langservers-extracted` put them; none is a dependency. */
const FOLDER =
  process.env.OOMLINT_BENCH_SERVERS ??
  path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'oomlint', 'language-servers');

interface Contender {
  readonly name: string;
  readonly program: string;
  readonly file: string;
  readonly language: string;
  readonly text: string;
  /** An edit that puts in one error, and where a hover has something to say. */
  readonly good: string;
  readonly bad: string;
}

/** The same run as the JSON config, as an Accelerate file of a thousand lines. */
const YAML = `# oomlint: model=meta-llama/Llama-3.1-8B sequence=4096 micro-batch=1
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_activation_checkpointing: true
${Array.from({ length: 990 }, (_, i) => `# note ${i}`).join('\n')}
`;
const JSON_EDIT = { good: '"stage": 3', bad: '"stage": "x"' };
const YAML_EDIT = { good: 'num_processes: 8', bad: 'num_processes: [8' };
const OURS = path.resolve('server/dist/server.js');
const THEIRS = {
  json: 'node_modules/vscode-langservers-extracted/bin/vscode-json-language-server',
  yaml: 'node_modules/yaml-language-server/bin/yaml-language-server',
};

const CONTENDERS: readonly Contender[] = [
  {
    name: 'Oomlint',
    program: OURS,
    file: 'ds_config.json',
    language: 'json',
    text: longConfig(),
    ...JSON_EDIT,
  },
  {
    name: 'JSON language server',
    program: path.join(FOLDER, THEIRS.json),
    file: 'ds_config.json',
    language: 'json',
    text: longConfig(),
    ...JSON_EDIT,
    bad: '"stage": 3 3',
  },
  { name: 'Oomlint', program: OURS, file: 'accelerate.yaml', language: 'yaml', text: YAML, ...YAML_EDIT },
  {
    name: 'YAML language server',
    program: path.join(FOLDER, THEIRS.yaml),
    file: 'accelerate.yaml',
    language: 'yaml',
    text: YAML,
    ...YAML_EDIT,
  },
];

/** One server process with one document, spoken to as an editor does that pushes its settings. */
class Process {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #connection;
  readonly #uri: string;
  readonly #contender: Contender;
  /** It may end before anybody waits for that. */
  readonly #gone: Promise<void>;
  #version = 1;
  #published: (count: number) => void = () => undefined;
  /** Problems that were published last. */
  count = 0;

  constructor(contender: Contender, folder: string) {
    this.#contender = contender;
    this.#uri = pathToFileURL(path.join(folder, contender.file)).href;
    this.#child = spawn(process.execPath, [contender.program, '--stdio'], { stdio: 'pipe' });
    this.#gone = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    this.#connection = createMessageConnection(
      new StreamMessageReader(this.#child.stdout),
      new StreamMessageWriter(this.#child.stdin),
    );
    this.#connection.onRequest('workspace/configuration', ({ items }: { items: readonly unknown[] }) =>
      items.map(() => ({ validate: { enable: true }, diagnostics: { run: 'onType' } })),
    );
    this.#connection.onRequest('client/registerCapability', () => null);
    this.#connection.onNotification(
      'textDocument/publishDiagnostics',
      ({ uri, diagnostics }: { uri: string; diagnostics: readonly unknown[] }) => {
        if (uri !== this.#uri) return;
        this.count = diagnostics.length;
        this.#published(diagnostics.length);
      },
    );
    this.#connection.onUnhandledNotification(() => undefined);
    this.#connection.listen();
  }

  async open(folder: string): Promise<void> {
    const uri = pathToFileURL(folder).href;
    await this.#connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: uri,
      workspaceFolders: [{ uri, name: 'bench' }],
      initializationOptions: { trusted: false, provideFormatter: false },
      capabilities: {
        workspace: { configuration: true },
        textDocument: { hover: {}, publishDiagnostics: {} },
      },
    });
    await this.#connection.sendNotification('initialized', {});
    const { language, text } = this.#contender;
    await this.#connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: this.#uri, languageId: language, version: 1, text },
    });
  }

  async change(text: string): Promise<void> {
    this.#version += 1;
    await this.#connection.sendNotification('textDocument/didChange', {
      textDocument: { uri: this.#uri, version: this.#version },
      contentChanges: [{ text }],
    });
  }

  hover(): Promise<unknown> {
    const { text, good } = this.#contender;
    const line = text.split('\n').findIndex((candidate) => candidate.includes(good));
    const character = (text.split('\n')[line]?.indexOf(good) ?? 0) + 2;
    return this.#connection.sendRequest('textDocument/hover', {
      textDocument: { uri: this.#uri },
      position: { line, character },
    });
  }

  /** Waits for problems of another number than before: a late publish of the older text is no answer. */
  problems(isAnswer: (count: number) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('no problems came')), PATIENCE_MS);
      this.#published = (count) => {
        if (isAnswer(count)) {
          clearTimeout(late);
          this.#published = () => undefined;
          resolve();
        }
      };
    });
  }

  async stop(): Promise<void> {
    this.#connection.dispose();
    this.#child.kill();
    await this.#gone;
  }
}

async function measure(contender: Contender, folder: string): Promise<Figures> {
  const { name, file, text, good, bad } = contender;
  const starts: number[] = [];
  let server: Process | undefined;
  for (let i = 0; i < STARTS; i += 1) {
    await server?.stop();
    const fresh = new Process(contender, folder);
    server = fresh;
    starts.push(
      await timed(async () => {
        await fresh.open(folder);
        await fresh.hover();
      }),
    );
  }
  if (!server) return {};
  const running = server;
  const hovers: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const edited = `${text}${' '.repeat(1 + (i % 2))}`;
    hovers.push(
      await timed(async () => {
        await running.change(edited);
        await running.hover();
      }),
    );
  }
  const problems: number[] = [];
  // Debounced publishes of the edits above come to rest first.
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const clean = running.count;
  for (let i = 0; i < PROBLEM_ROUNDS; i += 1) {
    const wrong = i % 2 === 0;
    const answer = running.problems((count) => (count === clean) !== wrong);
    problems.push(
      await timed(async () => {
        await running.change(wrong ? text.replace(good, bad) : text);
        await answer;
      }),
    );
  }
  await running.stop();
  const which = `${name}, ${file.slice(file.lastIndexOf('.') + 1)}`;
  return {
    [`${which}: spawn to first hover`]: starts,
    [`${which}: edit to hover, 1,000 lines`]: hovers.slice(WARM_UP),
    [`${which}: edit to problems, 1,000 lines`]: problems.slice(4),
  };
}

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-bench-'));
  const figures: Figures = {};
  await writeFile(path.join(folder, 'oomlint.yaml'), PROJECT);
  for (const contender of CONTENDERS) {
    if (!existsSync(contender.program)) {
      process.stderr.write(
        `${contender.name} is not there: npm install --prefix ${FOLDER} yaml-language-server vscode-langservers-extracted\n`,
      );
      continue;
    }
    await writeFile(path.join(folder, contender.file), contender.text);
    Object.assign(figures, await measure(contender, folder));
  }
  await rm(folder, { recursive: true, force: true });
  report(figures);
  // A pipe of a server that was stopped may stay open, and would keep this process.
  process.stdout.write('', () => process.exit());
}

void main();
