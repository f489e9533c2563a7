import assert from 'node:assert/strict';
import { TestServer } from './server-process';

const CONFIG = '{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 3 }\n}\n';
const ACCELERATE = 'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n';

/** Nine levels of ten aliases each: a billion values when written out. */
function aliasBomb(): string {
  const lines = ['distributed_type: DEEPSPEED', 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 9; i += 1) {
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  }
  return `${lines.join('\n')}\n`;
}

const CASES: readonly (readonly [name: string, file: string, text: string])[] = [
  ['an empty file', 'a.json', ''],
  ['a truncated file', 'a.json', CONFIG.slice(0, 60)],
  ['binary data', 'a.json', `zero_optimization\0\u0001\u0002${'\ufffd'.repeat(1000)}`],
  [
    '50,000 lines',
    'a.yaml',
    ACCELERATE + Array.from({ length: 50_000 }, (_, i) => `key_${i}: ${i}\n`).join(''),
  ],
  [
    'conflict markers',
    'a.json',
    CONFIG.replace('  "zero', '<<<<<<< HEAD\n  "x": 1,\n=======\n>>>>>>> b\n  "zero'),
  ],
  [
    'a thousand conflict markers',
    'a.yaml',
    ACCELERATE + '<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> b\n'.repeat(1000),
  ],
  ['an alias bomb', 'a.yaml', aliasBomb()],
  ['deep nesting', 'a.json', `{"zero_optimization": ${'['.repeat(20_000)}`],
  ['deep nesting in YAML', 'a.yaml', `${ACCELERATE}deep: ${'{a: '.repeat(5000)}`],
  ['tabs and carriage returns', 'a.yaml', 'distributed_type:\tDEEPSPEED\r\n\tdeepspeed_config:\r\r\n'],
  [
    'odd values',
    'a.json',
    '{"zero_optimization": {"stage": 1e400, "reduce_bucket_size": -0}, "train_batch_size": [[]]}',
  ],
  [
    'a prototype key',
    'a.json',
    '{"__proto__": {"stage": 3}, "zero_optimization": {"constructor": 1, "toString": 2}}',
  ],
  ['a byte order mark', 'a.json', `\ufeff${CONFIG}`],
  ['lone surrogates', 'a.yaml', `${ACCELERATE}x: "\ud800"\n`],
];

describe('bad input', function () {
  this.timeout(30_000);
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(async () => {
    assert.equal(await server.stop(), 0);
  });

  for (const [name, file, text] of CASES) {
    it(`of ${name} keeps the server answering`, async () => {
      const uri = await server.open(file, text);
      await server.hover(uri, 0, 3);
      await server.request('textDocument/codeLens', { textDocument: { uri } });
      await server.request('textDocument/documentLink', { textDocument: { uri } });
      await server.request('oomlint/breakdown', { uri });
      await server.request('oomlint/detail', { uri });
      await server.request('textDocument/codeAction', {
        textDocument: { uri },
        range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
        context: { diagnostics: [] },
      });
      await server.save(uri);
      await server.close(uri);
      const healthy = await server.open('healthy.json', CONFIG);
      await server.published(healthy);
      await server.close(healthy);
      server.forget();
      assert.deepEqual(
        server.log.filter((line) => /failed|Unexpected/.test(line)),
        [],
      );
    });
  }

  it('of links in a circle keeps the server answering', async () => {
    const link = (to: string) => `${ACCELERATE}deepspeed_config:\n  deepspeed_config_file: ${to}\n`;
    await server.write('one.yaml', link('two.yaml'));
    await server.write('two.yaml', link('one.yaml'));
    const one = await server.open('one.yaml', link('two.yaml'));
    const two = await server.open('two.yaml', link('one.yaml'));
    const self = await server.open('self.yaml', link('self.yaml'));
    await Promise.all([server.published(one), server.published(two), server.published(self)]);
    await Promise.all([one, two, self].map((uri) => server.save(uri)));
    await Promise.all([one, two, self].map((uri) => server.close(uri)));
  });

  it('of a link to a folder, a device or nothing keeps the server answering', async () => {
    for (const path of ['.', '/dev/zero', 'none/at/all.json', '"\\0"', 'https://example.org/ds.json']) {
      const uri = await server.open(
        'link.yaml',
        `${ACCELERATE}deepspeed_config:\n  deepspeed_config_file: ${path}\n`,
      );
      await server.published(uri);
      await server.close(uri);
      server.forget();
    }
  });

  it('of positions beyond the text is answered with nothing', async () => {
    const uri = await server.open('ds.json', CONFIG);
    assert.equal(await server.hover(uri, 999, 999), undefined);
    await server.close(uri);
  });
});
