// A real VS Code without a desktop: the one inside the npm package code-server, served to a browser.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';

const VERSION = '4.139.1';
/** VS Code's server compiles native modules for this Node; its npm package brings the headers along. */
const NODE_VERSION = '24';
const SYSTEM_PACKAGES =
  'python3 make g++ pkg-config libkrb5-dev libx11-dev libxkbfile-dev libsecret-1-dev chromium';

const cache = path.join(
  process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'),
  'oomlint',
  `vscode-${VERSION}`,
);

/** Installs the served VS Code where it is not yet; minutes the first time, nothing later. */
async function installed() {
  const nodeFolder = path.join(cache, 'node');
  const serverFolder = path.join(cache, 'server');
  const done = path.join(cache, 'installed');
  if (!existsSync(done)) {
    console.log(`Installing code-server ${VERSION} in ${cache}: some minutes, once.`);
    await emptyProject(nodeFolder);
    await npmInstall(nodeFolder, `node@${NODE_VERSION}`, {});
    await emptyProject(serverFolder);
    const headers = nodeHome(nodeFolder);
    await npmInstall(serverFolder, `code-server@${VERSION}`, {
      PATH: `${path.join(headers, 'bin')}${path.delimiter}${process.env.PATH}`,
      npm_config_nodedir: headers,
      npm_config_unsafe_perm: 'true',
    });
    await writeFile(done, '');
  }
  return {
    node: path.join(nodeHome(nodeFolder), 'bin', 'node'),
    server: path.join(serverFolder, 'node_modules', 'code-server', 'lib', 'vscode', 'out', 'server-main.js'),
  };
}

function nodeHome(folder) {
  const name = `node-${process.platform}-${process.arch}`;
  const modules = path.join(folder, 'node_modules');
  const places = [path.join(modules, 'node', 'node_modules', name), path.join(modules, name)];
  const place = places.find((candidate) => existsSync(candidate));
  if (place === undefined) {
    throw new Error(`The npm package node@${NODE_VERSION} has no binary for ${name}.`);
  }
  return place;
}

async function emptyProject(folder) {
  // What an install that broke off left behind would be taken for installed.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "private": true }\n');
}

/**
 * Under `npm test` the environment describes that npm and its Node, and installs that look at it take the wrong one.
 * How to reach a registry stays.
 */
function outerEnvironment() {
  const kept = /^npm_config_(registry|cache|userconfig|cafile|proxy|https_proxy|https-proxy|noproxy)$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || kept.test(name)),
  );
}

function npmInstall(folder, what, env) {
  return new Promise((resolve, reject) => {
    const output = [];
    const child = spawn('npm', ['install', what, '--no-audit', '--no-fund'], {
      cwd: folder,
      env: { ...outerEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.on('data', (data) => output.push(String(data)));
    child.stderr.on('data', (data) => output.push(String(data)));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(
            new Error(
              `npm install ${what} ended with ${code}. It needs the system packages ${SYSTEM_PACKAGES}.\n${output.join('').slice(-3000)}`,
            ),
          ),
    );
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Starts the server. `url(folder, extension, tests)` is the address of an editor on a folder with the extension under
 * development loaded, running the compiled suite `tests` where one is named. `extensions` are folders of others to install.
 */
export async function serveVsCode({ env = {}, settings = {}, extensions = [], port: wanted } = {}) {
  const { node, server } = await installed();
  const data = await mkdtemp(path.join(os.tmpdir(), 'oomlint-vscode-'));
  await mkdir(path.join(data, 'data', 'Machine'), { recursive: true });
  await writeFile(
    path.join(data, 'data', 'Machine', 'settings.json'),
    JSON.stringify({
      'workbench.startupEditor': 'none',
      'workbench.welcomePage.walkthroughs.openOnInstall': false,
      'workbench.tips.enabled': false,
      'workbench.secondarySideBar.defaultVisibility': 'hidden',
      'chat.disableAIFeatures': true,
      'telemetry.telemetryLevel': 'off',
      'extensions.autoCheckUpdates': false,
      'extensions.ignoreRecommendations': true,
      'git.openRepositoryInParentFolders': 'never',
      ...settings,
    }),
  );
  for (const folder of extensions) {
    await cp(folder, path.join(data, 'extensions', path.basename(folder)), { recursive: true });
  }
  const port = wanted ?? (await freePort());
  const authority = `127.0.0.1:${port}`;
  const child = spawn(
    node,
    [
      server,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--without-connection-token',
      '--accept-server-license-terms',
      '--server-data-dir',
      data,
      '--telemetry-level',
      'off',
      '--disable-workspace-trust',
      // Without it a built workbench ignores what the address says about extensions under development.
      '--enable-smoke-test-driver',
    ],
    { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const output = [];
  child.stdout.on('data', (text) => output.push(String(text)));
  child.stderr.on('data', (text) => output.push(String(text)));
  const ended = new Promise((resolve) => child.on('close', resolve));
  await ready(`http://${authority}/`, child, output);
  return {
    output: () => output.join(''),
    url(folder, extension, tests) {
      const remote = (file) => `vscode-remote://${authority}${file}`;
      const payload = [['extensionDevelopmentPath', remote(extension)]];
      if (tests !== undefined) {
        payload.push(['extensionTestsPath', remote(tests)]);
      }
      return `http://${authority}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
    },
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(late);
      await rm(data, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function ready(address, child, output) {
  const until = Date.now() + 60_000;
  while (Date.now() < until) {
    if (child.exitCode !== null) {
      throw new Error(`VS Code's server ended with ${child.exitCode}.\n${output.join('')}`);
    }
    const answer = await fetch(address).catch(() => undefined);
    if (answer) {
      await answer.arrayBuffer();
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  child.kill('SIGKILL');
  throw new Error(`VS Code's server did not answer.\n${output.join('')}`);
}
