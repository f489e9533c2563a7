import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (flags: string, name = 'finetune') =>
  `# oomlint: gpu=A100-80GB
torchrun --nproc_per_node 4 examples/${name}.py --model_name_or_path meta-llama/Llama-3.2-3B-Instruct \\
  --dataset_path data/alpaca/train --output_dir o --block_size 512 --per_device_train_batch_size 1 --bf16 \\
  --torch_dtype bfloat16 --conversation_template llama3 --do_train ${flags}
`;

async function run(flags: string, name?: string) {
  const analysis = await smallWorkspace({ 'run.sh': script(flags, name) }).analyze('run.sh');
  const value = (field: FieldPath) => analysis.resolved.values[field];
  return { analysis, value };
}

describe('LMFlow', () => {
  it('trains LoRA of the modules that PEFT lists, by its own defaults', async () => {
    const { analysis, value } = await run('--use_lora 1');
    assert.deepEqual(
      ['method.kind', 'lora.rank', 'lora.alpha', 'lora.dropout', 'batch.sequence'].map((field) =>
        value(field as FieldPath),
      ),
      ['lora', 8, 32, 0.1, 512],
    );
    // q and v of 28 layers: 3072 wide, v of 8 heads of 128.
    assert.equal(analysis.estimate?.model.trainableParameters, 28 * 8 * (3072 + 3072 + 3072 + 1024));
    assert.deepEqual(analysis.unread ?? [], []);
  });

  it('quantizes without preparing the model', async () => {
    const { value } = await run('--use_lora 1 --use_qlora 1');
    assert.deepEqual(
      ['quantization.kind', 'quantization.prepared', 'quantization.storage', 'quantization.double'].map(
        (field) => value(field as FieldPath),
      ),
      ['nf4', false, 'bf16', true],
    );
    assert.equal((await run('--use_lora 1 --use_qlora 1 --quant_bit 8')).value('quantization.kind'), 'int8');
  });

  it('trains a few layers at a time with LISA', async () => {
    const { value } = await run('--use_lisa 1 --lisa_activated_layers 1');
    assert.deepEqual(
      [value('method.kind'), value('method.trainableLayers'), value('method.switchSteps')],
      ['lisa', 1, 20],
    );
  });

  it('knows its reward models, DoRA and joined texts', async () => {
    assert.equal((await run('', 'reward_modeling')).value('method.objective'), 'reward');
    assert.equal((await run('--use_dora 1')).value('lora.dora'), true);
    assert.equal((await run('--disable_group_texts 0')).value('batch.packed'), true);
    assert.equal((await run('')).value('method.kind'), 'full');
  });
});
