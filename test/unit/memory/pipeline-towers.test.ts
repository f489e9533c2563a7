import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///w/run.sh';

/** Bytes of the weights on the fullest GPU, and parameters of the model. */
async function weightsOf(text: string): Promise<{ weights: number; parameters: number }> {
  const { estimate } = (await new Workspace(new MemoryHost({ [URI]: text })).analyze(URI)) ?? {};
  assert.ok(estimate);
  const weights = estimate.parts.find(({ category }) => category === 'weights')?.bytes ?? 0;
  return { weights, parameters: estimate.model.totalParameters };
}

describe('a pipeline under a model with an encoder of images', () => {
  const FLAGS = '--tuner_type lora --lora_rank 8 --target_modules all-linear --torch_dtype bfloat16';

  it('shares out the weights as Accelerate does, not the blocks of encoder and model alike', async () => {
    const { weights, parameters } = await weightsOf(
      `# oomlint: gpu=H200 gpus=2\nCUDA_VISIBLE_DEVICES=0,1 swift sft --model Qwen/Qwen2.5-VL-72B-Instruct ${FLAGS} --max_length 1024 --per_device_train_batch_size 1\n`,
    );
    // Half of the weights in bf16, give or take a layer of 0.88 billion.
    assert.ok(Math.abs(weights - parameters) < 2 * 0.88e9, `${weights} of ${2 * parameters}`);
  });

  it('shares out the layers of the language model in Megatron, whose first stage holds the encoder', async () => {
    const launch = (pipeline: number) =>
      `# oomlint: gpu=H200 gpus=8\nNPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-VL-7B-Instruct --tuner_type lora --lora_rank 8 --pipeline_model_parallel_size ${pipeline} --tensor_model_parallel_size 1 --micro_batch_size 1 --global_batch_size 8 --max_length 1024 --packing true\n`;
    const whole = await weightsOf(launch(1));
    const halved = await weightsOf(launch(2));
    // Qwen2.5-VL-7B: 28 layers of 233.06 million, an embedding and a head of 545 million each, an encoder of 0.68 billion.
    assert.ok(halved.weights < 0.57 * whole.weights, `${halved.weights} of ${whole.weights}`);
  });
});
