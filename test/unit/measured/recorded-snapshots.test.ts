import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { type Estimated, isEstimated } from '../../../server/src/advice/changed-run';
import { compareRun } from '../../../server/src/features/measured-run';
import { measuredTimeline } from '../../../server/src/features/measured-timeline';
import { type MemorySnapshot, readSnapshot } from '../../../server/src/measured/memory-snapshot';
import { snapshotSeries } from '../../../server/src/measured/snapshot-series';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/** Steps of real models that `test/oracle/snapshots.py` recorded, as `_dump_snapshot` writes them. */
const FOLDER = 'test/fixtures/recorded-snapshots';
const NAMES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.pickle.gz'))
  .map((name) => name.replace('.pickle.gz', ''));

interface Described {
  readonly run: Readonly<Record<string, unknown>>;
  readonly model: Readonly<Record<string, unknown>>;
  /** As the recorder counted it. */
  readonly peak: number;
}

const described = (name: string) => JSON.parse(readFileSync(`${FOLDER}/${name}.json`, 'utf8')) as Described;

function snapshotOf(name: string): MemorySnapshot {
  const bytes = new Uint8Array(gunzipSync(readFileSync(`${FOLDER}/${name}.pickle.gz`)));
  const [first, ...others] = readSnapshot((position, length) => bytes.subarray(position, position + length));
  assert.ok(first && others.length === 0);
  return first;
}

async function analysed({ run, model }: Described): Promise<Estimated> {
  const nested: Record<string, Record<string, unknown>> = {};
  for (const [field, value] of Object.entries({ ...run, 'model.path': './model' })) {
    const [section = '', key = ''] = field.split('.');
    nested[section] = { ...nested[section], [key]: value };
  }
  const files = {
    'file:///w/run.oomlint.yaml': JSON.stringify({ run: nested }),
    'file:///w/model/config.json': JSON.stringify(model),
  };
  const analysis = await new Workspace(new MemoryHost(files)).analyze('file:///w/run.oomlint.yaml');
  assert.ok(
    analysis && isEstimated(analysis),
    JSON.stringify(analysis?.problems.map(({ message }) => message)),
  );
  return analysis;
}

describe('snapshots of real steps', () => {
  it('are ten or more', () => assert.ok(NAMES.length >= 10, NAMES.join()));

  for (const name of NAMES) {
    it(`${name}: the highest point is as recorded, and lies within what the estimate is uncertain by`, async () => {
      const recorded = described(name);
      const snapshot = snapshotOf(name);
      assert.equal(snapshot.peakAllocatedBytes, recorded.peak);
      const analysis = await analysed(recorded);
      const { compared } = compareRun(snapshotSeries(snapshot), analysis);
      const allocated = compared.find(({ kind }) => kind === 'allocated');
      assert.ok(allocated);
      if (process.env.OOMLINT_ORACLE)
        process.stdout.write(
          `${name} ${(100 * allocated.difference).toFixed(2)} % ${allocated.measuredBytes} ${allocated.estimatedBytes}\n`,
        );
      assert.ok(allocated.within, `${name}: ${(100 * allocated.difference).toFixed(2)} %`);
    });

    it(`${name}: bytes by phase add up, and calls get the names of the walk`, async () => {
      const snapshot = snapshotOf(name);
      const { points, alive } = measuredTimeline(snapshot, await analysed(described(name)));
      for (const { bytes, phases } of points)
        assert.equal(
          Object.values(phases).reduce((sum, one) => sum + one, 0),
          bytes,
        );
      const highest = points.reduce((a, b) => (b.bytes > a.bytes ? b : a));
      assert.equal(highest.bytes, snapshot.peakAllocatedBytes);
      const large = alive.filter(({ blockBytes, phase }) => blockBytes >= 2 ** 20 && phase !== 'older');
      const joined = large.filter(({ tensors }) => tensors.length > 0);
      if (process.env.OOMLINT_ORACLE)
        for (const one of alive)
          process.stdout.write(
            `  ${name} ${one.phase} ${one.blocks} x ${one.blockBytes} ${one.call} = ${one.tensors.join(' | ')}\n`,
          );
      assert.ok(joined.length >= 0.75 * large.length, `${joined.length} of ${large.length}`);
    });
  }
});
