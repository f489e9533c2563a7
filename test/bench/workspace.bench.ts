import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { TestServer } from '../protocol/server-process';
import { type Figures, longConfig, PROJECT, report, timed } from './samples';

const FILES = 10_000;
const CONFIGS = 50;
const STARTS = 6;
/** After the last request the engine of JavaScript gives memory back, twice, within three quarters of a minute. */
const SETTLE_MS = 50_000;
const REST_MS = 30_000;

/** Ten thousand files as repositories hold them, fifty training configs among them. */
function repository(): Record<string, string> {
  const files: Record<string, string> = { 'oomlint.yaml': PROJECT };
  for (let i = 0; i < FILES; i += 1) {
    const folder = `packages/p${i % 100}/src`;
    const kind = i % 5;
    files[`${folder}/f${i}.${['json', 'yaml', 'py', 'ts', 'md'][kind]}`] =
      kind === 0 ? `{ "entry": ${i} }\n` : kind === 1 ? `entry: ${i}\n` : `entry ${i}\n`;
  }
  for (let i = 0; i < CONFIGS; i += 1) files[`configs/run${i}/ds_config.json`] = longConfig();
  return files;
}

/** Milliseconds of processor time that all threads of a process have used; undefined where `/proc` does not say it. */
function processorMs(pid: number): number | undefined {
  try {
    // Nanoseconds on a processor come first (the kernel's sched-stats documentation).
    return readdirSync(`/proc/${pid}/task`)
      .map(
        (thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
      )
      .reduce((sum, ms) => sum + ms, 0);
  } catch {
    return undefined;
  }
}

/** The view of all configs: the first look at the folder, later ones, and one after an edit of a config. */
async function configsView(folder: string): Promise<Figures> {
  const server = await TestServer.start({ folder });
  const pid = server.child.pid ?? 0;
  const figures: Record<string, number[]> = { first: [], again: [], edited: [] };
  const processor: number[] = [];
  const look = (again: boolean) => timed(() => server.request('oomlint/configs', { again }));
  figures.first?.push(await look(false));
  for (let i = 0; i < STARTS; i += 1) {
    const before = processorMs(pid);
    figures.again?.push(await look(false));
    const after = processorMs(pid);
    if (before !== undefined && after !== undefined) processor.push(after - before);
  }
  const uri = await server.open('configs/run7/ds_config.json', longConfig());
  for (let i = 0; i < STARTS; i += 1) {
    await server.change(uri, longConfig().replace('"gradient_clipping": 1.0', `"gradient_clipping": 1.${i}`));
    figures.edited?.push(await look(true));
  }
  await server.stop();
  return {
    'view of configs, 10,000 files, first': figures.first ?? [],
    'view of configs, 10,000 files, again': figures.again ?? [],
    'view of configs, 10,000 files, after an edit': figures.edited ?? [],
    ...(processor.length > 0 && { 'processor time of the view of configs, again': processor }),
  };
}

/** What servers use while nobody asks them for anything: one with nothing open, one with two configs. */
async function idle(folder: string, config: string): Promise<Figures> {
  const empty = await TestServer.start({ folder });
  const open = await TestServer.start({ folder });
  for (const name of ['configs/run7/ds_config.json', 'configs/run8/ds_config.json']) {
    const uri = await open.open(name, config);
    await open.request('textDocument/codeLens', { textDocument: { uri } });
  }
  const used = () => [empty, open].map(({ child }) => processorMs(child.pid ?? 0));
  const figures: Figures = {};
  if (used().every((ms) => ms !== undefined)) {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const before = used();
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const [nothing = 0, configs = 0] = used().map((ms, i) => (ms ?? 0) - (before[i] ?? 0));
    figures['processor time in 30 s, no config open'] = [nothing];
    figures['processor time in 30 s, configs open and left alone'] = [configs];
  }
  await Promise.all([empty.stop(), open.stop()]);
  return figures;
}

/** What the editor's side costs at its start: its bundle is loaded, with nothing behind it. */
async function clientLoad(): Promise<number[]> {
  const bundle = path.resolve('client/dist/extension.js');
  const script = `
    const Module = require('node:module');
    const any = new Proxy(function () {}, { get: (_, key) => (key === Symbol.toPrimitive ? () => '' : any), apply: () => any, construct: () => ({}) });
    const load = Module._load;
    Module._load = (name, ...more) => (name === 'vscode' ? any : load(name, ...more));
    const start = performance.now();
    require(${JSON.stringify(bundle)});
    process.stdout.write(String(performance.now() - start));
  `;
  const times: number[] = [];
  for (let i = 0; i < STARTS; i += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
    times.push(Number(stdout));
  }
  return times;
}

async function main(): Promise<void> {
  const files = repository();
  const first: number[] = [];
  const second: number[] = [];
  const config = files['configs/run7/ds_config.json'] ?? '';
  // One folder for all starts: writing it is no part of what is measured.
  const host = await TestServer.start({ files });
  for (let i = 0; i < STARTS; i += 1) {
    const server = await TestServer.start({ folder: host.folder });
    const hint = async (name: string) => {
      const uri = await server.open(name, config);
      await server.request('textDocument/codeLens', { textDocument: { uri } });
    };
    first.push(await timed(() => hint('configs/run7/ds_config.json')));
    second.push(await timed(() => hint('configs/run8/ds_config.json')));
    await server.stop();
  }
  const view = await configsView(host.folder);
  const resting = await idle(host.folder, config);
  await host.stop();
  const figures: Figures = {
    'client, load its bundle': await clientLoad(),
    'open to first hint, 10,000 files, 50 configs': first,
    'open to hint of a second config': second,
    ...view,
    ...resting,
  };
  report(figures);
}

void main();
