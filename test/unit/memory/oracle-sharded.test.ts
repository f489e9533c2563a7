import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { compareAll, type Row, recordedCases } from './recorded-steps';

const cases = recordedCases('sharded.json');

/** Schemes as `docs/accuracy.md` names them. */
const NAMES: Readonly<Record<string, string>> = {
  fsdp2: 'FSDP 2',
  fsdp1: 'FSDP 1',
  ddp: 'DDP',
  torchtune: 'torchtune, FSDP 2',
  torchtitan: 'torchtitan: FSDP 2, tensor and sequence parallel, replicas of shards',
};

describe(`the walk against sharded models under PyTorch and DeepSpeed (${cases.length} recorded cases)`, () => {
  let rows: readonly Row[] = [];
  before(() => {
    rows = compareAll(cases);
  });

  const within = (key: string, most: number, share: number, all: number) => {
    const list = (limit: number) =>
      rows
        .filter(({ errors }) => Math.abs(errors[key] ?? 0) > limit)
        .map(({ id, errors }) => `${id} ${(100 * (errors[key] ?? 0)).toFixed(2)} %`);
    assert.ok(list(most).length <= (1 - share) * rows.length, list(most).join('\n'));
    assert.deepEqual(list(all), []);
  };

  it('has cases', () => assert.ok(cases.length >= 325));
  it('meets every parameter count exactly', () => within('parameters', 0, 1, 0));
  // DeepSeek V3's router begins while a piece of the next layer is there twice, which is counted for the experts behind it, too: 3.7 % too high.
  it('peaks: within 1 % for 95 % of cases and 4 % for all', () => within('peak', 0.01, 0.95, 0.04));
  it('peaks of every scheme: nine of ten within 1 %, none 2 % too low, as the docs have them', () => {
    const docs = readFileSync('docs/accuracy.md', 'utf8');
    const schemes = new Map<string, number[]>();
    for (const { id, errors } of rows) {
      const scheme = /^zero/.test(id) ? `ZeRO ${/-z(\d)/.exec(id)?.[1]}` : (id.split('-')[0] ?? '');
      schemes.set(scheme, [...(schemes.get(scheme) ?? []), errors.peak ?? Number.NaN]);
    }
    assert.equal(schemes.size, 9);
    for (const [scheme, errors] of schemes) {
      const sizes = errors.map(Math.abs).sort((a, b) => a - b);
      const at = (share: number) => sizes[Math.ceil(share * sizes.length) - 1] ?? Number.NaN;
      const [middle, ninth, most] = [at(0.5), at(0.9), at(1)].map((x) => (100 * x).toFixed(2));
      const lowest = Math.min(...errors);
      const low = (-100 * lowest).toFixed(2);
      const row = `| ${NAMES[scheme] ?? scheme} | ${errors.length} | ${middle} | ${ninth} | ${most} | ${low} |`;
      assert.ok(docs.includes(row), `docs/accuracy.md lacks ${row}`);
      assert.ok(at(0.9) <= 0.01, `${scheme}: 90th percentile ${ninth} %`);
      assert.ok(lowest > -0.02, `${scheme}: ${(100 * lowest).toFixed(2)} % too low`);
    }
  });
  it('host memory of what is offloaded: within 0.1 %', () => {
    assert.ok(rows.filter(({ errors }) => errors.host !== undefined).length >= 2);
    within('host', 0.001, 1, 0.001);
  });
  it('backward: within 1 % for 95 % of cases and 4 % for all', () => within('backward', 0.01, 0.95, 0.04));
});
