import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { tracedEstimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

interface Case {
  readonly id: string;
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  readonly results: {
    readonly parameters: { readonly trainable: number };
    readonly forward: { readonly peak: number; readonly module?: string };
    readonly backward: { readonly peak: number };
    readonly peak: number;
  };
}

const casesOf = (file: string) =>
  (JSON.parse(readFileSync(`test/oracle/${file}.json`, 'utf8')) as { cases: readonly Case[] }).cases;

for (const [what, cases] of [
  ['head and loss of TRL', casesOf('losses')],
  ["Liger's fused head and loss", casesOf('liger')],
  ["Axolotl's fused LoRA functions", casesOf('lora_kernels')],
  ['LISA', casesOf('lisa')],
  ['LLaMA Pro', casesOf('llamapro')],
  ["the update of TRL's PPO", casesOf('ppo')],
  ['distillation of TRL, ms-swift, Liger and torchtune', casesOf('distillation')],
  ['activations in host memory', casesOf('offload')],
  ['Ulysses of DeepSpeed', casesOf('ulysses')],
] as const)
  describe(`${what} under PyTorch (${cases.length} recorded cases)`, () => {
    for (const { id, run: values, model, results } of cases) {
      it(`${id}: phases within 1 %`, () => {
        const { walk, estimate: e } = tracedEstimate({
          run: aRun(values),
          model: aModel(model),
          accelerator: CARD,
        });
        assert.equal(e.model.trainableParameters, results.parameters.trainable);
        const workspace =
          e.timeline.at(-1)?.parts.find(({ category }) => category === 'workspaces')?.bytes ?? 0;
        const highest = (...moments: string[]) =>
          Math.max(...walk.points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes)) - workspace;
        const within = (found: number, expected: number, what: string) =>
          assert.ok(Math.abs(found - expected) <= 0.01 * expected, `${what}: ${found} for ${expected}`);
        // Autocast's copies go before the results of PPO are converted to fp32: forward is lower than backward there anyway.
        // Of tensors that wait for their copies not all are followed into the loss.
        // The embedded tokens, which the model names until it returns, are not counted at its last norm.
        const other =
          values['method.objective'] === 'ppo' ||
          values['activations.offload'] === true ||
          (values['parallel.ulysses'] !== undefined && values['activations.checkpointing'] === undefined) ||
          (values['loss.implementation'] === 'liger' && results.forward.module?.endsWith('.norm') === true);
        if (!other) within(highest('forward', 'loss'), results.forward.peak, 'forward');
        within(highest('backward'), results.backward.peak, 'backward');
        within(e.peak.allocatedBytes - workspace, results.peak, 'peak');
      });
    }
  });
