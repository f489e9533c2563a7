import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { commandLineFacts } from '../../../server/src/workspace/command-line-facts';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function valuesOf(command: string) {
  const host = new MemoryHost({ 'file:///w/run.sh': `${command}\n` }, { folders: ['file:///w'] });
  const commandLine = commandLineFacts({ gpu: 'H100' });
  const analysis = await new Workspace(host, { commandLine }).analyze('file:///w/run.sh');
  const { values } = analysis?.resolved ?? {};
  return [values?.['precision.scheme'], values?.['precision.weights']];
}

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

describe('what `accelerate launch` takes for granted of precision', () => {
  const flags = '--model_name_or_path Qwen/Qwen3-0.6B --output_dir out --per_device_train_batch_size 1';
  for (const [script, expected] of [
    [`train.py ${flags} --bf16 --torch_dtype bfloat16`, ['autocast', 'bf16']],
    [`run_clm.py ${flags} --fp16 --torch_dtype bfloat16`, ['autocast', 'bf16']],
    [`train.py ${flags}`, ['native', 'bf16']],
    [`trl/scripts/sft.py ${flags} --torch_dtype bfloat16`, ['autocast', 'bf16']],
  ] as const)
    it(`gives way to what the script is given: ${script.split(flags).join('')}`, async () => {
      assert.deepEqual(await valuesOf(`accelerate launch --multi_gpu --num_processes=2 ${script}`), expected);
    });
});
