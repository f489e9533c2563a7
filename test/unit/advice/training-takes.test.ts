import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { decisionsOf } from '../../../server/src/advice/decisions';
import type { World } from '../../../server/src/advice/world';
import { FAMILY_DIALECTS } from '../../../server/src/dialects/families';
import { knobsOf, valuesOf } from '../../../server/src/features/knobs';
import type { FieldPath, RunValues } from '../../../server/src/run/fields';
import { smallWorkspace } from '../workspace/small-workspace';
import { FAMILY_RUNS } from './family-runs';

/** What a config of these families may leave out. */
const SUPPLIED: RunValues = {
  'hardware.gpu': 'A100-SXM4-40GB',
  'hardware.gpus': 8,
  'batch.sequence': 2048,
  'batch.micro': 2,
  'model.id': 'meta-llama/Llama-3.1-8B',
};

async function analysed(name: string, text: string) {
  const { workspace, analyze } = smallWorkspace({ [name]: text }, { settings: () => SUPPLIED });
  const world: World = {
    source: (uri) => workspace.source(uri),
    preview: (uri, changed) => workspace.preview(uri, changed),
    project: (at) => workspace.project(at),
    folders: workspace.folders,
    exists: (uri) => workspace.exists(uri),
  };
  const analysis = await analyze(name);
  assert.ok(analysis.estimate, `${name}: ${JSON.stringify(analysis.resolved.unknown)}`);
  return { analysis, world };
}

/** Facts about a run that no config has to hold, what the environment of any sets, and what comes along with adapters. */
const BESIDE = /^(?:hardware|model|version|compute|lora)\.|^batch\.sequence$|^allocator\.expandableSegments$/;

describe('what a framework without code of a person takes', () => {
  it('is looked at for every family', () => {
    const open = FAMILY_DIALECTS.filter(
      ({ isLibrary, ownScript, id }) => isLibrary || ownScript || id === 'not-modelled',
    );
    const closed = FAMILY_DIALECTS.filter((dialect) => !open.includes(dialect)).map(({ id }) => id);
    const seen = FAMILY_RUNS.map(({ family }) => family);
    assert.deepEqual(
      closed.filter((id) => !seen.includes(id)),
      [],
    );
  });

  for (const { family, file, text } of FAMILY_RUNS) {
    it(`is all that is called an assumption of ${family}: each can be stated otherwise in its words`, async () => {
      const { analysis, world } = await analysed(file, text);
      const unsaid: string[] = [];
      // What the launch of a run decides is asked beside its files.
      const asked = new Set((analysis.answers ?? []).map(({ field }) => field));
      for (const { field, otherwise } of decisionsOf(analysis)) {
        if (!otherwise || BESIDE.test(field) || asked.has(field)) continue;
        const { left, note } = await planValues(analysis, otherwise.changes, world);
        // A note for Oomlint changes no training.
        if (note || left.some((one) => one.field === field))
          unsaid.push(`${field} ${JSON.stringify(otherwise.changes)}`);
      }
      assert.deepEqual(unsaid, []);
    });

    it(`is all that the panel turns of the method, the optimizer and checkpointing in ${family}`, async () => {
      const { analysis, world } = await analysed(file, text);
      const unsaid: string[] = [];
      for (const knob of knobsOf(analysis)) {
        if (knob.kind !== 'choice' || !['method', 'optimizer', 'checkpointing'].includes(knob.id)) continue;
        for (const { id } of knob.options) {
          const { left } = await planValues(analysis, valuesOf(analysis, { [knob.id]: id }), world);
          if (left.some(({ field }) => !BESIDE.test(field))) unsaid.push(`${knob.id} ${id}`);
        }
      }
      assert.deepEqual(unsaid, []);
    });
  }

  it('holds no adapters for Megatron-LM', async () => {
    const run = FAMILY_RUNS.find(({ family }) => family === 'megatron');
    assert.ok(run);
    const { analysis, world } = await analysed(run.file, run.text);
    const fields = decisionsOf(analysis).map(({ field }) => field);
    assert.ok(!fields.includes('method.kind'), fields.join());
    assert.ok(!knobsOf(analysis).some(({ id }) => id === 'method'));
    const lora: RunValues = { 'method.kind': 'lora', 'lora.rank': 16 };
    const plan = await planValues(analysis, lora, world);
    assert.deepEqual([plan.files, plan.note], [[], undefined]);
    assert.ok(plan.left.some(({ field }: { field: FieldPath }) => field === 'method.kind'));
  });
});
