import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { tracedEstimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

/** LoRA of stacked experts by peft 0.20 and 0.21 under the oracle's tracker; bytes (`test/oracle/expert_adapters.py`). */
interface Recording {
  readonly models: Readonly<Record<string, Record<string, unknown>>>;
  readonly run: RunValues;
  readonly cases: readonly {
    readonly peft: string;
    readonly model: string;
    readonly scheme: string;
    readonly run: RunValues;
    readonly trainable: number;
    readonly peak: number;
  }[];
}

describe('adapters of stacked experts against peft under PyTorch', () => {
  const recording = JSON.parse(readFileSync('test/oracle/expert_adapters.json', 'utf8')) as Recording;
  for (const { peft, model, scheme, run: values, trainable, peak } of recording.cases) {
    it(`peft ${peft}, ${model}, ${scheme}: peak within 1.5 %`, () => {
      const { estimate: e } = tracedEstimate({
        run: aRun({ ...recording.run, ...values, 'version.peft': peft }),
        model: aModel(recording.models[model] ?? {}),
        accelerator: CARD,
      });
      const workspace =
        e.timeline.at(-1)?.parts.find(({ category }) => category === 'workspaces')?.bytes ?? 0;
      const found = e.peak.allocatedBytes - workspace;
      assert.equal(e.model.trainableParameters, trainable);
      assert.ok(Math.abs(found - peak) <= 0.015 * peak, `${found} for ${peak}`);
    });
  }
});
