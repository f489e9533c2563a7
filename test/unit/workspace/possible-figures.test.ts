import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { smallWorkspace } from './small-workspace';

const FOLDERS = ['examples', 'test/fixtures/configs'];
const PROJECT = (gpu: string) => `gpu: ${gpu}\ngpus: 8\nsequence: 8192\nmicro-batch: 1\nmodel: gpt2\n`;

describe('the utilization of a card', () => {
  for (const gpu of ['H100-SXM5-80GB', 'A100-SXM4-80GB', 'B200-SXM'])
    it(`is no more than there is, in every example and fixture on ${gpu}`, async () => {
      let shown = 0;
      for (const folder of FOLDERS) {
        const names = readdirSync(folder).filter((name) => name !== 'oomlint.yaml');
        const files = Object.fromEntries(
          names.map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')]),
        );
        const { workspace } = smallWorkspace({ ...files, 'oomlint.yaml': PROJECT(gpu) });
        for (const name of names) {
          const time = (await workspace.analyze(`file:///repo/${name}`))?.estimate?.compute.time;
          for (const share of [time?.mfu, time?.hfu]) {
            if (!share) continue;
            shown++;
            assert.ok(share.high <= 1, `${name}: ${share.high}`);
          }
        }
      }
      assert.ok(shown > 10, `${shown}`);
    });

  // The teacher of torchtune's `llama3_2/knowledge_distillation_distributed` is eight times the student: 188 % once.
  it('counts the time of a teacher with its FLOPs', async () => {
    const text = `# oomlint: gpu=H100-SXM5-80GB gpus=2 sequence=8192
output_dir: out
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: tokenizer.model
model:
  _component_: torchtune.models.llama3_2.lora_llama3_2_1b
  lora_attn_modules: [q_proj, v_proj]
  apply_lora_to_mlp: true
  lora_rank: 64
  lora_alpha: 128
teacher_model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
kd_loss:
  _component_: torchtune.modules.loss.ForwardKLWithChunkedOutputLoss
kd_ratio: 0.5
dataset:
  _component_: torchtune.datasets.alpaca_cleaned_dataset
  packed: true
batch_size: 4
epochs: 1
gradient_accumulation_steps: 8
optimizer:
  _component_: torch.optim.AdamW
  fused: true
dtype: bf16
enable_activation_checkpointing: false
`;
    const { estimate } = await smallWorkspace({ 'kd.yaml': text }).analyze('kd.yaml');
    const time = estimate?.compute.time;
    assert.ok(time?.mfu && (estimate?.compute.referenceFlopsPerStep ?? 0) > 0);
    assert.ok(time.mfu.high <= 1, `${time.mfu.high}`);
    const { low } = time.stepSeconds;
    assert.ok(low >= (estimate?.compute.referenceFlopsPerStep ?? 0) / (2 * 989.5e12), `${low}`);
  });
});
