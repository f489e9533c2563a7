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

  it('a text that is broken while it is typed breaks nothing', async () => {
    const uri = await server.open('train.py', SCRIPT(8), 'python');
    await server.published(uri);
    await server.change(uri, SCRIPT(8).replace('max_length=1024)', 'max_length='));
    await server.settled();
    await server.change(uri, SCRIPT(8));
    await server.published(uri, ({ diagnostics }) => diagnostics.some(({ code }) => code === 'does-not-fit'));
  });
});
