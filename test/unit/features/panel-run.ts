import assert from 'node:assert/strict';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/** A run of a DeepSpeed file and a project file, for what the panel asks about. */
export const URI = 'file:///project/ds.json';
export const PROJECT = `targets:
  gpu: H100-SXM5-80GB
  gpus: 8
defaults:
  model: meta-llama/Llama-3.1-8B
  sequence: 2048
`;
export const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3, "reduce_bucket_size": 50000000 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;

export async function analysed(text = DEEPSPEED, project = PROJECT): Promise<Analysis> {
  const host = new MemoryHost(
    { [URI]: text, 'file:///project/oomlint.yaml': project },
    { folders: ['file:///project'] },
  );
  const analysis = await new Workspace(host).analyze(URI);
  assert.ok(analysis?.estimate);
  return analysis;
}
