import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { usersReport, usersTable } from '../../../server/src/cli/users';
import type { RunOption } from '../../../server/src/workspace/analysis';
import { sample } from '../features/sample';

const FOLDER = process.cwd();
const root = (name: string) => pathToFileURL(`${FOLDER}/${name}`).href;
const RUNS: readonly RunOption[] = [
  {
    root: root('b.yaml'),
    name: 'b.yaml',
    verdict: 'exceeds',
    peakBytes: 96 * 2 ** 30,
    capacityBytes: 2 ** 36,
  },
  { root: root('a.yaml'), name: 'a.yaml', verdict: 'unknown' },
];
const output = {
  write: () => undefined,
  writeError: () => undefined,
  paint: (_style: string, text: string) => text,
  width: 80,
};

describe('runs that use a file, on the command line', () => {
  it('are listed, worst first', () => {
    const analysis = { ...sample('a: 1'), runs: RUNS, run: root('b.yaml') };
    assert.deepEqual(usersReport(analysis, FOLDER), {
      usedIn: [
        { file: 'b.yaml', verdict: 'exceeds', peakBytes: 96 * 2 ** 30 },
        { file: 'a.yaml', verdict: 'unknown', peakBytes: null },
      ],
    });
    assert.equal(
      usersTable(analysis, FOLDER, output),
      '  Used in 2 runs; the worst is shown\n    b.yaml: does not fit, 96.0 GiB\n    a.yaml: unknown\n\n',
    );
  });

  it('are no part of the output where there are none', () => {
    assert.deepEqual(usersReport(sample('a: 1'), FOLDER), {});
    assert.equal(usersTable(sample('a: 1'), FOLDER, output), '');
  });
});
