import assert from 'node:assert/strict';
import { casesBeyond, compareAll, type Row, recordedCases } from './recorded-steps';

const cases = recordedCases('olmo.json');

describe(`the walk against OLMo's own model, sharding and loss (${cases.length} recorded cases)`, () => {
  let rows: readonly Row[] = [];
  before(() => {
    rows = compareAll(cases);
  });

  const beyond = (key: string, most: number) => casesBeyond(rows, key, most);

  it('has cases', () => assert.ok(cases.length >= 38));
  it('meets every parameter count exactly', () => assert.deepEqual(beyond('parameters', 0), []));
  it('peaks: within 1 %', () => assert.deepEqual(beyond('peak', 0.01), []));
  it('backward: within 1 %', () => assert.deepEqual(beyond('backward', 0.01), []));
  it('forward: within 1 %, but for what a kernel of log-sum-exp takes, which fake tensors do not see', () =>
    assert.deepEqual(
      beyond('forward', 0.01).filter((row) => !row.startsWith('olmo-1b-single-z-')),
      [],
    ));
});
