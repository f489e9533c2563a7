import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { computeEstimate } from '../../../server/src/compute/flops';
import { traceRun } from '../../../server/src/memory/traced-run';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

interface Case {
  readonly id: string;
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  readonly results?: { readonly flops: { readonly step: number } };
}

const file = path.join(process.cwd(), 'test', 'oracle', 'cases.json');
const cases: readonly Case[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).cases : [];

/**
 * The recording ran Mamba's sequential code in Python or a stand-in of its scan (Zamba2), and the counter knows no grouped product of experts. LFM2: it takes
 * the backward of a depthwise convolution for one of all channels (`flop_counter.py`, `conv_backward_flop`).
 */
const OTHER_CODE = /^mamba|^zamba2|^lfm2/;

/**
 * Steps with a convolution in groups of channels (of layers that keep a state each for itself, in PyTorch's operators): the counter takes the gradient
 * of its weights for that of all channels with all (`flop_counter.py`, `conv_backward_flop`). Their forward passes are compared with the others.
 */
const GROUPED = /-operators-|^wav2vec2-|^mit-|^layoutlmv2-|-sound-|^convnext-/;

describe('FLOPs of a whole step against PyTorch’s FlopCounterMode', () => {
  it('are within 0.5 % in every recorded case: full and LoRA, with and without checkpointing', () => {
    let compared = 0;
    let checkpointed = 0;
    for (const { id, run: values, model: config, results } of cases) {
      if (!results || OTHER_CODE.test(id) || GROUPED.test(id)) continue;
      const model = modelFromConfig(config, id, 'inline');
      if ('error' in model) continue;
      const run = aRun(values);
      const stages = traceRun(model, run);
      if (stages.some(({ tape }) => tape.weights.some((weight) => weight.expert))) continue;
      const { profiledFlopsPerStep } = computeEstimate(stages, run);
      const error = profiledFlopsPerStep / results.flops.step - 1;
      assert.ok(Math.abs(error) < 0.005, `${id}: ${(100 * error).toFixed(3)} %`);
      compared++;
      if (run['activations.checkpointing'] === 'full') checkpointed++;
    }
    assert.ok(compared > 200 && checkpointed > 50, `${compared} compared, ${checkpointed} checkpointed`);
  });
});
