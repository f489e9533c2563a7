import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { runs } from '../../unit/long';
import { smallWorkspace } from '../../unit/workspace/small-workspace';

const micros = fc.constantFrom(1, 2, 8, 32);
const stages = fc.constantFrom(0, 1, 2, 3);
const gpus = fc.constantFrom('A100-SXM4-40GB', 'RTX 4090', 'H100-SXM5-80GB');
const checkpoints = fc.constantFrom('none', 'full');

describe('fixes of any run', function () {
  this.timeout(60_000);
  it('fit, read again, with the peak that they name', async () => {
    await fc.assert(
      fc.asyncProperty(micros, stages, gpus, checkpoints, async (micro, stage, gpu, checkpointing) => {
        const { workspace, analyze } = smallWorkspace({
          'run.yaml': `# oomlint: gpu="${gpu}"
run:
  model: meta-llama/Llama-3.1-8B
  method: { kind: full }
  precision: { weights: bf16, compute: bf16 }
  batch: { micro: ${micro}, accumulation: 2, sequence: 4096 }
  parallel: { data: zero }
  zero: { stage: ${stage} }
  activations: { checkpointing: ${checkpointing} }
  hardware: { gpus: 8 }
`,
        });
        const analysis = await analyze('run.yaml');
        assert.ok(isEstimated(analysis));
        for (const fix of await fixesFor(analysis, workspace)) {
          assert.equal(fix.verdict, 'fits', fix.title);
          const again = await workspace.preview(
            analysis.uri,
            new Map(fix.files.map((file) => [file.uri, file.after])),
          );
          assert.equal(again?.estimate?.verdict, 'fits', fix.title);
          assert.equal(again?.estimate?.peak.processBytes, fix.afterBytes, fix.title);
        }
      }),
      { numRuns: runs(6, 24) },
    );
  });
});
