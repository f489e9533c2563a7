// Builds what ships, measures it and prints a table: node scripts/bench.mjs [--no-package]
// Times are milliseconds, as they were and as a machine would take them whose empty Node program takes 40: budgets are held to those. Memory is
// the most that was resident, in MB.
// Nothing fails here.
import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const BUDGETS = {
  'estimate, 12 layers': 1,
  'estimate, 96 layers': 1,
  'estimate, 12 layers, another cluster': 1,
  'estimate, 96 layers, another cluster': 1,
  'hover after an edit, 1,000 lines': 5,
  'hover after an edit, 1,000 lines of YAML': 5,
  'diagnostics after an edit, 1,000 lines': 15,
  'server, spawn to initialize': 200,
  'inlay hints after an edit, 1,000 lines': 5,
  'keystroke to lens and hints, 1,000 lines': 100,
  'keystroke to lens and hints, 1,000 lines of Python': 100,
  'Python without a trainer, 1,000 lines': 1,
  'breakdown of a notebook of 10 MB': 500,
  'command line on one file, over bare Node': 150,
  'check of 10,000 files with 50 configs': 3000,
  'check of 50,000 files without a config': 20_000,
  'memory of the check of 50,000 files': 300,
  'diff of two commits': 2000,
  'oomlint mcp, spawn to initialize': 300,
  'view of configs, 10,000 files, first': 3000,
  'view of configs, 10,000 files, again': 500,
  'view of configs, 10,000 files, after an edit': 200,
  'processor time of the view of configs, again': 250,
  // What is left is one look in three seconds whether the editor still lives.
  'processor time in 30 s, no config open': 5,
  'processor time in 30 s, configs open and left alone': 5,
};
/**
 * What an empty program takes on no fast machine under Node 20: a maintainer of Node reports 30 ms (https://github.com/nodejs/node/issues/52804).
 */
const ORDINARY_MS = 40;
const EMPTY_ROUNDS = 9;
/** Time of the processor alone does not grow where others use it, too. */
const OF_PROCESSOR = /^processor time/;
/** The most memory that was resident, in MB, which is the same on a slow machine. */
const OF_MEMORY = /^memory of/;
const VSIX_BUDGET_MB = 2;
/** What takes longer waits for something that does not come. */
const PATIENCE_MS = 600_000;
const BUNDLES = ['client/dist/extension.js', 'client/dist/panel.js', 'server/dist/engine.js'];

await run(process.execPath, ['scripts/build.mjs', '--production', '--tests']);
const rows = [['what', 'median', 'p95', 'ordinary', 'budget']];
for (const bench of ['estimate', 'server', 'hints', 'workspace', 'python', 'doors', 'side-by-side']) {
  const before = await emptyProgram();
  const output = await run(process.execPath, [`out/test/bench/${bench}.bench.js`]);
  // Before and after: what else the machine does changes meanwhile.
  const empty = quantile([...before, ...(await emptyProgram())].sort(ascending), 0.5);
  for (const [name, times] of Object.entries(JSON.parse(output.trim().split('\n').at(-1))))
    rows.push(timeRow(name, times.toSorted(ascending), empty));
}
for (const bundle of BUNDLES) {
  const bytes = await readFile(path.join(root, bundle));
  rows.push([`${bundle} (kB)`, kilobytes(bytes.length), `gzip ${kilobytes(gzipSync(bytes).length)}`, '', '']);
}
rows.push(await vsix());
print(rows);

async function vsix() {
  if (process.argv.includes('--no-package')) {
    return ['oomlint.vsix (MB)', 'not packaged', '', '', String(VSIX_BUDGET_MB)];
  }
  try {
    await run(process.execPath, ['scripts/package.mjs']);
    const megabytes = (await stat(path.join(root, 'out', 'oomlint.vsix'))).size / 1e6;
    return [
      'oomlint.vsix (MB)',
      megabytes.toFixed(2),
      '',
      '',
      `${VSIX_BUDGET_MB}${megabytes < VSIX_BUDGET_MB ? '' : '  over'}`,
    ];
  } catch (error) {
    return ['oomlint.vsix (MB)', `not packaged: ${String(error.message).split('\n')[0]}`, '', '', ''];
  }
}

/** Times of programs that do nothing, now. */
async function emptyProgram() {
  const times = [];
  for (let i = 0; i < EMPTY_ROUNDS; i += 1) {
    const start = performance.now();
    await run(process.execPath, ['-e', '0']);
    times.push(performance.now() - start);
  }
  return times;
}

/** What was measured, and of times what an ordinary machine takes by how long an empty program took here. */
function timeRow(name, sorted, empty) {
  const median = quantile(sorted, 0.5);
  const isMemory = OF_MEMORY.test(name);
  const ordinary = isMemory || OF_PROCESSOR.test(name) ? median : (median * ORDINARY_MS) / empty;
  const budget = BUDGETS[name];
  const held = budget === undefined ? '' : `${budget}${ordinary < budget ? '' : '  over'}`;
  return [
    `${name} (${isMemory ? 'MB' : 'ms'})`,
    median.toFixed(2),
    quantile(sorted, 0.95).toFixed(2),
    ordinary.toFixed(2),
    held,
  ];
}

function ascending(a, b) {
  return a - b;
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function kilobytes(bytes) {
  return (bytes / 1000).toFixed(0);
}

function print(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  for (const row of table) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
    );
    console.log(cells.join('  ').trimEnd());
  }
}

/** Standard output of a program; rejects with what it printed when it fails. */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MS,
    });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      complaint += chunk;
      // What is left out, and how to have it.
      if (args[0]?.endsWith('.bench.js')) {
        process.stderr.write(chunk);
      }
    });
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve(output)
        : reject(new Error(complaint.trim() || output.trim() || `${args[0]}: ${code}`)),
    );
  });
}
