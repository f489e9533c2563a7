import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { oomlint } from './oomlint';

const AXOLOTL =
  'adapter: lora\nlora_r: 16\nmicro_batch_size: 1\nsequence_len: 2048\nmax_steps: 10\ndatasets:\n  - path: a\n    type: alpaca\n';

describe('oomlint init', () => {
  let folder = '';
  const written = () => readFile(path.join(folder, 'oomlint.yaml'), 'utf8');
  /** Without a driver of the machine that the test runs on. */
  const init = (args: readonly string[] = [], PATH = '') =>
    oomlint(['init', ...args], folder, { environment: { PATH } });

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-init-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('writes what it is given, and a place for what configs leave open', async () => {
    await mkdir(path.join(folder, 'runs'));
    await writeFile(
      path.join(folder, 'runs', 'whole.yaml'),
      `base_model: NousResearch/Llama-3.2-1B\n${AXOLOTL}`,
    );
    await writeFile(path.join(folder, 'runs', 'open.yaml'), AXOLOTL);
    const { code, out } = await init(['--gpu', 'A100-80GB', '--gpus', '4']);
    assert.equal(code, 0);
    assert.equal(
      out,
      'oomlint.yaml was written. 2 training configs found here, 1 without something that decides the memory.\n',
    );
    const text = await written();
    assert.deepEqual(parse(text), { targets: { gpu: 'A100-80GB', gpus: 4 } });
    assert.ok(text.includes('#   - match: ["runs/open.yaml"]\n#     model: meta-llama/Llama-3.1-8B\n'), text);
    // What is a comment is a project file once the # is away, and the config has its verdict.
    await writeFile(path.join(folder, 'oomlint.yaml'), text.replace(/^# (?=files:| {2})/gm, ''));
    const checked = await oomlint(['check', '--format', 'json', '--require-verdict'], folder);
    assert.equal(checked.code, 0, checked.out);
  });

  it('asks the driver of the machine', async function () {
    if (process.platform === 'win32') this.skip();
    const driver = path.join(folder, 'nvidia-smi');
    await writeFile(
      driver,
      '#!/bin/sh\necho "NVIDIA H100 80GB HBM3, 81559 MiB"\necho "NVIDIA H100 80GB HBM3, 81559 MiB"\n',
    );
    await chmod(driver, 0o755);
    assert.equal((await init([], folder)).code, 0);
    assert.deepEqual(parse(await written()), { targets: { gpu: 'H100-SXM5-80GB', gpus: 2 } });
  });

  it('claims nothing that nobody knows', async () => {
    assert.equal((await init()).code, 0);
    const text = await written();
    assert.equal(parse(text), null);
    assert.ok(text.includes('# targets:\n#   gpu: H100-SXM5-80GB\n#   gpus: 8\n'), text);
    assert.equal((await oomlint(['check', 'oomlint.yaml'], folder)).code, 0);
  });

  it('leaves a file alone that is there, and takes no GPU that it does not know', async () => {
    await writeFile(path.join(folder, 'oomlint.yaml'), 'defaults: {}\n');
    const again = await init(['--gpu', 'H100']);
    assert.equal(again.code, 2);
    assert.equal(again.err, 'oomlint: oomlint.yaml is there already and was left as it is.\n');
    assert.equal(await written(), 'defaults: {}\n');
    const wrong = await init(['--gpu', 'H10O-SXM']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /Unknown GPU "H10O-SXM"/);
  });
});
