import assert from 'node:assert/strict';
import type { ComputeEstimate, TimeEstimate } from '../../../server/src/results/estimate';
import {
  formatDuration,
  formatDurations,
  formatUsd,
  stepLabel,
  timeFacts,
} from '../../../server/src/results/time-labels';
import { speak } from '../../../server/src/wording/say';

const COMPUTE: ComputeEstimate = {
  flopsPerStep: 412e12,
  modelFlopsPerStep: 400e12,
  hfuFlopsPerStep: 400e12,
  profiledFlopsPerStep: 412e12,
  forwardFlopsPerStep: 130e12,
  recomputedFlopsPerStep: 0,
  referenceFlopsPerStep: 0,
  tokensPerStep: 8192,
  pflopDaysPerStep: 0,
};
const TIME: NonNullable<ComputeEstimate['time']> = {
  stepSeconds: { low: 5.87, likely: 11.06, high: 14.3 },
  tokensPerSecondPerGpu: { low: 4577, likely: 5928, high: 11164 },
  mfu: { low: 0.238, likely: 0.308, high: 0.581 },
  runSeconds: { low: 1.79e6, likely: 3.37e6, high: 4.37e6 },
  gpuHours: { low: 3981, likely: 7498, high: 9710 },
  energyKwh: { low: 3065, likely: 5773, high: 10739 },
  costUsd: { low: 27388, likely: 51585, high: 119338 },
  price: {
    usdPerGpuHour: { low: 6.88, likely: 6.88, high: 12.29 },
    instances: ['p5.48xlarge', 'Standard_ND96isr_H100_v5'],
    date: '2026-06-18',
    source: 'a list',
  },
  ratedSeconds: { computing: 4.4, optimizer: 0.01, dataParallel: 0.8, tensorParallel: 0, offload: 0 },
  source: '70 runs',
  leftOut: [],
};

describe('durations and money', () => {
  it('use the unit of which there are two', () => {
    assert.equal(formatDuration(0.0042), '4.2 ms');
    assert.equal(formatDuration(0.42), '420 ms');
    assert.equal(formatDuration(1.5), '1.5 s');
    assert.equal(formatDuration(11.06), '11 s');
    assert.equal(formatDuration(90), '90 s');
    assert.equal(formatDuration(2040), '34 min');
    assert.equal(formatDuration(100_000), '28 h');
    assert.equal(formatDuration(3.37e6), '39 days');
  });

  it('are ranges', () => {
    assert.equal(formatDurations(TIME.stepSeconds), '11 s (5.9 to 14)');
  });

  it('round dollars to what is known', () => {
    assert.equal(formatUsd(0.4249), '$0.42');
    assert.equal(formatUsd(51_585), '$51,600');
    assert.equal(formatUsd(0), '$0.00');
  });
});

describe('facts of time', () => {
  it('say the range, what it rests on, and whose prices', () => {
    const facts = timeFacts({ ...COMPUTE, time: TIME, tokensPerParameter: 8.2 });
    assert.deepEqual(facts, [
      { name: 'Time per step', figure: 'time per step', value: '11 s (5.9 to 14)', detail: 'from 70 runs' },
      {
        name: 'Throughput',
        figure: 'throughput',
        value: '5,930 tokens/s per GPU (4,580 to 11,200)',
        detail: '31 % MFU (24 to 58)',
      },
      {
        name: 'Time of the run',
        figure: 'time of the run',
        value: '39 days (21 to 51)',
        detail: '7,500 GPU-hours (3,980 to 9,710)',
      },
      {
        name: 'Energy',
        figure: 'energy',
        value: '5,770 kWh (3,070 to 10,700)',
        detail: 'GPUs at rated power, with the building 1.1 to 1.58 times that',
      },
      {
        name: 'Cost',
        figure: 'cost',
        value: '$51,600 ($27,400 to $119,000)',
        detail: 'list prices of 2026-06-18: p5.48xlarge, Standard_ND96isr_H100_v5',
      },
      {
        name: 'Tokens per parameter',
        figure: 'tokens per parameter',
        value: '8.2',
        detail: 'compute-optimal: about 20 (arXiv 2203.15556)',
      },
    ]);
  });

  it('lead to the same figures in every language', () => {
    const figures = () =>
      timeFacts({ ...COMPUTE, time: TIME, tokensPerParameter: 8.2 }).map(({ figure }) => figure);
    const english = figures();
    speak('ru', { 'Time per step': 'Время шага' });
    try {
      assert.deepEqual(figures(), english);
    } finally {
      speak('en', undefined);
    }
  });

  it('give a price per hour where the length of the run is not known, and what is left out', () => {
    const { runSeconds: _, gpuHours: __, energyKwh: ___, costUsd: ____, ...rest } = TIME;
    const facts = timeFacts({ ...COMPUTE, time: { ...rest, leftOut: ['the optimizer on the CPU'] } });
    assert.equal(facts[0]?.detail, 'from 70 runs, without the optimizer on the CPU');
    assert.equal(facts.at(-1)?.value, '$6.88 per GPU-hour ($6.88 to $12.29)');
  });

  it('have no time of evaluations, where a run has such, and name that', () => {
    const detail = (time: TimeEstimate) =>
      timeFacts({ ...COMPUTE, time }).find(({ figure }) => figure === 'time of the run')?.detail ?? '';
    assert.match(detail({ ...TIME, withoutEvaluations: true }), /GPU-hours.*, without its evaluations$/);
    assert.doesNotMatch(detail(TIME), /evaluations/);
  });

  it('name what takes longer than computing', () => {
    const ratedSeconds = { ...TIME.ratedSeconds, offload: 5 };
    const [step] = timeFacts({ ...COMPUTE, time: { ...TIME, ratedSeconds } });
    assert.equal(step?.detail, 'from 70 runs, bound by moving offloaded data over PCIe');
  });

  it('say why there is no time', () => {
    assert.deepEqual(timeFacts({ ...COMPUTE, timeUnknown: 'Not known.' }), [
      { name: 'Time', value: 'unknown', detail: 'Not known.' },
    ]);
  });

  it('fit into a line', () => {
    assert.equal(stepLabel({ ...COMPUTE, time: TIME }), '≈ 11 s/step');
    assert.equal(stepLabel(COMPUTE), '412 TFLOP/step');
  });
});
