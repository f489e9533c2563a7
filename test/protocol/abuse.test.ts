import { abuse } from '../fuzz/protocol';

describe('a client that speaks as none should', function () {
  this.timeout(60_000);

  for (const seed of [1, 2])
    it(`leaves a server that answers (seed ${seed}, ${seed % 2 === 0 ? 'with' : 'without'} capabilities)`, () =>
      abuse(seed, 300));
});
