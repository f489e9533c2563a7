// A real VS Code without a desktop: the one inside the npm package code-server, served to a browser.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { CACHE, npmInstall } from './npm-cache.mjs';

const VERSION = '4.139.1';
/** VS Code's server compiles native modules for this Node; its npm package brings the headers along. */
const NODE_VERSION = '24';

const cache = path.join(CACHE, `vscode-${VERSION}`);
const nodeFolder = path.join(cache, 'node');
const serverFolder = path.join(cache, 'server');
const done = path.join(cache, 'installed');

export function vsCodeIsInstalled() {
  return existsSync(done);
}

/** Minutes, once. Needs what `requirements.mjs` looks for. */
export async function installVsCode() {
  await npmInstall(nodeFolder, `node@${NODE_VERSION}`, {});
  const headers = nodeHome();
  await npmInstall(serverFolder, `code-server@${VERSION}`, {
    PATH: `${path.join(headers, 'bin')}${path.delimiter}${process.env.PATH}`,
    npm_config_nodedir: headers,
    npm_config_unsafe_perm: 'true',
  });
  await writeFile(done, '');
}

function nodeHome() {
  const name = `node-${process.platform}-${process.arch}`;
  const modules = path.join(nodeFolder, 'node_modules');
  const places = [path.join(modules, 'node', 'node_modules', name), path.join(modules, name)];
  const place = places.find((candidate) => existsSync(candidate));
  if (place === undefined) {
    throw new Error(`The npm package node@${NODE_VERSION} has no binary for ${name}.`);
  }
  return place;
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
  if (!vsCodeIsInstalled()) {
    throw new Error('No VS Code to serve is installed: node scripts/requirements.mjs vscode');
  }
  const node = path.join(nodeHome(), 'bin', 'node');
  const modules = path.join(serverFolder, 'node_modules');
  const server = path.join(modules, 'code-server', 'lib', 'vscode', 'out', 'server-main.js');
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
      // Without it a built workbench ignores what the address states about extensions under development.
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
