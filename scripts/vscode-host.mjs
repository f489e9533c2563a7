// Runs the compiled suite inside a real VS Code: the desktop's where one can be had, else the served one.
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { launchBrowser } from './browser.mjs';
import { provide } from './requirements.mjs';
import { serveVsCode } from './served-vscode.mjs';

export const SERVED = 'VS Code served to headless Chromium';
const SUITE_LIMIT_MS = 240_000;

/** Answers which VS Code it was, once `result` holds mocha's report. `only` are names of files and a pattern. */
export async function openVsCode({ extension, tests, fixtures, result, only }) {
  // Suites edit files: they get a copy of their own.
  const workspace = await mkdtemp(path.join(os.tmpdir(), 'oomlint-workspace-'));
  try {
    await cp(fixtures, workspace, { recursive: true });
    const run = {
      extension,
      tests,
      workspace,
      env: { OOMLINT_RESULT: result, OOMLINT_ONLY: JSON.stringify(only) },
    };
    const desktop = await desktopVsCode();
    return desktop === undefined ? await inServed(run, result) : await inDesktop(desktop, run);
  } finally {
    await rm(workspace, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whether a desktop VS Code is the first choice here. */
export function wantsDesktop() {
  const host = process.env.OOMLINT_VSCODE;
  return host === undefined ? hasScreen() : host !== 'served';
}

function hasScreen() {
  return process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
}

/** Path of a desktop VS Code: named, or downloaded where that is possible and there is a screen to show it on. */
async function desktopVsCode() {
  const host = process.env.OOMLINT_VSCODE;
  if (host === 'served') {
    return undefined;
  }
  if (host !== undefined && host !== 'desktop') {
    return host;
  }
  if (!hasScreen()) {
    return undefined;
  }
  // A short question first: without a network a download would be retried for minutes.
  const reachable = await fetch('https://update.code.visualstudio.com/api/releases/stable', {
    signal: AbortSignal.timeout(5000),
  }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!reachable) {
    return undefined;
  }
  const { downloadAndUnzipVSCode } = await import('@vscode/test-electron');
  return downloadAndUnzipVSCode({ version: process.env.OOMLINT_VSCODE_VERSION ?? 'stable' }).catch(
    (error) => {
      console.log(`Desktop VS Code could not be downloaded: ${error.message}`);
      return undefined;
    },
  );
}

async function inDesktop(vscodeExecutablePath, { extension, tests, workspace, env }) {
  const { runTests } = await import('@vscode/test-electron');
  const user = await mkdtemp(path.join(os.tmpdir(), 'oomlint-user-'));
  try {
    await runTests({
      vscodeExecutablePath,
      extensionDevelopmentPath: extension,
      extensionTestsPath: tests,
      extensionTestsEnv: env,
      launchArgs: [
        workspace,
        '--disable-extensions',
        '--disable-workspace-trust',
        '--user-data-dir',
        user,
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      ],
    }).catch((error) => {
      // Failed tests end it with an error too; the report tells which.
      if (!existsSync(env.OOMLINT_RESULT)) {
        throw error;
      }
    });
    return 'desktop VS Code';
  } finally {
    await rm(user, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function inServed({ extension, tests, workspace, env }, result) {
  // The address of a served editor takes one extension under development; others are installed.
  const [own, ...others] = [extension].flat();
  await provide({ browser: true, vscode: true });
  const browser = await launchBrowser();
  try {
    const server = await serveVsCode({ env, extensions: others });
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      const printed = [];
      page.on('console', (message) => printed.push(message.text()));
      await page.goto(server.url(workspace, own, tests));
      const until = Date.now() + SUITE_LIMIT_MS;
      while (!(await isWritten(result))) {
        if (Date.now() > until) {
          throw new Error(
            `No report after ${SUITE_LIMIT_MS / 1000} s.\n${[...printed.slice(-15), server.output().slice(-2000)].join('\n')}`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      return SERVED;
    } finally {
      await server.stop();
    }
  } finally {
    await browser.close();
  }
}

async function isWritten(file) {
  try {
    JSON.parse(await readFile(file, 'utf8'));
    return true;
  } catch {
    return false;
  }
}
