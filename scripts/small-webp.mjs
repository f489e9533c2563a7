// Pictures that are packed: as lossless WebP they take seven tenths of what a PNG with the same palette does.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import encode, { init } from '@jsquash/webp/encode.js';
import { withFewColours } from './small-png.mjs';

/** Every pixel as it is, searched for as long as the encoder can. */
const LOSSLESS = { lossless: 1, exact: 1, quality: 100, method: 6 };
const OPAQUE = 255;
/** Shades on the edges of letters that the eye tells apart in a picture of this size: a seventh less to pack than with all of them. */
const SHADES_APART = 32;
let ready;

/** A truecolour PNG of 8 bits, as Chromium takes it, as a WebP of so many colours at most. */
export async function smallWebp(png, colours) {
  const { width, height, palette, indexes } = withFewColours(png, colours, SHADES_APART);
  const data = new Uint8ClampedArray(width * height * 4);
  indexes.forEach((index, at) => {
    data.set([...palette[index], OPAQUE], at * 4);
  });
  ready ??= encoder();
  await ready;
  return Buffer.from(await encode({ data, width, height }, LOSSLESS));
}

/** Its own way to its WebAssembly is a browser's. */
async function encoder() {
  const wasm = fileURLToPath(import.meta.resolve('@jsquash/webp/codec/enc/webp_enc_simd.wasm'));
  await init(await WebAssembly.compile(await readFile(wasm)));
}
