// What the packages of npm and PyPI share: command line and language server as minified bundles, licences, manual page, completions.
import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { copyParser, doorsBundle, GRAMMAR, MODULES, PANEL, THREADS, withTablesBeside } from './modules.mjs';
import { bundledPackages, writeNotices } from './notices.mjs';

export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** What both packages say of themselves. */
export async function product() {
  const { version, license, repository, homepage, bugs, keywords } = JSON.parse(
    await readFile(path.join(ROOT, 'package.json'), 'utf8'),
  );
  const description = 'Does this training run fit the GPU? Peak memory of training configs, before the run.';
  return { version, license, repository, homepage, bugs, keywords, description };
}

/** Bundles into a folder what starts `doors`, with the licences of what it holds in `notices`. */
export async function bundleServer(folder, notices, doors = ['cli', 'server']) {
  await mkdir(folder, { recursive: true });
  const made = await build(doorsBundle(folder, { doors, minify: true }));
  const threads = await build({
    ...MODULES,
    plugins: withTablesBeside(folder),
    entryPoints: THREADS,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    minify: true,
  });
  await copyParser(folder);
  const page = await build({
    ...PANEL,
    outfile: path.join(folder, 'panel.js'),
    minify: true,
    metafile: true,
  });
  const metafiles = [made, threads, page].map(({ metafile }) => metafile);
  const outputs = metafiles.flatMap((one) => Object.keys(one.outputs));
  const packages = await bundledPackages(metafiles, outputs, ROOT, [GRAMMAR]);
  await writeNotices(packages, notices);
}

/** The manual page and completions, printed by the bundled command line: [where people's systems look below `share`, text]. */
export function shellFiles(cli) {
  const printed = (...args) =>
    execFileSync(process.execPath, [cli, ...args], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    });
  return [
    ['man/man1/oomlint.1', printed('man')],
    ['bash-completion/completions/oomlint', printed('completion', 'bash')],
    ['zsh/site-functions/_oomlint', printed('completion', 'zsh')],
    ['fish/vendor_completions.d/oomlint.fish', printed('completion', 'fish')],
  ];
}

export const copyInto = (folder, ...files) =>
  Promise.all(files.map((file) => copyFile(path.join(ROOT, file), path.join(folder, path.basename(file)))));

/** Writes a file and the folders above it. */
export async function place(file, text, mode) {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text, mode === undefined ? {} : { mode });
}
