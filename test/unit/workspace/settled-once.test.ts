import assert from 'node:assert/strict';
import { fact } from '../../../server/src/run/origin';
import type { Collected } from '../../../server/src/workspace/assembly/collect';
import type { Known } from '../../../server/src/workspace/assembly/know';
import { type Read, read } from '../../../server/src/workspace/assembly/read';
import { resolve } from '../../../server/src/workspace/assembly/resolve';
import { settle } from '../../../server/src/workspace/assembly/settle';
import { readConfig } from '../../../server/src/workspace/file-cache';

/** The phases of a run of one file, with what is known of it by the time, and with what its files state then. */
function phases(more: Partial<Known> = {}, restated = (again: Read) => again) {
  const text = '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}';
  const config = readConfig('file:///repo/ds.json', text);
  assert.ok(config);
  const collected: Collected = {
    config,
    members: [{ config, relation: 'self' }],
    followed: { links: [], linked: [], problems: [], unseen: [] },
    unseen: [],
    commandLine: [],
    measured: [],
    around: [fact('hardware.gpu', 'A100-SXM4-80GB', { kind: 'project' })],
    frameworks: {},
    defined: new Set<string>(),
  };
  const settled = settle(collected);
  const { values } = settled.joined.resolution;
  const known: Known = { values, versions: {}, finding: {}, detected: [], ...more };
  return { settled, resolved: resolve(collected, known, restated(read(collected, known)), settled) };
}

describe('a run', () => {
  it('is resolved once where nothing else is stated with what is known of it', () => {
    const { settled, resolved } = phases();
    assert.equal(resolved.resolution.values['zero.stage'], 2);
    assert.deepEqual(resolved.facts, settled.stating);
    assert.equal(resolved.resolution, settled.joined.resolution, 'the very same, not its like');
  });

  it('is resolved anew where this machine adds its GPUs', () => {
    const { settled, resolved } = phases({
      detected: [fact('hardware.gpus', 4, { kind: 'detected' })],
    });
    assert.notEqual(resolved.resolution, settled.joined.resolution);
    assert.equal(resolved.resolution.values['hardware.gpus'], 4);
  });

  it('is resolved anew where a file states another value, or the same for another reason', () => {
    const stating = (value: number, note?: string) => (again: Read) => ({
      ...again,
      facts: again.facts.map((each) =>
        each.field === 'zero.stage'
          ? fact('zero.stage', value, { ...each.origin, ...(note === undefined ? {} : { note }) })
          : each,
      ),
    });
    assert.equal(phases({}, stating(3)).resolved.resolution.values['zero.stage'], 3);
    const { resolution } = phases({}, stating(2, 'of the launcher')).resolved;
    assert.equal(resolution.origins['zero.stage']?.note, 'of the launcher');
  });
});
