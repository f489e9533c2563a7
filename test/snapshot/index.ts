import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourcesOf } from '../../server/src/advice/run-sources';
import { fieldsOf, writeChanges } from '../../server/src/advice/write/write';
import type { KeySpec } from '../../server/src/dialects/dialect';
import { DIALECTS } from '../../server/src/dialects/registry';
import type { RunValues } from '../../server/src/run/fields';
import type { Analysis } from '../../server/src/workspace/analysis';
import type { Workspace } from '../../server/src/workspace/analyze';
import { corpusFiles } from '../corpus/corpus-files';
import { workspacesOf } from '../corpus/corpus-workspaces';

/*
 * All that people would see of every config at hand, one JSON line each: the facts with their origins, the problems, the
 * estimate, and what the writer makes of a set of changes; and each row of every key table. Two snapshots, made before and
 * after a restructuring, are equal, or the lines that differ say what it changed.
 *
 *   npm run snapshot -- before.jsonl          writes one
 *   npm run snapshot -- after.jsonl --against before.jsonl    and lists what differs
 */

/** Changes that families have words for: each is written by itself into every config. */
const CHANGES: readonly RunValues[] = [
  { 'batch.micro': 3 },
  { 'batch.accumulation': 7 },
  { 'batch.sequence': 1536 },
  { 'activations.checkpointing': 'full' },
  { 'activations.checkpointing': 'none' },
  { 'activations.checkpointing': 'selective' },
  { 'activations.offload': true },
  { 'attention.implementation': 'flash2' },
  { 'attention.implementation': 'sdpa' },
  { 'kernels.liger': true },
  { 'loss.implementation': 'chunked' },
  { 'optimizer.name': 'adamw' },
  { 'optimizer.name': 'adamw-8bit' },
  { 'optimizer.name': 'paged-adamw-8bit' },
  { 'optimizer.name': 'adafactor' },
  { 'precision.compute': 'bf16' },
  { 'method.kind': 'lora', 'lora.rank': 16, 'lora.alpha': 32, 'lora.targets': ['all-linear'] },
  { 'lora.rank': 4 },
  { 'quantization.kind': 'nf4' },
  { 'quantization.kind': 'int8' },
  { 'zero.stage': 1 },
  { 'zero.stage': 2 },
  { 'zero.stage': 3 },
  { 'offload.optimizer': 'cpu' },
  { 'offload.parameters': 'cpu' },
  { 'parallel.data': 'fsdp2', 'fsdp.strategy': 'full' },
  { 'fsdp.strategy': 'full' },
  { 'fsdp.strategy': 'grad-op' },
  { 'parallel.tensor': 2 },
  { 'parallel.pipeline': 2 },
  { 'parallel.context': 2 },
  { 'parallel.sequence': true },
  { 'parallel.distributedOptimizer': true },
  { 'hardware.gpus': 4 },
  { 'hardware.nodes': 2 },
];

/** A file and the workspace that it is read in. */
interface Source {
  readonly name: string;
  readonly uri: string;
  readonly workspace: Workspace;
}

/** The configs of the repository, each folder a workspace, and those of the corpus where it is at hand. */
function sources(): Source[] {
  const own = ['examples', 'test/fixtures/configs'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.(json|ya?ml|toml|sh)$/.test(name))
      .map((name) => ({
        family: 'own',
        name,
        repository: folder,
        path: name,
        uri: `file:///${folder}/${name}`,
        text: readFileSync(path.join(folder, name), 'utf8'),
      })),
  );
  const files = [...own, ...corpusFiles()];
  const workspaceOf = workspacesOf(files);
  return files.map((file) => ({
    name: `${file.family}/${file.name}`,
    uri: file.uri,
    workspace: workspaceOf(file.repository),
  }));
}

async function written(analysis: Analysis, workspace: Workspace): Promise<Record<string, unknown>> {
  const { run, origins } = analysis.resolved;
  if (!run) return {};
  const files = await sourcesOf(analysis, workspace);
  const found: Record<string, unknown> = {};
  for (const changes of CHANGES) {
    const result = writeChanges({ files, run, origins, changes, fields: fieldsOf(changes) });
    found[JSON.stringify(changes)] = result?.map(({ uri, before, after }) => [
      uri,
      changedLines(before, after),
    ]);
  }
  return found;
}

/** Lines that only one of two texts has. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const [had, has] = [new Set(old), new Set(now)];
  return [
    ...old.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}

async function shown(source: Source): Promise<unknown> {
  const analysis = await source.workspace.analyze(source.uri);
  if (!analysis) return null;
  const { dialect, reading, links, files, filled, resolved, estimate, problems, runs, usedBy } = analysis;
  return {
    dialect: dialect.id,
    facts: reading.facts,
    autos: [...reading.autos].sort((a, b) => (a.key < b.key ? -1 : 1)),
    keys: reading.keys?.map(({ below, rows }) => ({ below, rows: digest(rows.map(rowOf)) })),
    links,
    files,
    filled,
    runs,
    usedBy,
    values: resolved.values,
    origins: resolved.origins,
    overruled: resolved.overruled,
    unknown: resolved.unknown,
    problems,
    estimate: estimate && { ...estimate, timeline: digest(estimate.timeline) },
    written: await written(analysis, source.workspace),
  };
}

/** Long values by their hash: that they are equal is all that is asked. */
const digest = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/** Objects with their names in order: the order in which a value was put together is not seen by anyone. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([name, inner]) => [name, ordered(inner)]),
  );
}

function rowOf({ path: key, type, values, auto, default: value, doc, source, fields, deprecated }: KeySpec) {
  return { path: key, type, values, auto, default: value, doc, source, fields, deprecated };
}

/** What differs between two values, as paths with both sides. */
function differences(before: unknown, after: unknown, at = ''): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null;
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) {
    const short = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 300);
    return [`    ${at}: ${short(before)} -> ${short(after)}`];
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => differences(before[name], after[name], at === '' ? name : `${at}.${name}`));
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const against = args.indexOf('--against');
  const old = against < 0 ? undefined : args.splice(against, 2)[1];
  const [out] = args;
  if (out === undefined) throw new Error('usage: npm run snapshot -- OUT.jsonl [--against BEFORE.jsonl]');
  const lines = new Map<string, string>();
  for (const dialect of DIALECTS)
    for (const row of dialect.keys)
      lines.set(`key ${dialect.id} ${row.path}`, JSON.stringify(ordered(rowOf(row))));
  for (const source of sources())
    lines.set(`file ${source.name} ${source.uri}`, JSON.stringify(ordered(await shown(source))));
  writeFileSync(out, [...lines].map(([name, line]) => `${name}\t${line}\n`).join(''));
  console.log(`${lines.size} lines in ${pathToFileURL(path.resolve(out)).pathname}`);
  if (old !== undefined) compare(old, lines);
}

function compare(old: string, lines: ReadonlyMap<string, string>): void {
  const before = new Map(
    readFileSync(old, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => [line.slice(0, line.indexOf('\t')), line.slice(line.indexOf('\t') + 1)] as const),
  );
  let differing = 0;
  for (const name of new Set([...before.keys(), ...lines.keys()])) {
    const [then, now] = [before.get(name), lines.get(name)];
    if (then === now) continue;
    differing++;
    console.log(`  ${name}`);
    const parsed = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));
    for (const line of differences(parsed(then), parsed(now)).slice(0, 12)) console.log(line);
  }
  console.log(differing === 0 ? 'equal' : `${differing} of ${lines.size} lines differ`);
  process.exitCode = differing === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
