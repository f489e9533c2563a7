// Runs the suites: node scripts/test.mjs [unit|protocol|page|vscode]...   (none named: all)
// Ends in one line, `N passed, N failed`, whatever happened before it. A suite that cannot run counts as failed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openVsCode, SERVED } from './vscode-host.mjs';
import { unpackVsix } from './vsix.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Of this run alone: two runs at once do not read each other's reports. */
const results = path.join(root, 'out', 'results', String(process.pid));
const KINDS = ['unit', 'protocol', 'page', 'vscode'];
const totals = { passed: 0, failed: 0, skipped: 0 };

const asked = process.argv.slice(2);
const unknown = asked.filter((kind) => !KINDS.includes(kind));
const kinds = asked.length > 0 ? KINDS.filter((kind) => asked.includes(kind)) : KINDS;

try {
  if (unknown.length > 0) {
    throw new Error(`There is no suite ${unknown.join(', ')}; there are ${KINDS.join(', ')}.`);
  }
  await mkdir(results, { recursive: true });
  await run(process.execPath, ['scripts/build.mjs', '--tests']);
  await removeStaleTests();
  if (asked.length === 0) {
    await check();
  }
  for (const kind of kinds) {
    await (kind === 'vscode' ? inVsCode() : withMocha(kind));
  }
} catch (error) {
  cannotRun('tests', error);
}

await rm(results, { recursive: true, force: true });
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`);
// Set, not called: what is still in the pipe to a slow reader is written out.
process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;

/** Bundles of tests whose source is gone must not run. */
async function removeStaleTests() {
  const built = path.join(root, 'out', 'test');
  for (const name of await readdir(built, { recursive: true })) {
    if (name.endsWith('.js') && !existsSync(path.join(root, 'test', name.replace(/\.js$/, '.ts')))) {
      await rm(path.join(built, name));
    }
  }
}

/** Types, style and lint. They are no tests, so they count only when they fail. */
async function check() {
  const output = [];
  await run(npm(), ['run', '--silent', 'check'], { output }).catch((error) => cannotRun('check', error));
}

async function withMocha(kind) {
  const file = path.join(results, `${kind.replace('/', '-')}.json`);
  const mocha = path.join(root, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const args = ['--reporter', 'json', '--reporter-option', `output=${file}`, '--timeout', '30000'];
  const output = [];
  await run(process.execPath, [mocha, ...args, `out/test/${kind}/**/*.test.js`], { output, mayFail: true });
  await report(kind, file, () => output.join(''));
}

async function inVsCode() {
  const host = await inOneVsCode('vscode', root);
  // A desktop's window cannot be driven from outside; the served one can, and is there already.
  if (host === SERVED) {
    await withMocha('vscode/workbench');
  }
  try {
    const output = [];
    await run(npm(), ['run', 'package'], { output, mayFail: false });
    const extension = await unpackVsix(
      path.join(root, 'out', 'oomlint.vsix'),
      path.join(root, 'out', 'vsix'),
    );
    await inOneVsCode('vscode, packaged', extension);
  } catch (error) {
    cannotRun('vscode, packaged', error);
  }
}

async function inOneVsCode(name, extension) {
  const file = path.join(results, `${name.replace(/\W+/g, '-')}.json`);
  try {
    const host = await openVsCode({
      // A stand-in for the YAML extension, which takes schemas from others.
      extension: [extension, path.join(root, 'test', 'vscode', 'yaml-extension')],
      tests: path.join(root, 'out', 'test', 'vscode', 'index'),
      fixtures: path.join(root, 'test', 'vscode', 'workspace'),
      result: file,
    });
    await report(`${name} (${host})`, file, () => '');
    return host;
  } catch (error) {
    cannotRun(name, error);
    return undefined;
  }
}

async function report(name, file, output) {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    cannotRun(name, new Error(output() || 'The suite ended without a report.'));
    return;
  }
  const { stats, failures } = JSON.parse(text);
  if (stats.tests === 0) {
    cannotRun(name, new Error('No tests were found.'));
    return;
  }
  totals.passed += stats.passes;
  totals.failed += failures.length;
  totals.skipped += stats.pending;
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
  return text
    .split('\n')
    .slice(0, 120)
    .map((line) => `      ${line}`)
    .join('\n');
}

function npm() {
  return process.platform === 'win32' ? 'npm.cmd' : 'npm';
}

/** Runs a program in the repository. Its text goes to `output`, or through to ours. */
function run(command, args, { output, mayFail = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      shell: command.endsWith('.cmd'),
      // What is captured is read without a terminal.
      env: output ? { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined } : process.env,
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
