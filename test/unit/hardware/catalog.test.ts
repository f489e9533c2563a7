import assert from 'node:assert/strict';
import {
  acceleratorNames,
  cloudInstance,
  cloudInstances,
  findAccelerator,
  matchAccelerator,
  suggestAccelerators,
  usableOf,
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
      H20: 'H20-96GB',
      'NVIDIA H20': 'H20-96GB',
      'H20-3e': 'H20-141GB',
      H800: 'H800-SXM5-80GB',
      'NVIDIA H800': 'H800-SXM5-80GB',
      'A800-SXM4-80GB': 'A800-SXM4-80GB',
      'NVIDIA A800 80GB PCIe': 'A800-PCIE-80GB',
      A800: 'A800-SXM4-80GB',
      L20: 'L20',
      'RTX 4090D': 'RTX 4090 D',
      'NVIDIA GeForce RTX 4090 D': 'RTX 4090 D',
      'NVIDIA TITAN RTX': 'Titan RTX',
      'Quadro RTX 8000': 'Quadro RTX 8000',
      'RTX 8000': 'Quadro RTX 8000',
      'NVIDIA RTX 6000 Ada Generation': 'RTX 6000 Ada',
      'RTX 3080 Ti': 'RTX 3080 Ti',
      'RTX 3080 12GB': 'RTX 3080 12GB',
      'NVIDIA GeForce RTX 4070 Ti SUPER': 'RTX 4070 Ti Super',
      'RTX 4070 Ti': 'RTX 4070 Ti',
      'RTX 4060': 'RTX 4060',
      'RTX 4060 Ti 8GB': 'RTX 4060 Ti 8GB',
      'RTX PRO 6000': 'RTX PRO 6000 Blackwell',
      'NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition': 'RTX PRO 6000 Blackwell Max-Q',
      'NVIDIA RTX PRO 5000 Blackwell': 'RTX PRO 5000 Blackwell',
      'RTX PRO 4500': 'RTX PRO 4500 Blackwell',
      T4G: 'T4G',
      A16: 'A16',
      'Tesla V100-PCIE-32GB': 'V100-PCIE-32GB',
      'AMD Instinct MI100': 'MI100',
      MI250: 'MI250',
      MI50: 'MI50-16GB',
      'MI50 32GB': 'MI50-32GB',
      'Intel Gaudi 2': 'Gaudi 2',
      gaudi3: 'Gaudi 3',
      trainium2: 'Trainium 2',
      'TPU v7x': 'TPU v7',
      'Ascend 910B': 'Ascend 910B',
      'Ascend 910B4': 'Ascend 910B4',
      Ascend910C: 'Ascend 910C',
      'Apple M2 Ultra 192GB': 'M2 Ultra 192GB',
      'M3 Max 64 GB': 'M3 Max 64GB',
      'DGX Spark': 'GB10',
    };
    for (const [spelling, name] of Object.entries(spellings)) {
      assert.equal(findAccelerator(spelling)?.name, name, spelling);
    }
  });

  it('reports it where a name covers cards of several sizes', () => {
    assert.match(matchAccelerator('A100')?.note ?? '', /taken as A100-SXM4-40GB/);
    assert.equal(matchAccelerator('H200 SXM')?.note, undefined);
    assert.match(matchAccelerator('RTX 6000')?.note ?? '', /taken as Quadro RTX 6000/);
    assert.equal(matchAccelerator('Quadro RTX 6000')?.note, undefined);
    assert.match(matchAccelerator('M2 Ultra')?.note ?? '', /taken as M2 Ultra 64GB/);
    assert.equal(matchAccelerator('A100-SXM4-80GB')?.note, undefined);
  });

  it('does not take one card for another', () => {
    const others = [
      'NVIDIA GeForce RTX 4090 Laptop GPU',
      'RTX 3080 16GB',
      'RTX 4090 Ti',
      'H21',
      'H20 80GB',
      'H820',
      'A800 60GB',
      'L30',
      'Gaudi 4',
      'M3 Max 60GB',
      'Ascend 910D',
      'TPU v9',
      'MI300',
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
      assert.ok(card.usableBytes <= card.totalBytes, name);
      // Metal recommends two thirds to three quarters of a memory that the host shares.
      const least = card.vendor === 'Apple' ? 0.66 : 0.9;
      assert.ok(card.usableBytes > least * card.totalBytes, name);
      assert.ok(card.sources.length > 0, name);
    }
  });

  // Its error correction is on; its memory is the host'''s.
  const APART = new Set(['L40', 'GB10']);

  it('takes as much of an unknown card as of the known ones that nobody measured', () => {
    const cards = acceleratorNames().flatMap((name) => findAccelerator(name) ?? []);
    const cuda = cards.filter(({ vendor }) => vendor === 'NVIDIA');
    const measured = cuda.filter(({ usableIsDerived }) => !usableIsDerived);
    assert.ok(measured.length >= 13);
    for (const { name, totalBytes, usableBytes } of measured)
      assert.ok(Math.abs(usableOf(totalBytes) / usableBytes - 1) < 0.015, name);
    const derived = cuda.filter(({ usableIsDerived, name }) => usableIsDerived && !APART.has(name));
    assert.ok(derived.length > 50);
    for (const { name, totalBytes, usableBytes } of derived)
      assert.ok(Math.abs(usableOf(totalBytes) / usableBytes - 1) < 0.015, name);
  });

  it('knows of what each card is made that memory and time depend on', () => {
    const cards = acceleratorNames().flatMap((name) => findAccelerator(name) ?? []);
    for (const { name, peerAccess } of cards.filter(({ name }) => /^RTX [2-5]0\d\d/.test(name)))
      assert.equal(peerAccess, false, name);
    for (const { name, fastestFlops, denseFlops } of cards.filter((card) => card.fastestFlops)) {
      assert.ok((fastestFlops?.bf16 ?? 0) < (denseFlops.bf16 ?? 0), name);
      assert.ok((fastestFlops?.fp8 ?? 0) <= (denseFlops.fp8 ?? 0), name);
    }
    for (const { name, networkGbits } of cards)
      assert.ok(networkGbits === undefined || networkGbits.slowest <= (networkGbits.usual ?? Infinity), name);
    assert.equal(cloudInstance('p5.48xlarge')?.networkGbits, 3200);
    assert.equal(cloudInstance('P4D.24xlarge')?.networkGbits, 400);
  });
});
