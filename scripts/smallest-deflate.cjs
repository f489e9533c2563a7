// Loaded before vsce, whose writer of archives asks zlib for little: what is packed is as small as deflate makes it, 3 to 4 % less.
const { Transform } = require('node:stream');
const zlib = require('node:zlib');
const zopfli = require('@gfx/zopfli');

/** Passes over a file; more take longer and save no kilobyte. */
const OPTIONS = { numiterations: 5 };

/** What a stream brings is deflated once it is whole. */
class DeflateRaw extends Transform {
  #parts = [];
  _transform(part, _encoding, done) {
    this.#parts.push(part);
    done();
  }
  _flush(done) {
    zopfli.deflate(Buffer.concat(this.#parts), OPTIONS, (error, packed) =>
      done(error, packed && Buffer.from(packed)),
    );
  }
}

zlib.DeflateRaw = DeflateRaw;
zlib.deflateRaw = (buffer, ...rest) =>
  zopfli.deflate(buffer, OPTIONS, (error, packed) => rest.at(-1)(error, packed && Buffer.from(packed)));
