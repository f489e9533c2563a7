import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const titan = (head: string, model: string) => `# oomlint: gpu=${head} gpus=8
[model]
name = "llama3"
flavor = "8B"
${model}
[training]
local_batch_size = 1
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
[activation_checkpoint]
mode = "selective"
[compile]
enable = true
`;

async function estimated(file: string, text: string) {
  const analysis = await smallWorkspace({ [file]: text }).analyze(file);
  assert.ok(analysis.estimate);
  return { ...analysis, estimate: analysis.estimate };
}

/** torchtitan's own figures, H100: 6,667 tokens/s on a GPU become 8,532 with float8. */
describe('float8 in a config of torchtitan', () => {
  const seconds = async (card: string, model: string) =>
    (await estimated('a.toml', titan(card, model))).estimate.compute.time?.stepSeconds.likely ?? 0;

  it('shortens the step where the card multiplies in it', async () => {
    const [plain, float8] = [
      await seconds('H100', ''),
      await seconds('H100', 'converters = ["float8"]'),
    ] as const;
    assert.ok(plain > 0 && float8 < 0.92 * plain, `${float8} of ${plain}`);
  });

  it('does not where it cannot', async () => {
    assert.ok((await seconds('A100-80GB', 'converters = ["float8"]')) >= (await seconds('A100-80GB', '')));
  });
});

describe('a run that may or may not fit', () => {
  const recipe = (length: number) => `# oomlint: gpu=A100-SXM4-40GB gpus=1
model_name_or_path: Qwen/Qwen2.5-3B
dataset_name: trl-lib/Capybara
learning_rate: 1.0e-5
per_device_train_batch_size: 1
max_length: ${length}
packing: true
attn_implementation: flash_attention_2
dtype: bfloat16
bf16: true
use_liger_kernel: false
gradient_checkpointing: false
output_dir: out
`;

  it('is called tight below what there is, and may not fit above it', async () => {
    const seen = new Set<string>();
    for (let length = 1024; length <= 12288; length += 256) {
      const { estimate, problems } = await estimated('sft.yaml', recipe(length));
      if (estimate.verdict !== 'tight') continue;
      const message = problems.find(({ code }) => code === 'tight')?.message ?? '';
      const above = estimate.peak.processBytes > estimate.capacityBytes;
      assert.match(message, above ? /^May not fit: / : /^Tight: /, message);
      seen.add(above ? 'above' : 'below');
    }
    assert.deepEqual([...seen].sort(), ['above', 'below']);
  });
});

/** torchtune's `qwen2_5/32B_lora`: its data are far shorter than the length that has to be assumed. */
describe('a recipe that limits no sample', () => {
  const text = `# oomlint: gpu=A100-SXM4-80GB gpus=8
model:
  _component_: torchtune.models.qwen2_5.lora_qwen2_5_32b_base
  lora_attn_modules: ['q_proj', 'k_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  lora_rank: 8
  lora_alpha: 16
tokenizer:
  _component_: torchtune.models.qwen2_5.qwen2_5_tokenizer
  max_seq_len: null
dataset:
  _component_: torchtune.datasets.alpaca_cleaned_dataset
  packed: False
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  fused: True
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
gradient_accumulation_steps: 8
device: cuda
dtype: bf16
enable_activation_checkpointing: False
`;

  it('does not fit by no error', async () => {
    const { estimate, problems } = await estimated('32B_lora.yaml', text);
    assert.equal(estimate.verdict, 'exceeds');
    const problem = problems.find(({ code }) => code === 'does-not-fit');
    assert.equal(problem?.severity, 'warning');
    assert.match(
      problem.message,
      /Nothing limits the length of a sample: 2048 tokens are assumed\. With samples of up to 1,024 tokens it would need \d+\.\d GiB\.$/,
    );
  });
});

describe("torchtune's quantized 405B", () => {
  const text = `# oomlint: gpu=A100-SXM4-80GB gpus=8
model:
  _component_: torchtune.models.llama3_1.qlora_llama3_1_405b
  lora_attn_modules: ['q_proj', 'v_proj']
  apply_lora_to_mlp: False
  lora_rank: 16
  lora_alpha: 32
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 2048
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: True
batch_size: 1
optimizer:
  _component_: torch.optim.AdamW
  fused: True
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
gradient_accumulation_steps: 16
device: cuda
dtype: bf16
enable_activation_checkpointing: True
`;

  // Measured: 44.8 GiB; whole on every GPU the packed weights alone would take 210.
  it('is split over the GPUs, scales and all', async () => {
    const { estimate } = await estimated('405B_qlora.yaml', text);
    assert.equal(estimate.verdict, 'fits');
    const packed = estimate.parts.find(({ category }) => category === 'quantized-weights')?.bytes ?? 0;
    assert.ok(packed > 20 * 2 ** 30 && packed < 30 * 2 ** 30, `${packed / 2 ** 30}`);
  });
});
