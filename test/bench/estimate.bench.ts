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
    const times: number[] = [];
    for (let i = 0; i < ROUNDS + 200; i += 1) {
      // Another batch size each time: nothing can be answered from the last round.
      const run = { ...given.run, 'batch.micro': 1 + (i % 7) };
      times.push(await timed(() => estimate({ ...given, run })));
    }
    figures[`estimate, ${layers} layers`] = times.slice(200);
  }
  report(figures);
}

void main();
