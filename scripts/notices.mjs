// Licences of what the bundles hold: THIRD-PARTY-NOTICES.txt, made from what esbuild reports that it took in.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const LICENSE = /^(licen[cs]e|copying|notice)/i;

/** Folder of the package that a bundled file belongs to; undefined for our own. */
function packageOf(file) {
  const [, folder] = /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(file) ?? [];
  return folder;
}

/**
 * Packages with code in some outputs, `name@version` with their licence, each once. `metafiles` are esbuild's, `root` its folder;
 * `beside` are folders of packages whose files are copied as they are.
 */
export async function bundledPackages(metafiles, outputs, root, beside = []) {
  const folders = new Set(beside);
  for (const { outputs: made } of metafiles)
    for (const [name, { inputs }] of Object.entries(made))
      if (outputs.includes(name))
        for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
          const folder = bytesInOutput > 0 ? packageOf(input) : undefined;
          if (folder) folders.add(path.resolve(root, folder));
        }
  const packages = new Map();
  for (const folder of folders) {
    const { name, version, license, repository } = JSON.parse(
      await readFile(path.join(folder, 'package.json'), 'utf8'),
    );
    const files = (await readdir(folder)).filter((file) => LICENSE.test(file)).sort();
    const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
    if (!license || texts.length === 0)
      throw new Error(`${name}@${version} comes without a licence: it cannot be shipped.`);
    const address = typeof repository === 'string' ? repository : repository?.url;
    packages.set(`${name}@${version}`, { name, version, license, address, text: texts.join('\n\n').trim() });
  }
  return [...packages.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found);
}

/** Writes the notices, and answers how many packages they name. */
export async function writeNotices(packages, file) {
  const rule = '-'.repeat(78);
  const sections = packages.map(
    ({ name, version, license, address, text }) =>
      `${rule}\n${name} ${version} (${license})${address ? `\n${address}` : ''}\n\n${text.replace(/\r\n/g, '\n')}\n`,
  );
  const head = 'Oomlint contains code of the packages below, each under its own licence.\n';
  await writeFile(file, `${head}\n${sections.join('\n')}`);
  return packages.length;
}
