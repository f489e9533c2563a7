import assert from 'node:assert/strict';
import type { DetailNode } from '../../../server/src/results/detail-node';
import { figureCalled, formatValue } from '../../../server/src/results/detail-words';

const node = (name: string, ...children: DetailNode[]): DetailNode => ({
  name,
  value: 1,
  unit: 'bytes',
  children: children.length > 0 ? children : undefined,
});

describe('opened figures in words', () => {
  it('gives each unit its way of writing', () => {
    assert.equal(formatValue(3 * 2 ** 29, 'bytes'), '1.5 GiB');
    assert.equal(formatValue(8_030_261_248, 'parameters'), '8.03B');
    assert.equal(formatValue(7.69e14, 'FLOP'), '769 TFLOP');
    assert.equal(formatValue(16_384, 'tokens'), '16,384');
    assert.equal(formatValue(20.4, 'tokens'), '20.4');
    assert.equal(formatValue(0.25, 'seconds'), '250 ms');
    assert.equal(formatValue(7904.4, 'tokens/s'), '7,904 tokens/s');
    assert.equal(formatValue(0.4231, 'kWh'), '0.42 kWh');
    assert.equal(formatValue(3.96, 'USD'), '$3.96');
  });

  it('finds a figure by its name, whatever its spelling, the outermost first', () => {
    const weights = node('weights', node('attention'));
    const figures = [node('peak memory', weights, node('attention')), node('FLOPs per step')];
    assert.equal(figureCalled('flops-per-step', figures)?.name, 'FLOPs per step');
    assert.equal(figureCalled('Weights', figures), weights);
    assert.equal(figureCalled('attention', figures)?.children, undefined);
    assert.equal(figureCalled('attention', figures), figures[0]?.children?.[1]);
    assert.equal(figureCalled('nothing', figures), undefined);
  });
});
