// Runs tests: node scripts/test.mjs [SUITE|FILE|FOLDER]... [-g PATTERN] [--watch] [--release]   (nothing named: everything)
// Ends in one line, `N passed, N failed`, whatever happened before it. A suite that cannot run counts as failed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { provide } from './requirements.mjs';
import { openVsCode, SERVED, wantsDesktop } from './vscode-host.mjs';
import { unpackVsix } from './vsix.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Of this run alone: two runs at once do not read each other's reports. */
const results = path.join(root, 'out', 'results', String(process.pid));
const KINDS = ['unit', 'sweep', 'protocol', 'packages', 'page', 'vscode'];
/** A name alone is looked for where neither a browser nor a VS Code has to start. */
const QUICK_KINDS = ['unit', 'sweep', 'protocol'];
/** How often a file is tried again that failed in a browser: a machine may be slow for minutes. Each failure is printed. */
const TRIES = 2;
/** Suites whose files share nothing but the engine, so that several processes may take them. */
const PARALLEL = ['unit', 'sweep'];
const TIMEOUT_MS = 60_000;
/** Most of what a test makes is gone with it: with room for more of that, V8 collects a quarter as often (MB). */
const YOUNG = '--max-semi-space-size=64';
const SOURCES = ['client', 'server/src', 'server/data', 'test', 'l10n'];
const WATCHED = ['--watch', '--reporter', 'dot', ...SOURCES.flatMap((folder) => ['--watch-files', folder])];
/** What people install, each walked through from a clean folder by what is packed: the door, and what its tests are called. */
const DOORS = {
  npm: 'the npm package',
  PyPI: 'the Python package',
  'pre-commit': 'hooks of pre-commit',
  container: 'the image',
  releases: 'what a release does',
  action: 'the GitHub action',
  'other editors': 'other editors',
  'VS Code': 'vscode, packaged',
  web: 'VS Code for the Web',
};
/** Doors whose tests passed, and those of which one failed or was left out. */
const doors = { open: new Set(), shut: new Set() };
/** What tests have to say that is no failure, a line each. */
const notes = path.join(results, 'notes.txt');
/** How long the files of a suite took the last time; where it is not known all are as they come. */
const durations = path.join(root, 'out', 'durations.json');
const totals = { passed: 0, failed: 0, skipped: 0 };

try {
  const { kinds, files, grep, watch, everything } = whatIsAsked();
  await mkdir(results, { recursive: true });
  process.env.OOMLINT_NOTES = notes;
  // Before minutes of building and testing: what cannot be had stops the run at once.
  await provide(requirementsOf(kinds, files));
  await run(process.execPath, ['scripts/build.mjs', '--tests']);
  if (watch) {
    await run(process.execPath, [...mochaOn(files, grep), ...WATCHED], { mayFail: true });
  }
  if (everything) {
    await check();
  }
  for (const kind of watch ? [] : kinds) {
    const own = files.filter((file) => file.startsWith(`test/${kind}/`));
    await (kind === 'vscode'
      ? inVsCode(own, grep)
      : withMocha(kind, own, grep, everything, kind === 'page' ? TRIES : 0));
  }
  if (totals.passed + totals.failed === 0 && !watch) {
    throw new Error(`No test has a name like ${grep}.`);
  }
} catch (error) {
  cannotRun('tests', error);
}

await rm(results, { recursive: true, force: true });
if (doors.open.size > 1) {
  const all = Object.keys(DOORS);
  const walked = all.filter((door) => doors.open.has(door) && !doors.shut.has(door));
  console.log(
    `${walked.length} of ${all.length} doors walked through, as they are packed: ${walked.join(', ')}`,
  );
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
// Set, not called: what is still in the pipe to a slow reader is written out.
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;

/** Suites are named as such; anything else is a path in `test`. */
function whatIsAsked() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      grep: { type: 'string', short: 'g' },
      watch: { type: 'boolean' },
      release: { type: 'boolean' },
    },
  });
  if (values.release) {
    // Every case, and nothing left to translate.
    Object.assign(process.env, { OOMLINT_LONG: '1', OOMLINT_RELEASE: '1' });
  }
  const suites = positionals.filter((name) => KINDS.includes(name));
  const files = positionals.filter((name) => !KINDS.includes(name)).map(testFile);
  const kinds = KINDS.filter(
    (kind) => suites.includes(kind) || files.some((file) => file.startsWith(`test/${kind}/`)),
  );
  if (values.watch && files.some((file) => file.startsWith('test/vscode/'))) {
    throw new Error('Tests inside VS Code cannot be watched.');
  }
  if (values.watch && positionals.length === 0) {
    throw new Error('Name what to watch: npm run test:watch -- test/unit/memory');
  }
  const named = positionals.length > 0;
  return {
    kinds: named ? kinds : values.grep === undefined ? KINDS : QUICK_KINDS,
    files: values.watch ? [...files, ...suites.map((kind) => `test/${kind}`)] : files,
    grep: values.grep,
    watch: values.watch,
    everything: !named && values.grep === undefined,
  };
}

