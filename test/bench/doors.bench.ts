import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { report, timed } from './samples';

const CLI = path.resolve('server/dist/cli.js');
const ROUNDS = 12;
const FEW = 3;
const FILES = 10_000;
const CONFIGS = 50;
const OTHER_FILES = 50_000;
const config = (micro: number) => `{
  // oomlint: model=meta-llama/Llama-3.1-8B gpu=H100 gpus=8 sequence=4096
  "train_micro_batch_size_per_gpu": ${micro},
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;

/** A program under Node, to its end, whatever that is. */
function run(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: 'ignore' });
    child.once('error', reject);
    child.once('exit', () => resolve());
  });
}

/** Writes the most memory that the program it is loaded into had resident, in KiB (`process.resourceUsage`), when that ends. */
const NOTE_MEMORY = (file: string) =>
  `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.resourceUsage().maxRSS)));\n`;

/** What a program takes to its end: milliseconds, and the most memory that was resident, in MB. */
async function timeAndMemory(
  args: readonly string[],
  cwd: string,
): Promise<{ ms: number; megabytes: number }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'oomlint-bench-'));
  try {
    const [hook, note] = [path.join(folder, 'note.cjs'), path.join(folder, 'note.txt')];
    writeFileSync(hook, NOTE_MEMORY(note));
    const ms = await timed(() => run(['--require', hook, ...args], cwd));
    return { ms, megabytes: (Number(readFileSync(note, 'utf8')) * 1024) / 1e6 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function times(rounds: number, act: () => Promise<void>): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < rounds; i += 1) found.push(await timed(act));
  return found;
}

/** A server that lives so long has kept what V8 compiled for the next start, as those of agents do (`start/kept-code.ts`). */
const KEPT_MS = 4000;

/** From the start of the program to its answer to `initialize`, after which it lives for a while. */
function mcpStart(cwd: string, livesMs = 0): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, 'mcp', cwd], { stdio: ['pipe', 'pipe', 'ignore'] });
    child.once('error', reject);
    child.stdout.once('data', () => {
      child.once('exit', () => resolve());
      setTimeout(() => child.kill(), livesMs);
    });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  });
}

/** What lies beside training configs: workflows of CI, launch scripts of other programs, data and code. None of it is a config. */
function otherFiles(folder: string): void {
  const kinds: readonly (readonly [ending: string, text: (i: number) => string])[] = [
    ['json', (i) => `{ "entry": ${i}, "dependencies": { "a": "1" } }\n`],
    ['yaml', (i) => `name: ci${i}\non: [push]\njobs:\n  build:\n    steps:\n      - run: echo ${i}\n`],
    ['py', (i) => `import torch\n\ndef f${i}(x):\n    return torch.tensor(x) + ${i}\n`],
    ['sh', (i) => `set -e\nfor i in 1 2 3; do echo $i; done\npython tools/t${i}.py --a 1\n`],
    ['md', (i) => `# ${i}\n`],
    ['toml', (i) => `[package]\nname = "p${i}"\n`],
    ['ts', (i) => `export const a${i} = ${i};\n`],
    ['ipynb', (i) => `{"cells": [], "metadata": {"id": ${i}}, "nbformat": 4, "nbformat_minor": 5}\n`],
  ];
  for (let i = 0; i < OTHER_FILES; i += 1) {
    const place = path.join(folder, `d${i % 100}`);
    if (i < 100) mkdirSync(place, { recursive: true });
    const [ending, text] = kinds[i % kinds.length] ?? ['txt', String];
    writeFileSync(path.join(place, `f${i}.${ending}`), text(i));
  }
}

/** A repository of 10,000 files, 50 of them configs, with two commits that set one of them apart. */
function tree(folder: string): void {
  for (let i = 0; i < FILES - CONFIGS; i += 1) {
    const place = path.join(folder, `package-${i % 100}`);
    if (i < 100) mkdirSync(place);
    const [name, text] = [
      [`module${i}.py`, `def f${i}():\n    return ${i}\n`],
      [`values${i}.yaml`, `name: n${i}\nport: ${i}\n`],
      [`data${i}.json`, `{"id": ${i}, "tags": ["a", "b"]}\n`],
      [`notes${i}.md`, `# ${i}\n`],
    ][i % 4] as [string, string];
    writeFileSync(path.join(place, name), text);
  }
  for (let i = 0; i < CONFIGS; i += 1) {
    const place = path.join(folder, `package-${i}`, 'configs');
    mkdirSync(place);
    writeFileSync(path.join(place, `zero-${i}.json`), config(1 + (i % 4)));
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=b', '-c', 'user.email=b@example.org', ...args]);
  git('init', '-q');
  git('add', '-A');
  git('commit', '-q', '-m', 'one');
  writeFileSync(path.join(folder, 'package-0', 'configs', 'zero-0.json'), config(8));
  git('commit', '-q', '-a', '-m', 'two');
}

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'oomlint-bench-'));
  const others = mkdtempSync(path.join(tmpdir(), 'oomlint-bench-'));
  try {
    tree(folder);
    otherFiles(others);
    const one = path.join(folder, 'package-0', 'configs', 'zero-0.json');
    const empty = await times(ROUNDS, () => run(['-e', '0'], folder));
    const checked = await times(ROUNDS, () => run([CLI, 'check', one], folder));
    await mcpStart(folder, KEPT_MS);
    // Taken off at their medians: what Node itself takes is no part of it.
    const bare = empty.toSorted((a, b) => a - b)[ROUNDS / 2] ?? 0;
    const many = await timeAndMemory([CLI, 'check', '.'], others);
    report({
      'command line on one file, over bare Node': checked.map((time) => time - bare),
      'check of 10,000 files with 50 configs': await times(FEW, () => run([CLI, 'check', '.'], folder)),
      'check of 50,000 files without a config': [many.ms],
      'memory of the check of 50,000 files': [many.megabytes],
      'diff of two commits': await times(FEW, () => run([CLI, 'diff', 'HEAD~1..HEAD'], folder)),
      'oomlint mcp, spawn to initialize': await times(ROUNDS, () => mcpStart(folder)),
    });
  } finally {
    for (const made of [folder, others]) rmSync(made, { recursive: true, force: true });
  }
}

void main();
