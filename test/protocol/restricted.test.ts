import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { TestServer } from './server-process';

const ZERO = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}\n';
const recipe = (deepspeed: string) => `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 1
max_length: 2048
bf16: true
dataset_name: x/y
deepspeed: ${deepspeed}
# oomlint: gpu=H100 gpus=8
`;

/** What a stranger's repository names in its configs must not open other files of this machine. */
describe('a workspace that is not trusted', function () {
  this.timeout(30_000);
  let server: TestServer;
  let outside: string;

  before(async () => {
    outside = await mkdtemp(path.join(os.tmpdir(), 'oomlint-outside-'));
    await writeFile(path.join(outside, 'zero3.json'), ZERO);
  });
  after(() => rm(outside, { recursive: true, force: true }));
  afterEach(() => server.stop());

  const missing = (uri: string) =>
    (server.diagnostics.findLast((published) => published.uri === uri)?.diagnostics ?? []).filter(
      ({ code }) => code === 'missing-file',
    );

  for (const [trusted, count] of [
    [true, 0],
    [false, 1],
  ] as const)
    it(`${trusted ? 'but is' : 'indeed'}: a file outside its folders is ${trusted ? '' : 'not '}read`, async () => {
      server = await TestServer.start({ initializationOptions: { trusted } });
      const uri = await server.open('sft.yaml', recipe(path.join(outside, 'zero3.json')));
      await server.published(uri);
      const found = missing(uri);
      assert.equal(found.length, count);
      if (!trusted) {
        assert.match(String(found[0]?.message), /lies outside the folders of this workspace/);
        assert.equal(found[0]?.severity, 3);
      }
    });

  it('reads no file outside over a link that lies inside', async function () {
    server = await TestServer.start({ files: { 'near.json': ZERO } });
    try {
      await symlink(path.join(outside, 'zero3.json'), path.join(server.folder, 'far.json'));
    } catch {
      // Systems that let nobody make links.
      this.skip();
    }
    const far = await server.open('far.yaml', recipe('far.json'));
    await server.published(far);
    assert.equal(missing(far).length, 1);
    const near = await server.open('near.yaml', recipe('near.json'));
    await server.published(near);
    assert.equal(missing(near).length, 0);
  });

  it('reads what a person opens, wherever it lies', async () => {
    server = await TestServer.start({});
    const uri = pathToFileURL(path.join(outside, 'zero3.json')).href;
    await server.open(uri, ZERO, 'json');
    await server.published(uri);
    const named = await server.open('sft.yaml', recipe(path.join(outside, 'zero3.json')));
    await server.published(named);
    assert.equal(missing(named).length, 0);
  });

  it('is what other editors never say, so they read as before', async () => {
    server = await TestServer.start({ initializationOptions: {} });
    const uri = await server.open('sft.yaml', recipe(path.join(outside, 'zero3.json')));
    await server.published(uri);
    assert.equal(missing(uri).length, 0);
  });
});
