import assert from 'node:assert/strict';
import { parseNvidiaSmi } from '../../../server/src/hardware/detect';

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

  it('says nothing where there is nothing', () => {
    for (const text of ['', 'No devices were found', 'NVIDIA-SMI has failed', 'x, [N/A]', 'x, 0 GiB']) {
      assert.equal(parseNvidiaSmi(text), undefined, text);
    }
  });
});
