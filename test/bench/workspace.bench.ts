import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { TestServer } from '../protocol/server-process';
import { type Figures, longConfig, PROJECT, report, timed } from './samples';

const FILES = 10_000;
const CONFIGS = 50;
const STARTS = 6;
const REST_MS = 2000;

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

/** Milliseconds of processor time that a process has used; undefined where the system does not say it in `/proc`. */
function processorMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // User and system time in hundredths of a second, counted behind the name in parentheses.
    const [user = 0, system = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return (user + system) * 10;
  } catch {
    return undefined;
  }
}

const rest = () => new Promise((resolve) => setTimeout(resolve, REST_MS));

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
  const idle: number[] = [];
  const idleOpen: number[] = [];
  const config = files['configs/run7/ds_config.json'] ?? '';
  // One folder for all starts: writing it is no part of what is measured.
  const host = await TestServer.start({ files });
  for (let i = 0; i < STARTS; i += 1) {
    const server = await TestServer.start({ folder: host.folder });
    const pid = server.child.pid ?? 0;
    const before = processorMs(pid);
    if (i === 0 && before !== undefined) {
      await rest();
      idle.push((processorMs(pid) ?? 0) - before);
    }
    const hint = async (name: string) => {
      const uri = await server.open(name, config);
      await server.request('textDocument/codeLens', { textDocument: { uri } });
    };
    first.push(await timed(() => hint('configs/run7/ds_config.json')));
    second.push(await timed(() => hint('configs/run8/ds_config.json')));
    if (i === 0 && before !== undefined) {
      // What follows an opening (problems, garbage collection) settles first.
      await rest();
      const settled = processorMs(pid) ?? 0;
      await rest();
      idleOpen.push((processorMs(pid) ?? 0) - settled);
    }
    await server.stop();
  }
  await host.stop();
  const figures: Figures = {
    'client, load its bundle': await clientLoad(),
    'open to first hint, 10,000 files, 50 configs': first,
    'open to hint of a second config': second,
    ...(idle.length > 0
      ? {
          'processor time in 2 s, no config open': idle,
          'processor time in 2 s, configs open and left alone': idleOpen,
        }
      : {}),
  };
  report(figures);
}

void main();
