import assert from 'node:assert/strict';
import { TestServer } from './server-process';

const SCRIPT = (micro: number) => `# oomlint: gpu=T4 gpus=1
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

BATCH = ${micro}
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", dtype="bfloat16")
args = SFTConfig(per_device_train_batch_size=BATCH, max_length=1024)
SFTTrainer(model, args=args).train()
`;

describe('Python over the protocol', function () {
  this.timeout(60_000);
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(async () => {
    await server.stop();
  });

  it('a script that trains is judged, and its values are explained where they stand', async () => {
    const uri = await server.open('train.py', SCRIPT(8), 'python');
    await server.published(uri, ({ diagnostics }) => diagnostics.some(({ code }) => code === 'does-not-fit'));
    assert.match((await server.hover(uri, 6, 30)) ?? '', /micro|batch/i);
    assert.match((await server.hover(uri, 4, 8)) ?? '', /micro|batch/i);
  });

  it('a script that trains nothing is left alone', async () => {
    const uri = await server.open('tool.py', 'import os\nprint(os.getcwd())\n', 'python');
    await server.settled();
    assert.deepEqual(server.codes(uri), []);
    assert.equal(await server.hover(uri, 0, 8), undefined);
  });

  it('settings of a script in a format of its own are explained in their file, and what they change is judged', async () => {
    const settings = 'model: meta-llama/Llama-2-7b-hf\ntrain:\n  batch: 8\n';
    const script = SCRIPT(8)
      .replace('BATCH = 8', 'import yaml\nCFG = yaml.safe_load(open("settings.yaml"))')
      .replace('size=BATCH', 'size=CFG["train"]["batch"]');
    // Whichever of the two is opened first.
    const file = await server.open('settings.yaml', settings, 'yaml');
    const uri = await server.open('train.py', script, 'python');
    await server.published(uri, ({ diagnostics }) => diagnostics.some(({ code }) => code === 'does-not-fit'));
    await server.settled();
    assert.match(
      (await server.hover(file, 2, 9)) ?? '',
      /`train\.py` takes it as `SFTConfig\.per_device_train_batch_size`/,
    );
    assert.deepEqual(server.codes(file), ['does-not-fit']);
    assert.equal(await server.hover(file, 0, 2), undefined);
    await server.change(file, settings.replace('8', '1'));
    await server.settled();
    assert.match((await server.hover(file, 2, 9)) ?? '', /`train\.batch`\*\* 1 — /);
  });

  it('a text that is broken while it is typed breaks nothing', async () => {
    const uri = await server.open('train.py', SCRIPT(8), 'python');
    await server.published(uri);
    await server.change(uri, SCRIPT(8).replace('max_length=1024)', 'max_length='));
    await server.settled();
    await server.change(uri, SCRIPT(8));
    await server.published(uri, ({ diagnostics }) => diagnostics.some(({ code }) => code === 'does-not-fit'));
  });
});
