import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { detectGpus, parseNvidiaSmi } from '../../../server/src/hardware/detect';

describe('reading nvidia-smi', () => {
  it('names the card and counts', () => {
    const found = parseNvidiaSmi('NVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA H100 80GB HBM3, 81559 MiB\n');
    assert.deepEqual(found, { gpu: 'H100-SXM5-80GB', count: 2, totalBytes: 81559 * 2 ** 20 });
  });

  it('takes the smallest of different cards', () => {
    const found = parseNvidiaSmi('NVIDIA A100-SXM4-80GB, 81920 MiB\r\nTesla T4, 15360 MiB\r\n');
    assert.equal(found?.gpu, 'T4');
    assert.equal(found?.count, 2);
  });

  it('keeps the name of a card that is not in the catalog or has another size', () => {
    assert.equal(parseNvidiaSmi('Quadro P2000, 5120 MiB')?.gpu, 'Quadro P2000');
    assert.equal(parseNvidiaSmi('NVIDIA A100-SXM4-80GB, 40000 MiB')?.gpu, 'NVIDIA A100-SXM4-80GB');
  });

  it('reports nothing where there is nothing', () => {
    for (const text of ['', 'No devices were found', 'NVIDIA-SMI has failed', 'x, [N/A]', 'x, 0 GiB']) {
      assert.equal(parseNvidiaSmi(text), undefined, text);
    }
  });
});

describe('asking the driver', function () {
  this.timeout(20_000);
  let folder: string;
  before(function () {
    if (process.platform === 'win32') this.skip();
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-driver-'));
  });
  after(() => folder !== undefined && rmSync(folder, { recursive: true }));

  function driver(script: string): NodeJS.ProcessEnv {
    const file = path.join(folder, 'nvidia-smi');
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return { PATH: `relative${path.delimiter}${folder}${path.delimiter}${process.env.PATH}` };
  }

  it('reads what it states', async () => {
    const found = await detectGpus(driver('echo "NVIDIA L4, 23034 MiB"'));
    assert.equal(found?.gpu, 'L4');
  });

  it('gives up after two seconds on a driver that hangs and cannot be ended', async () => {
    // The shell's child holds the pipes open as a process in the driver does that no signal reaches.
    const environment = driver(
      'trap "" TERM; (trap "" TERM; sleep 15) & sleep 15; touch "$0.ended"; echo "NVIDIA L4, 23034 MiB"',
    );
    assert.equal(await detectGpus(environment), undefined);
    // Whoever had waited for it would have seen its end.
    assert.ok(!existsSync(path.join(folder, 'nvidia-smi.ended')));
  });

  it('starts nothing where PATH has no driver', async () => {
    assert.equal(await detectGpus({ PATH: 'relative' }), undefined);
  });
});
