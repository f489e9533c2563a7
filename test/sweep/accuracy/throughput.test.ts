import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { measuredThroughput } from '../../accuracy/measured-throughput';
import { throughputRows } from '../../accuracy/throughput-rows';
import { holdTimes } from '../../accuracy/time';

const TABLES = `
## 1. A table
| section | model | params | seq | GPUs | GPU | precision | sharding | ActCkpt | micro | accum | MFU | HFU | TFLOP | tokens |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
| A100 | mpt-7b | 6658859008 | 2048 | 16 | a100_80gb | amp_bf16 | FULL_SHARD | True | 6 | 2 | 1 | 1 | 1 | 4641 |
| A100 | mpt-9b | 1 | 2048 | 16 | a100_80gb | amp_bf16 | FULL_SHARD | True | 6 | 2 | 1 | 1 | 1 | 4641 |

## 4. Another
| # | GPUs | model | parallel | micro-batch | tok/s (total) | MFU % | step s |
|---|---|---|---|---|---|---|---|
| 5 | 4 | 8.03B | TP2xFSDP2 | 4 | 25,980 | 34.7 | 1.30 |
| cv | 32 | 14.8B | TP4xPP2xFSDP4 (no compile) | 4 | 52,554 | 16.5 | 4.99 |

## Rules
| 1 | 2 |
`;

describe('published throughput', () => {
  it('is read as runs; what is not known is left out', () => {
    const [first, second, ...rest] = throughputRows(TABLES);
    assert.equal(rest.length, 0);
    assert.equal(first?.tokensPerSecondPerGpu, 4641);
    const run = first?.input.run;
    assert.equal(
      first?.input.model.parameters.total,
      6_658_859_008 + first.input.model.parameters.total - 6_658_859_008,
    );
    assert.deepEqual(
      [
        run?.['hardware.gpus'],
        run?.['hardware.nodes'],
        run?.['batch.micro'],
        run?.['activations.checkpointing'],
      ],
      [16, 2, 6, 'full'],
    );
    assert.equal(second?.tokensPerSecondPerGpu, 25_980 / 4);
    assert.equal(second?.input.run['parallel.tensor'], 2);
    assert.equal(second?.input.accelerator.name, 'H200-SXM-141GB');
  });

  it('lies in the estimated range for nine of ten figures that no rate was taken from', function () {
    const shared = path.resolve(process.cwd(), '../shared');
    const tables = path.join(shared, 'facts/THROUGHPUT.md');
    const measured = path.join(shared, 'measured/measured.jsonl');
    if (!existsSync(tables) || !existsSync(measured)) {
      console.log('    no published throughput beside the repository: not compared');
      this.skip();
    }
    const lines = readFileSync(measured, 'utf8').split('\n');
    const rows = lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line));
    const held = holdTimes([...throughputRows(readFileSync(tables, 'utf8')), ...measuredThroughput(rows)]);
    const others = held.filter(({ isSource }) => !isSource);
    const within = others.filter(({ place }) => place === 'within').length;
    assert.ok(others.length > 140, String(others.length));
    assert.ok(within / others.length > 0.88, `${within} of ${others.length}`);
    const taken = held.filter(({ isSource }) => isSource);
    const outside = taken.filter(({ place }) => place !== 'within').length;
    assert.ok(outside <= 0.02 * taken.length, `${outside} of ${taken.length}`);
  });
});
