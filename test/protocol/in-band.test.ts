import assert from 'node:assert/strict';
import { TestServer } from './server-process';

const ZERO = `{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 7 }
}
`;

describe('a server in the process of its tests', function () {
  this.timeout(60_000);

  it('answers what the spawned one answers', async () => {
    const answers = [];
    for (const inBand of [true, false]) {
      const server = await TestServer.start({ inBand });
      try {
        assert.equal(server.spawned === undefined, inBand);
        const uri = await server.open('ds.json', ZERO);
        const { diagnostics } = await server.published(uri);
        answers.push({
          capabilities: server.capabilities,
          diagnostics: diagnostics.map(({ code, message, range }) => ({ code, message, range })),
          hover: await server.hover(uri, 3, 28),
        });
      } finally {
        assert.equal(await server.stop(), 0);
      }
    }
    assert.ok(answers[0]?.diagnostics.length, 'stage 7 is a problem');
    assert.ok(answers[0]?.hover);
    assert.deepEqual(answers[0], answers[1]);
  });
});
