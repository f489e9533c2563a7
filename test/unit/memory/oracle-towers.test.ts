import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { playForward, savedStorages } from '../../../server/src/memory/play';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

/** Bytes of timm's encoder under PyTorch (`test/oracle/towers.py`). */
interface Recorded {
  readonly dtype: 'bf16' | 'fp32';
  readonly trained: boolean;
  readonly images: number;
  readonly features: readonly number[];
  readonly kept: number;
  readonly peak: number;
}

const file = path.join(process.cwd(), 'test', 'oracle', 'towers.json');
const rows: readonly Recorded[] = JSON.parse(readFileSync(file, 'utf8')).mobilenetv5_300m_enc;

/** Stages of Gemma 3n's tower, of a run that trains it or leaves it as it is. */
function towerOf({ dtype, trained, images }: Recorded) {
  const model = findModel('google/gemma-3n-E2B') ?? assert.fail();
  const adapted: RunValues = trained
    ? {}
    : { 'method.kind': 'lora', 'lora.rank': 8, 'lora.targets': ['q_proj'] };
  const run = aRun({
    ...adapted,
    'precision.weights': dtype,
    'precision.compute': dtype,
    'precision.autocast': false,
    'batch.micro': images,
    'batch.images': 1,
    'batch.sequence': 512,
  });
  return traceRun(model, run).filter(({ stage }) => /^(vision_tower|multi_modal_projector)/.test(stage.name));
}

const ELEMENT = { bf16: 2, fp32: 4 } as const;

describe("Gemma 3n's tower for images against timm's", () => {
  for (const row of rows)
    it(`${row.trained ? 'trained' : 'frozen'} in ${row.dtype}`, () => {
      const result = row.features.reduce((a, b) => a * b, 1) * ELEMENT[row.dtype];
      const stages = towerOf(row);
      let kept = 0;
      let peak = 0;
      for (const { stage, tape } of stages) {
        for (const storage of savedStorages(tape))
          if (storage.kind === 'activation') kept += storage.bytes * stage.count;
        const consumed = new Set(tape.entry.map((x) => x.storage));
        const entered = [...consumed].reduce((sum, storage) => sum + storage.bytes, 0);
        const high = playForward(tape, { grad: true, consumed }).peak;
        peak = Math.max(peak, entered + high.reduce((a, b) => a + b, 0));
      }
      if (row.trained)
        assert.ok(Math.abs(kept / (row.kept - result) - 1) < 1e-3, `${kept}, not ${row.kept - result}`);
      else {
        assert.equal(kept, 0);
        assert.ok(Math.abs(peak / row.peak - 1) < 0.05, `${peak}, not ${row.peak}`);
      }
    });
});