/** Where a desktop VS Code can be shown it is tried first, and the served one is got only when it cannot be had. */
function requirementsOf(kinds, files) {
  const workbench = files.some((file) => file.startsWith('test/vscode/workbench'));
  const served = kinds.includes('vscode') && (workbench || !wantsDesktop());
  return { browser: served || kinds.includes('page'), vscode: served };
}

/** A test file or a folder of them, as a path from the root. */
function testFile(name) {
  const file = path.relative(root, path.resolve(name)).replaceAll('\\', '/');
  if (!existsSync(path.join(root, file)) || !KINDS.some((kind) => file.startsWith(`test/${kind}/`))) {
    throw new Error(`There is no suite and no test file ${name}. Suites are ${KINDS.join(', ')}.`);
  }
  return file;
}

/** Types, style and lint. They are no tests, so they count only when they fail. */
async function check() {
  const output = [];
  await run(npm(), ['run', '--silent', 'check'], { output }).catch((error) => cannotRun('check', error));
}

/** The command line of mocha on test files and folders of them. */
function mochaOn(places, grep) {
  return [
    path.join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'),
    ...[
      '--require',
      './scripts/typescript.cjs',
      '--require',
      './test/house/properties.ts',
      '--require',
      './test/house/own-process.ts',
      '--timeout',
      String(TIMEOUT_MS),
    ],
    ...(grep === undefined ? [] : ['--grep', grep]),
    ...places.map((place) => (place.endsWith('.ts') ? place : `${place}/**/*.test.ts`)),
  ];
}

/**
 * The suite, or some of its files. What is looked at alone tells its tests one by one. `again`: how often files with a failure are
 * run a second time, in a browser of their own, and that counts; both is printed.
 */
