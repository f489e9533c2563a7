// Builds what ships and packs it: out/oomlint.vsix; with --pre-release for those who chose pre-releases (odd minor versions). The same commit gives the same bytes: files in it are dated by the commit.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const vsce = path.join('node_modules', '@vscode', 'vsce', 'vsce');
const env = { ...process.env, SOURCE_DATE_EPOCH: process.env.SOURCE_DATE_EPOCH ?? dateOfCommit() };
const node = (...args) => execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit', env });

const channel = process.argv.includes('--pre-release') ? ['--pre-release'] : [];
mkdirSync(path.join(root, 'out'), { recursive: true });
node('scripts/build.mjs', '--production', '--extension');
node('--require', './scripts/small-deflate.cjs', vsce, 'package', '--no-dependencies', '--out', path.join('out', 'oomlint.vsix'), ...channel);

/** Seconds; of 2020 where there is no git, as in a source archive. */
function dateOfCommit() {
  try {
    return execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '1577836800';
  }
}
