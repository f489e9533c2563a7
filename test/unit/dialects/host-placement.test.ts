import assert from 'node:assert/strict';
import { decisionsOf } from '../../../server/src/advice/decisions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const run = (more: string) => `python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
  actor_rollout_ref.model.path=Qwen/Qwen3-8B \\
  data.max_prompt_length=512 data.max_response_length=1024 \\
  actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=5 ${more} \\
  trainer.n_gpus_per_node=8 trainer.nnodes=1
`;

/** What of the host's placement is called an assumption. */
async function assumed(more: string): Promise<readonly string[]> {
  const uri = 'file:///w/run.sh';
  const host = new MemoryHost({ [uri]: `# oomlint: gpu=H100\n${run(more)}` }, { folders: ['file:///w'] });
  const analysis = await new Workspace(host).analyze(uri);
  assert.ok(analysis?.estimate, JSON.stringify(analysis?.resolved.unknown));
  return decisionsOf(analysis)
    .map(({ field }) => field)
    .filter((field) => field.startsWith('offload.'));
}

describe('what verl keeps in host memory', () => {
  const block = 'actor_rollout_ref.actor.fsdp_config';
  it('is asked about under FSDP 2, whose policy keeps it away, where no file has a word on it', async () => {
    assert.ok((await assumed('actor_rollout_ref.actor.strategy=fsdp2')).includes('offload.parameters'));
  });

  it('is not asked about under FSDP 1, which has no switch for it', async () => {
    assert.deepEqual(await assumed(''), []);
  });

  for (const value of ['False', 'True'])
    it(`is no assumption where param_offload=${value} decides it: while it trains, the model is on the GPU`, async () => {
      const switches = `${block}.param_offload=${value} ${block}.optimizer_offload=${value}`;
      assert.deepEqual(await assumed(switches), []);
    });
});