async function withMocha(kind, files, grep, quiet, again = 0) {
  const report = path.join(results, `${kind.replace('/', '-')}.json`);
  const alone = files.length > 0 || grep !== undefined;
  const parallel = PARALLEL.includes(kind) && files.length === 0;
  const places = files.length > 0 ? files : parallel ? await longestFirst(kind) : [`test/${kind}`];
  const args = mochaOn(places, grep);
  args.push(
    '--reporter',
    alone ? 'scripts/spec-and-json.cjs' : 'json',
    '--reporter-option',
    `output=${report}`,
  );
  if (parallel) {
    args.push('--parallel', '--jobs', String(os.availableParallelism()));
  }
  const output = [];
  // Its workers have no options of their own.
  const more = parallel ? { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${YOUNG}`.trim() } : {};
  await run(process.execPath, args, { output: quiet ? output : undefined, mayFail: true, more });
  const failed = again > 0 ? await failedFiles(report) : [];
  if (parallel && grep === undefined) await keepDurations(kind, report);
  await tell(kind, report, () => output.join(''), alone, failed);
  if (failed.length > 0) {
    console.log(`  once more, as a hand may be faster than a busy browser: ${failed.join(', ')}`);
    await withMocha(kind, failed, grep, quiet, again - 1);
  }
  const noted = await readFile(notes, 'utf8').catch(() => '');
  if (noted !== '') {
    console.log(indent(noted.trimEnd()));
  }
  await rm(notes, { force: true });
}

/** Test files of a suite, those first that took longest the last time, and before them those that nothing is known of. */
async function longestFirst(kind) {
  const took = JSON.parse(await readFile(durations, 'utf8').catch(() => '{}'));
  const entries = await readdir(path.join(root, 'test', kind), { recursive: true });
  const files = entries.filter((name) => name.endsWith('.test.ts')).map((name) => `test/${kind}/${name}`);
  const time = (file) => took[file.replaceAll('\\', '/')] ?? Number.MAX_VALUE;
  return files.sort().sort((a, b) => time(b) - time(a));
}

/** Milliseconds of each file, for the next run: processes that share a suite end together where the longest begin. */
async function keepDurations(kind, report) {
  const { tests } = JSON.parse(await readFile(report, 'utf8').catch(() => '{"tests":[]}'));
  const known = JSON.parse(await readFile(durations, 'utf8').catch(() => '{}'));
  const took = Object.fromEntries(
    Object.entries(known).filter(([name]) => !name.startsWith(`test/${kind}/`)),
  );
  for (const { file, duration = 0 } of tests) {
    if (file === undefined) continue;
    const name = path.relative(root, file).replaceAll('\\', '/');
    took[name] = (took[name] ?? 0) + duration;
  }
  if (tests.length > 0) await writeFile(durations, JSON.stringify(took));
}

async function inVsCode(files, grep) {
  const workbench = files.filter((file) => file.startsWith('test/vscode/workbench'));
  const inside = files.filter((file) => !workbench.includes(file));
  const all = files.length === 0;
  const host = all || inside.length > 0 ? await inOneVsCode('vscode', root, inside, grep) : SERVED;
  // A desktop's window cannot be driven from outside; the served one can, and is there already.
  if (host === SERVED && (all || workbench.length > 0)) {
    await withMocha('vscode/workbench', workbench, grep, false, TRIES);
  }
  if (!all || grep !== undefined) {
    return;
  }
  try {
    const output = [];
    await run(npm(), ['run', 'package'], { output, mayFail: false });
    const extension = await unpackVsix(
      path.join(root, 'out', 'oomlint.vsix'),
      path.join(root, 'out', 'vsix'),
    );
    await inOneVsCode('vscode, packaged', extension, []);
  } catch (error) {
    cannotRun('vscode, packaged', error);
  }
}

async function inOneVsCode(name, extension, files, grep) {
  const file = path.join(results, `${name.replace(/\W+/g, '-')}.json`);
  try {
    const host = await openVsCode({
      // A stand-in for the YAML extension, which takes schemas from others.
      extension: [extension, path.join(root, 'test', 'vscode', 'yaml-extension')],
      tests: path.join(root, 'out', 'test', 'vscode', 'index'),
      fixtures: path.join(root, 'test', 'vscode', 'workspace'),
      result: file,
      only: { files: files.map((test) => path.basename(test, '.ts')), grep },
    });
    await tell(`${name} (${host})`, file, () => '');
    return host;
  } catch (error) {
    cannotRun(name, error);
    return undefined;
  }
}

/** The test files, as paths from the root, that have a failure by a report. */
async function failedFiles(report) {
  const { failures } = JSON.parse(await readFile(report, 'utf8').catch(() => '{"failures":[]}'));
  const files = failures.map(({ file }) => file).filter((file) => file !== undefined);
  return [...new Set(files)].map((file) => path.relative(root, file).replaceAll('\\', '/'));
}

/**
 * Counts what mocha reported, but for the files that are run `again`. Failures that were shown as they happened are not
 * reported again.
 */
async function tell(name, file, output, shown = false, again = []) {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    cannotRun(name, new Error(output() || 'The suite ended without a report.'));
    return;
  }
  const { stats, passes, failures, pending = [] } = JSON.parse(text);
  if (stats.tests === 0 && !shown) {
    cannotRun(name, new Error('No tests were found.'));
    return;
  }
  const repeated = new Set(again.map((place) => path.join(root, place)));
  const once = (all) => all.filter((test) => !repeated.has(test.file));
  totals.passed += once(passes).length;
  totals.failed += once(failures).length;
  totals.skipped += stats.pending;
  const isOf = (title) => (test) => name.startsWith(title) || test.fullTitle.startsWith(title);
  for (const [door, title] of Object.entries(DOORS)) {
    if (once(passes).some(isOf(title))) doors.open.add(door);
    if ([...once(failures), ...pending].some(isOf(title))) doors.shut.add(door);
  }
  if (shown) {
    return;
  }
  console.log(
    `${name}: ${stats.passes} passed, ${failures.length} failed in ${(stats.duration / 1000).toFixed(1)} s`,
  );
  for (const { fullTitle, err } of failures) {
    console.log(`\n  ✗ ${fullTitle}\n${indent(err.stack || err.message || JSON.stringify(err))}`);
    if (err.actual !== undefined && !String(err.stack).includes(String(err.actual))) {
      console.log(indent(`actual:   ${err.actual}\nexpected: ${err.expected}`));
    }
  }
}

function cannotRun(name, error) {
  totals.failed += 1;
  console.log(
    `\n  ✗ ${name} could not run\n${indent(error instanceof Error ? error.message : String(error))}`,
  );
}

function indent(text) {
  return stripVTControlCharacters(text)
    .split('\n')
    .slice(0, 120)
    .map((line) => `      ${line}`)
    .join('\n');
}

function npm() {
  return process.platform === 'win32' ? 'npm.cmd' : 'npm';
}

/** Runs a program in the repository, with `more` variables. Its text goes to `output`, or through to ours. */
function run(command, args, { output, mayFail = false, more = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      shell: command.endsWith('.cmd'),
      // What is captured is read without a terminal.
      env: { ...process.env, ...(output ? { NO_COLOR: '1', FORCE_COLOR: undefined } : {}), ...more },
      stdio: ['ignore', output ? 'pipe' : 'inherit', output ? 'pipe' : 'inherit'],
    });
    child.stdout?.on('data', (data) => output?.push(String(data)));
    child.stderr?.on('data', (data) => output?.push(String(data)));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 || mayFail
        ? resolve()
        : reject(new Error(`${command} ${args.join(' ')} ended with ${code}.\n${output?.join('') ?? ''}`)),
    );
  });
}
