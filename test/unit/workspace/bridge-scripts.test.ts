import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SCRIPT = `import argparse
from megatron.bridge.recipes.llama import llama32_1b_peft_config
from megatron.bridge.training.finetune import finetune
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides
parser = argparse.ArgumentParser()
parser.add_argument("--config-file", default=None)
args, overrides = parser.parse_known_args()
config = process_config_with_overrides(llama32_1b_peft_config(), config_filepath=args.config_file, cli_overrides=overrides)
finetune(config=config, forward_step_func=forward_step)
`;
const CONFIG = `dataset: {seq_length: 2048}
train: {train_iters: 100, global_batch_size: 16, micro_batch_size: 2}
optimizer: {lr: 0.0001}
scheduler: {lr_warmup_iters: 10}
checkpoint: {pretrained_checkpoint: ./checkpoints/x}
peft: {dim: 8, alpha: 16}
model: {seq_length: 2048, tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1}
`;

const read = async (command: string) => {
  const { resolved, unread = [] } = await smallWorkspace({
    'run.sh': `${command}\n`,
    'finetune.py': SCRIPT,
    'conf/ft.yaml': CONFIG,
  }).analyze('run.sh');
  return { values: resolved.values, unread: unread.map(({ kind, text }) => `${kind} ${text}`) };
};

describe('scripts that start Megatron-Bridge', () => {
  it('are read by the file that goes over their recipe, which itself is not read', async () => {
    const { values, unread } = await read(
      'torchrun --nproc_per_node=2 finetune.py --config-file conf/ft.yaml peft.dim=4',
    );
    assert.deepEqual(
      [values['batch.micro'], values['batch.sequence'], values['lora.rank'], values['hardware.gpus']],
      [2, 2048, 4, 2],
    );
    assert.deepEqual(unread, ['script finetune.py']);
    // Without words over the file, too.
    const plain = await read('torchrun --nproc_per_node=2 finetune.py --config-file conf/ft.yaml');
    assert.deepEqual([plain.values['lora.rank'], plain.unread], [8, ['script finetune']]);
  });

  it('are not estimated by their recipe alone', async () => {
    const { unread } = await read('torchrun --nproc_per_node=2 finetune.py');
    assert.deepEqual(unread, ['refused Megatron-Bridge']);
  });
});
