import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { commandLineFacts } from '../../../server/src/workspace/command-line-facts';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function parametersOf(script: string): Promise<number | undefined> {
  const command = `torchrun --nproc_per_node 2 ${script} --model_name_or_path Qwen/Qwen3.5-0.8B --output_dir out --per_device_train_batch_size 1 --do_train`;
  const host = new MemoryHost({ 'file:///w/run.sh': `${command}\n` }, { folders: ['file:///w'] });
  const commandLine = commandLineFacts({ gpu: 'H100' });
  const analysis = await new Workspace(host, { commandLine }).analyze('file:///w/run.sh');
  return analysis?.estimate?.model.totalParameters;
}

describe('the class that a known script loads its model by', () => {
  it('makes the text model alone in the examples of transformers', async () => {
    assert.equal(await parametersOf('run_clm.py --block_size 512'), 752_393_024);
  });

  it('makes the whole model where TRL asks the config for its architecture', async () => {
    assert.equal(await parametersOf('trl/scripts/sft.py --max_length 512'), 852_985_920);
  });
});
