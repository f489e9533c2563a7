import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { computeEstimate } from '../../../server/src/compute/flops';
import { traceRun } from '../../../server/src/memory/traced-run';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

interface Recorded {
  readonly model: Record<string, unknown>;
  readonly batch: number;
  readonly sequence: number;
  readonly trained: number;
  readonly cases: readonly {
    readonly checkpoints: 'none' | 'opened' | 'closed' | 'alone';
    readonly reentrant: boolean;
    readonly step: number;
  }[];
}

const file = path.join(process.cwd(), 'test', 'oracle', 'frozen_layers.json');
const recorded: Recorded = JSON.parse(readFileSync(file, 'utf8'));

/** Runs whose checkpoints are of that kind. */
const KINDS: Readonly<Record<Recorded['cases'][number]['checkpoints'], readonly RunValues[]>> = {
  none: [{}, { framework: 'llama-factory' }],
  opened: [
    { framework: 'transformers', 'version.transformers': '5.0.0' },
    { framework: 'axolotl', 'version.transformers': '5.23' },
    { framework: 'ms-swift', 'version.transformers': '4.57.6' },
  ],
  closed: [{ framework: 'transformers', 'version.transformers': '4.57.6' }],
  alone: [
    { framework: 'llama-factory', 'version.transformers': '5.6.0' },
    { framework: 'llama-factory', 'version.transformers': '4.57.1' },
  ],
};

describe('FLOPs of a step whose first layers are frozen', () => {
  for (const { checkpoints, reentrant, step } of recorded.cases)
    for (const values of KINDS[checkpoints])
      it(`are PyTorch’s: checkpoints ${checkpoints}, ${reentrant ? 'reentrant' : 'not reentrant'}, ${JSON.stringify(values)}`, () => {
        const model = modelFromConfig(recorded.model, 'frozen', 'inline');
        assert.ok(!('error' in model));
        const run = aRun({
          'batch.micro': recorded.batch,
          'batch.sequence': recorded.sequence,
          'attention.implementation': 'eager',
          'method.kind': 'freeze',
          'method.trainableLayers': recorded.trained,
          'activations.checkpointing': checkpoints === 'none' ? 'none' : 'full',
          'activations.reentrant': reentrant,
          ...values,
        });
        const { profiledFlopsPerStep } = computeEstimate(traceRun(model, run), run);
        const error = profiledFlopsPerStep / step - 1;
        assert.ok(
          Math.abs(error) < 0.005,
          `${profiledFlopsPerStep} of ${step}: ${(100 * error).toFixed(2)} %`,
        );
      });
});
