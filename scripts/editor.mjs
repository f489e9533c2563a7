// Opens VS Code on examples/ (or a folder named on the command line) with this extension loaded.
import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { provide } from './requirements.mjs';
import { serveVsCode } from './served-vscode.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const folder = path.resolve(process.argv[2] ?? path.join(root, 'examples'));

const desktop = process.env.OOMLINT_VSCODE === 'served' ? undefined : findDesktop();
if (!desktop) {
  await provide({ vscode: true }).catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}
execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' });

if (desktop) {
  execFileSync(desktop, [`--extensionDevelopmentPath=${root}`, folder], {
    stdio: 'ignore',
    shell: process.platform === 'win32',
  });
  console.log(`VS Code opens ${folder} with Oomlint.`);
} else {
  console.log('There is no desktop VS Code here, so one is served to your browser.');
  const port = process.env.PORT ? Number(process.env.PORT) : undefined;
  const server = await serveVsCode({ port });
  console.log(`\n  ${server.url(folder, root)}\n\nIt runs until Ctrl+C, and answers this machine only.`);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => server.stop());
  }
}

/** `code` on the path, where there is a screen to show it on. */
function findDesktop() {
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    return undefined;
  }
  const name = process.env.OOMLINT_VSCODE ?? 'code';
  const { status } = spawnSync(name, ['--version'], { stdio: 'ignore', shell: process.platform === 'win32' });
  return status === 0 ? name : undefined;
}
