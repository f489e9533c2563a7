// Loaded before vsce: what it packs is deflated at the highest level, which saves 6 kB of an extension; vsce has no option for it.
const zlib = require('node:zlib');

const BEST = { level: 9 };
const { deflateRaw } = zlib;
zlib.deflateRaw = (buffer, callback) => deflateRaw(buffer, BEST, callback);
zlib.DeflateRaw = function DeflateRaw() {
  return zlib.createDeflateRaw(BEST);
};
