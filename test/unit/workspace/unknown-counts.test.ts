import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const FLAGS =
  '--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16';

async function severityOf(launcher: string) {
  const uri = 'file:///w/run.sh';
  const text = `torchrun ${launcher} pretrain_gpt.py ${FLAGS}\n`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  return analysis?.problems.find(({ code }) => code === 'world-size')?.severity;
}

describe('a layout over GPUs that nobody counts', () => {
  it('is no fault where a variable states how many machines there are', async () => {
    assert.equal(await severityOf('--nproc_per_node 8'), 'error');
    assert.equal(await severityOf('--nproc_per_node 8 --nnodes 2'), 'error');
    assert.equal(await severityOf('--nproc_per_node 8 --nnodes $WORLD_SIZE'), 'information');
    assert.equal(await severityOf('--nproc_per_node 8 --nnodes 4'), undefined);
  });
});
