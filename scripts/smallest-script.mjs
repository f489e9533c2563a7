// Scripts that are packed, made smaller once more: esbuild reads each expression by itself, Terser the whole of a function, twice.
import { readFile, writeFile } from 'node:fs/promises';
import { minify } from 'terser';

/** As the bundles are built for Node 20 and browsers of its year, which all of this is at home in. */
const YEAR = 2020;

/** Writes a minified bundle in place of itself; a third pass saves no kilobyte. */
export async function writeSmallest(file) {
  const text = await readFile(file, 'utf8');
  const { code } = await minify(text, {
    module: file.endsWith('.mjs'),
    ecma: YEAR,
    compress: { passes: 2 },
    format: { comments: false },
  });
  if (Buffer.byteLength(code) < Buffer.byteLength(text)) await writeFile(file, code);
}
