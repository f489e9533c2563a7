// How much of Python files is read, folder by folder: whole, partly, or not, with the reasons, and beside peaks that notebooks saved.
// node scripts/python-runs.mjs FOLDER...  (clones of public repositories, kept outside of this one)
// node scripts/python-runs.mjs --table DIR  (clones in DIR/OWNER+NAME, against test/python-runs/repositories.json; --write keeps what is read)
import { execFileSync } from 'node:child_process';
import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
require('./typescript.cjs');
const { Workspace } = require('../server/src/workspace/analyze.ts');
const { DiskHost } = require('../server/src/workspace/disk-host.ts');
const { fact } = require('../server/src/run/origin.ts');
const {
  changesOf,
  decisiveUnread,
  stopsBefore,
  tableOf,
  trainsElsewhere,
} = require('../test/python-runs/reading.ts');

const verbose = process.argv.includes('--list');
const table = process.argv.includes('--table');
const given = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const TABLE = new URL('../test/python-runs/repositories.json', import.meta.url);
const committed = JSON.parse(await readFile(TABLE, 'utf8'));
const isThere = (file) =>
  access(file).then(
    () => true,
    () => false,
  );
const clones = committed.map(({ name }) => path.join(given[0] ?? '', name.replace('/', '+')));
const folders = table
  ? (await Promise.all(clones.map(async (one) => ((await isThere(one)) ? [one] : [])))).flat()
  : given;
if (table) console.log(tableOf(committed));
/** Where a file names no GPU: the run is read whole or not, whatever it runs on. */
const CARD = [
  fact('hardware.gpu', 'A100-SXM4-80GB', { kind: 'project' }),
  fact('hardware.gpus', 1, { kind: 'project' }),
];

async function* filesBelow(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory() && !/^(\.git|node_modules)$/.test(entry.name)) yield* filesBelow(full);
    else if (/\.(py|ipynb)$/.test(entry.name)) yield full;
  }
}

/** The peak that Unsloth's notebooks print, in GiB, from saved outputs. */
function savedPeak(text) {
  const reserved = /Peak reserved memory = ([\d.]+) GB/.exec(text)?.[1];
  const card = /GPU = (?:Tesla |NVIDIA )?([^\\"]+?)\. Max memory = ([\d.]+) GB/.exec(text);
  return reserved === undefined
    ? undefined
    : { reserved: Number(reserved), card: card?.[1], memory: card?.[2] };
}

/** Values that a text file states nothing about come from a machine that has it all. */
function workspaceFor(folder) {
  return new Workspace(new DiskHost([pathToFileURL(folder).href]), {
    settings: () => Object.fromEntries(CARD.map(({ field, value }) => [field, value])),
  });
}

/** The commit of a clone; that of the table where it is a plain copy. */
function commitOf(folder, before) {
  try {
    return execFileSync('git', ['-C', folder, 'rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  } catch {
    return before.commit;
  }
}

const errors = [];
const readAnew = [];
for (const folder of folders) {
  const counts = { files: 0, whole: 0, partly: 0, withheld: 0, 'no run': 0, thrown: 0 };
  const reasons = new Map();
  const outcomes = { notebooks: {}, scripts: {} };
  const workspace = workspaceFor(path.resolve(folder));
  let slowest = 0;
  for await (const file of filesBelow(path.resolve(folder))) {
    const uri = pathToFileURL(file).href;
    const host = new DiskHost([]);
    const text = (await host.readText(uri)) ?? '';
    if (!Workspace.mayBeConfig(uri, text)) continue;
    counts.files += 1;
    const before = performance.now();
    const analysis = await workspace.analyze(uri);
    slowest = Math.max(slowest, performance.now() - before);
    const open = analysis ? decisiveUnread(analysis) : [];
    const kind = !analysis
      ? 'no run'
      : analysis.problems.some(({ code }) => code === 'internal-error')
        ? 'thrown'
        : !analysis.estimate
          ? 'withheld'
          : open.length > 0
            ? 'partly'
            : 'whole';
    counts[kind] += 1;
    const files = file.endsWith('.ipynb') ? outcomes.notebooks : outcomes.scripts;
    const refused = kind === 'withheld' && analysis.problems.some(({ message }) => trainsElsewhere(message));
    const stops = kind === 'withheld' && analysis.problems.some(stopsBefore);
    const outcome = refused ? 'elsewhere' : stops ? 'stops' : kind;
    files[outcome] = (files[outcome] ?? 0) + 1;
    const why =
      kind === 'withheld'
        ? analysis.problems.filter(({ severity }) => severity === 'information').map(({ message }) => message)
        : kind === 'partly'
          ? open.map(({ message }) => message)
          : [];
    for (const one of why.slice(0, 1)) {
      const plain = `${kind}: ${one.replace(/`[^`]*`|"[^"]*"/g, '*').slice(0, 110)}`;
      reasons.set(plain, (reasons.get(plain) ?? 0) + 1);
    }
    if (verbose) console.log(kind.padEnd(9), path.relative(folder, file), why[0] ?? '');
    const saved = savedPeak(text);
    if (saved && analysis?.estimate) {
      const reserved = analysis.estimate.peak.reservedBytes / 2 ** 30;
      errors.push({ file: path.basename(file), ...saved, estimated: reserved, whole: kind === 'whole' });
    }
  }
  const name = path.basename(path.resolve(folder)).replace('+', '/');
  const before = committed.find((one) => one.name === name);
  if (table && before) readAnew.push({ name, commit: commitOf(folder, before), ...outcomes });
  console.log(folder, JSON.stringify(counts), `slowest ${Math.round(slowest)} ms`);
  for (const [reason, count] of [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 25))
    console.log(`  ${count}  ${reason}`);
}
if (table) {
  console.log('\nread now:');
  console.log(tableOf(readAnew));
  const changes = readAnew.flatMap((now) =>
    changesOf(
      committed.find(({ name }) => name === now.name),
      now,
    ),
  );
  for (const change of changes) console.log(change);
  const kept = committed.map((one) => readAnew.find(({ name }) => name === one.name) ?? one);
  if (process.argv.includes('--write')) await writeFile(TABLE, `${JSON.stringify(kept, null, 2)}\n`);
  else if (changes.length > 0) process.exitCode = 1;
}
for (const { file, card, reserved, estimated, whole } of errors.sort((a, b) => a.file.localeCompare(b.file)))
  console.log(
    `${file.slice(0, 60).padEnd(60)} ${String(card).padEnd(20)} saved ${reserved.toFixed(2).padStart(6)} estimated ${estimated.toFixed(2).padStart(6)} ${((estimated / reserved - 1) * 100).toFixed(0).padStart(5)} % ${whole ? '' : 'partly'}`,
  );
