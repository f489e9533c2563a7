import assert from 'node:assert/strict';
import {
  acceleratorNames,
  cloudInstances,
  findAccelerator,
  matchAccelerator,
  suggestAccelerators,
} from '../../../server/src/hardware/catalog';

describe('the accelerator catalog', () => {
  it('finds every card by its name and by each alias, in any case', () => {
    for (const name of acceleratorNames()) {
      const card = findAccelerator(name);
      assert.equal(card?.name, name);
      for (const alias of card?.aliases ?? []) {
        assert.equal(findAccelerator(alias)?.name, name, alias);
        assert.equal(findAccelerator(alias.toUpperCase())?.name, name, alias);
        assert.equal(findAccelerator(alias.replaceAll('-', ' '))?.name, name, alias);
      }
    }
  });

  it('finds cards in the spellings people use', () => {
    const spellings: Record<string, string> = {
      H100: 'H100-SXM5-80GB',
      'h100-80gb': 'H100-SXM5-80GB',
      'H100 SXM': 'H100-SXM5-80GB',
      'H100 80GiB PCIe': 'H100-PCIe-80GB',
      'NVIDIA H100 80GB HBM3': 'H100-SXM5-80GB',
      'NVIDIA A100-SXM4-80GB': 'A100-SXM4-80GB',
      'NVIDIA A100 80GB PCIe': 'A100-PCIE-80GB',
      'a100 80g': 'A100-SXM4-80GB',
      A100_40GB: 'A100-SXM4-40GB',
      a100: 'A100-SXM4-40GB',
      '4090': 'RTX 4090',
      'RTX 4090': 'RTX 4090',
      rtx4090: 'RTX 4090',
      'NVIDIA GeForce RTX 3090': 'RTX 3090',
      'Tesla V100-SXM2-32GB': 'V100-SXM2-32GB',
      V100: 'V100-SXM2-16GB',
      'V100 16GB': 'V100-SXM2-16GB',
      'Tesla T4': 'T4',
      H200: 'H200-SXM-141GB',
      mi300x: 'MI300X',
    };
    for (const [spelling, name] of Object.entries(spellings)) {
      assert.equal(findAccelerator(spelling)?.name, name, spelling);
    }
  });

  it('says so where a name covers cards of several sizes', () => {
    assert.match(matchAccelerator('A100')?.note ?? '', /taken as A100-SXM4-40GB/);
    assert.equal(matchAccelerator('H200')?.note, undefined);
    assert.equal(matchAccelerator('A100-SXM4-80GB')?.note, undefined);
  });

  it('does not take one card for another', () => {
    const others = [
      'NVIDIA GeForce RTX 4090 Laptop GPU',
      'RTX 3080 Ti',
      'RTX 3080 12GB',
      'A100 60GB',
      'H100 MIG 1g.10gb',
      'H1000',
      '',
      '   ',
      'x'.repeat(500),
      '80GB',
      'GPU',
    ];
    for (const name of others) {
      assert.equal(findAccelerator(name), undefined, name);
    }
  });

  it('reads counts and cloud machines', () => {
    assert.equal(matchAccelerator('8xH100')?.gpus, 8);
    assert.equal(matchAccelerator('A100-80GB:4')?.gpus, 4);
    assert.equal(matchAccelerator('H100 x2')?.gpus, 2);
    const p4d = matchAccelerator('P4D.24xlarge');
    assert.equal(p4d?.accelerator.name, 'A100-SXM4-40GB');
    assert.equal(p4d?.gpus, 8);
  });

  it('knows the card of every cloud machine', () => {
    for (const { instance, gpu, gpus } of cloudInstances()) {
      const match = matchAccelerator(instance);
      assert.equal(match?.accelerator.name, gpu, instance);
      assert.equal(match?.gpus, gpus);
    }
  });

  it('suggests near names', () => {
    assert.ok(suggestAccelerators('H100-90GB').some((name) => name.startsWith('H100')));
    assert.ok(suggestAccelerators('RTX 4099').includes('RTX 4090'));
    assert.deepEqual(suggestAccelerators('qqqqqqqq'), []);
  });

  it('states integer bytes with a source, usable below total', () => {
    for (const name of acceleratorNames()) {
      const card = findAccelerator(name);
      assert.ok(card && Number.isInteger(card.totalBytes) && Number.isInteger(card.usableBytes), name);
      assert.ok(card.usableBytes <= card.totalBytes && card.usableBytes > 0.9 * card.totalBytes, name);
      assert.ok(card.sources.length > 0, name);
    }
  });
});
