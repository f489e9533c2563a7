// Pictures of an editor have few colours: with a palette of 256 they take a third of the bytes and look the same.
import { unzlibSync, zlibSync } from 'fflate';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** As many as a palette holds. */
const COLOURS = 256;
/** Nearer colours, over the three channels of 8 bits, look the same where they fill an area. */
const APART = 8;
/** The least area whose colour the eye keeps from those beside it, as a share of the picture. */
const SURFACE = 0.005;

/**
 * Pixels of a truecolour PNG of 8 bits, as Chromium takes it, with so many colours at most: `indexes` of `palette`, row by row. Those
 * that fill no area, as on edges of letters, are so far `apart` from all others.
 * Format: https://www.w3.org/TR/png-3/
 */
export function withFewColours(png, colours = COLOURS, apart = APART) {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  const channels = { 2: 3, 6: 4 }[png[25]];
  if (png[24] !== 8 || channels === undefined || png[28] !== 0) {
    throw new Error('Only plain truecolour PNGs of 8 bits are taken.');
  }
  const pixels = unfiltered(unzlibSync(joined(png, view)), width * channels, height, channels);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = colourAt(pixels, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf(counts, colours, (count) => (count > SURFACE * width * height ? APART : apart));
  const index = new Map(palette.map((colour, i) => [colour, i]));
  const indexes = Uint8Array.from({ length: width * height }, (_, at) => {
    const colour = colourAt(pixels, at * channels);
    if (!index.has(colour)) index.set(colour, nearest(palette, colour));
    return index.get(colour);
  });
  return {
    width,
    height,
    palette: palette.map((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]),
    indexes,
  };
}

/** A truecolour PNG of 8 bits with a palette of so many colours at most. */
export function smallPng(png, colours = COLOURS) {
  const { width, height, palette, indexes } = withFewColours(png, colours);
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    rows.set(indexes.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  }
  const header = new Uint8Array(13);
  header.set(png.subarray(16, 24));
  header.set([8, 3, 0, 0, 0], 8);
  const colourTable = new Uint8Array(palette.flat());
  const chunks = [
    chunk('IHDR', header),
    chunk('PLTE', colourTable),
    chunk('IDAT', zlibSync(rows, { level: 9 })),
    chunk('IEND', new Uint8Array(0)),
  ];
  return Buffer.concat([Buffer.from(SIGNATURE), ...chunks]);
}

/** The most frequent colours that the eye keeps apart: a dot of its own colour is not lost to the many shades of a text's edges. */
function paletteOf(counts, size, apartOf) {
  const palette = [];
  for (const [colour, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length === size) break;
    const apart = apartOf(count);
    if (palette.every((other) => distance(other, colour) >= apart ** 2)) palette.push(colour);
  }
  return palette;
}

/** The compressed pixels, which may come in several pieces. */
function joined(png, view) {
  const pieces = [];
  for (let at = 8; at < png.length; ) {
    const length = view.getUint32(at);
    if (String.fromCharCode(...png.subarray(at + 4, at + 8)) === 'IDAT') {
      pieces.push(png.subarray(at + 8, at + 8 + length));
    }
    at += length + 12;
  }
  return Buffer.concat(pieces);
}

/** Undoes the filter of each row: a byte is stored as its difference to neighbours. */
function unfiltered(data, stride, height, channels) {
  const pixels = new Uint8Array(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x >= channels ? pixels[at - channels] : 0;
      const up = y > 0 ? pixels[at - stride] : 0;
      const corner = x >= channels && y > 0 ? pixels[at - stride - channels] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      pixels[at] = data[y * (stride + 1) + 1 + x] + guess;
    }
  }
  return pixels;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value));
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

const colourAt = (pixels, at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];

/** Squared, over the three channels of 8 bits. */
const distance = (a, b) =>
  [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);

function nearest(palette, colour) {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  palette.forEach((other, i) => {
    const far = distance(other, colour);
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

function chunk(type, data) {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(data.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc(named), named.length + 4);
  return whole;
}

function crc(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}
