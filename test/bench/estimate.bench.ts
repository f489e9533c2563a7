import assert from 'node:assert/strict';
import { type EstimateInput, estimate } from '../../server/src/estimate';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import { type Figures, report, timed } from './samples';

const ROUNDS = 600;
const CONFIG =
  '{ "train_micro_batch_size_per_gpu": 1, "bf16": { "enabled": true }, "zero_optimization": { "stage": 3 } }';

/** A Llama-like model of a given depth. */
const project = (layers: number) => `targets: { gpu: H100-SXM5-80GB, gpus: 64 }
defaults:
  sequence: 4096
  model.config:
    model_type: llama
    hidden_size: 4096
    intermediate_size: 14336
    num_hidden_layers: ${layers}
    num_attention_heads: 32
    num_key_value_heads: 8
    vocab_size: 128256
    max_position_embeddings: 131072
    tie_word_embeddings: false
`;

async function input(layers: number): Promise<EstimateInput> {
  const host = new MemoryHost({ 'file:///w/ds.json': CONFIG, 'file:///w/oomlint.yaml': project(layers) });
  const analysis = await new Workspace(host).analyze('file:///w/ds.json');
  const { run } = analysis?.resolved ?? {};
  assert.ok(run && analysis?.model && analysis.accelerator, JSON.stringify(analysis?.problems));
  return { run, model: analysis.model, accelerator: analysis.accelerator };
}

async function main(): Promise<void> {
  const figures: Figures = {};
  for (const layers of [12, 96]) {
    const given = await input(layers);
    const cold: number[] = [];
    const warm: number[] = [];
    for (let i = 0; i < ROUNDS + 200; i += 1) {
      // A length that never came before: nothing can be answered from earlier rounds.
      const run = { ...given.run, 'batch.sequence': 2048 + 8 * i };
      cold.push(await timed(() => estimate({ ...given, run }).compute));
      // Another cluster for it, as a table of alternatives asks: the model's operators are known.
      const other = { ...run, 'hardware.gpus': 8 * (1 + (i % 8)) };
      warm.push(await timed(() => estimate({ ...given, run: other }).compute));
    }
    figures[`estimate, ${layers} layers`] = cold.slice(200);
    figures[`estimate, ${layers} layers, another cluster`] = warm.slice(200);
  }
  report(figures);
}

void main();
