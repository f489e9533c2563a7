// Loaded before vsce, whose writer of archives asks zlib for nothing: what is packed is as small as deflate makes it.
const zlib = require('node:zlib');

const { DeflateRaw } = zlib;
zlib.DeflateRaw = class extends DeflateRaw {
  constructor(options) {
    super({ level: 9, memLevel: 9, ...options });
  }
};
