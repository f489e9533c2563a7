import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { PRICES } from '../../../server/src/advice/moves';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/*
 * "X on Y GPUs" as it was published, each from the config that a person starts with: plain, as large as it comes. A change that fits on
 * the hardware of the recipe is found, and no file that it writes has a problem that was not there.
 */
interface Published {
  readonly name: string;
  readonly source: string;
  readonly files: Readonly<Record<string, string>>;
}

const axolotl = (head: string, lines: string) => ({
  'config.yaml': `# oomlint: ${head}\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n${lines}`,
});
const FULL = 'optimizer: adamw_torch\nbf16: true\ngradient_accumulation_steps: 4\n';
const QLORA = `adapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\n${FULL}`;
const trainer = (head: string, lines: string) => ({
  'args.yaml': `# oomlint: ${head}\n${lines}learning_rate: 2.0e-5\nbf16: true\ngradient_accumulation_steps: 4\n`,
});
const deepspeed = (head: string, lines: string) => ({
  'ds.json': `{\n  "gradient_accumulation_steps": 4,\n  "bf16": { "enabled": true },\n${lines}\n  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }\n}\n`,
  'oomlint.yaml': head,
});

const PUBLISHED: readonly Published[] = [
  {
    name: '70B with QLoRA on two 24 GB cards: FSDP with CPU offload',
    source: 'https://www.answer.ai/posts/2024-03-06-fsdp-qlora.html',
    files: axolotl(
      'gpu=RTX-4090 gpus=2',
      `base_model: meta-llama/Llama-2-70b-hf\nsequence_len: 2048\nmicro_batch_size: 1\n${QLORA}`,
    ),
  },
  {
    name: 'Llama 3 70B with QLoRA on four A10G',
    source: 'https://www.philschmid.de/fsdp-qlora-llama3',
    files: axolotl(
      'gpu=A10G gpus=4',
      `base_model: meta-llama/Meta-Llama-3-70B\nsequence_len: 3072\nmicro_batch_size: 1\n${QLORA}`,
    ),
  },
  {
    name: '13B with LoRA on one 24 GB card: 4-bit weights',
    source: 'https://arxiv.org/abs/2305.14314',
    files: axolotl(
      'gpu=RTX-3090 gpus=1',
      `base_model: meta-llama/Llama-2-13b-hf\nsequence_len: 512\nmicro_batch_size: 4\nadapter: lora\nlora_r: 64\nlora_alpha: 16\nlora_target_linear: true\n${FULL}`,
    ),
  },
  {
    name: '65B of QLoRA on one 48 GB card',
    source: 'https://arxiv.org/abs/2305.14314',
    files: axolotl(
      'gpu=A6000 gpus=1',
      `base_model: huggyllama/llama-65b\nsequence_len: 512\nmicro_batch_size: 16\n${QLORA}`,
    ),
  },
  {
    name: 'Mistral 7B in full on eight 40 GB cards',
    source: 'https://github.com/axolotl-ai-cloud/axolotl/tree/main/examples/mistral',
    files: axolotl(
      'gpu=A100-SXM4-40GB gpus=8',
      `base_model: mistralai/Mistral-7B-v0.1\nsequence_len: 4096\nmicro_batch_size: 2\n${FULL}`,
    ),
  },
  {
    name: 'Alpaca: LLaMA 7B in full on four 80 GB cards with FSDP',
    source: 'https://github.com/tatsu-lab/stanford_alpaca#fine-tuning',
    files: trainer(
      'gpu=A100-SXM4-80GB gpus=4',
      'model_name_or_path: huggyllama/llama-7b\nper_device_train_batch_size: 4\nmax_length: 512\ndataset_name: tatsu-lab/alpaca\n',
    ),
  },
  {
    name: 'Vicuna: 13B in full on eight 80 GB cards',
    source: 'https://github.com/lm-sys/FastChat#fine-tuning',
    files: trainer(
      'gpu=A100-SXM4-80GB gpus=8',
      'model_name_or_path: meta-llama/Llama-2-13b-hf\nper_device_train_batch_size: 4\nmax_length: 2048\ndataset_name: x/y\n',
    ),
  },
  {
    name: 'Zephyr: Mistral 7B on eight 80 GB cards with ZeRO 3',
    source: 'https://github.com/huggingface/alignment-handbook/tree/main/recipes/zephyr-7b-beta',
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 8\ndefaults:\n  model: mistralai/Mistral-7B-v0.1\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 16,\n  "zero_optimization": { "stage": 0 },',
    ),
  },
  {
    name: '13B in full on one 32 GB card with ZeRO-Offload',
    source: 'https://arxiv.org/abs/2101.06840',
    files: deepspeed(
      'targets:\n  gpu: V100-SXM2-32GB\n  gpus: 1\n  nodes: 1\ndefaults:\n  model: meta-llama/Llama-2-13b-hf\n  sequence: 1024\n',
      '  "train_micro_batch_size_per_gpu": 4,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
  {
    name: 'Llama 2 7B in full on eight 40 GB cards with ZeRO',
    source: 'https://huggingface.co/docs/peft/main/en/accelerate/deepspeed',
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-40GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-2-7b-hf\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 8,\n  "zero_optimization": { "stage": 1 },',
    ),
  },
  {
    name: 'Llama 2 70B in full on sixteen 80 GB cards with ZeRO 3 and offload',
    source: 'https://huggingface.co/blog/ram-efficient-pytorch-fsdp',
    files: deepspeed(
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 16\n  nodes: 2\ndefaults:\n  model: meta-llama/Llama-2-70b-hf\n  sequence: 2048\n',
      '  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 2 },',
    ),
  },
];

describe('published recipes', () => {
  for (const { name, files } of PUBLISHED) {
    it(`${name}: found from the plain config, and written without a new problem`, async () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([file, text]) => [`file:///p/${file}`, text]),
      );
      const host = new MemoryHost(texts, { folders: ['file:///p'] });
      const workspace = new Workspace(host);
      const [uri = ''] = Object.keys(texts);
      const analysis = await workspace.analyze(uri);
      assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
      assert.equal(analysis.estimate.verdict, 'exceeds', 'the plain config is too large');
      const before = new Set(analysis.problems.map(({ message }) => message));
      const fixes = await fixesFor(analysis, workspace);
      const fits = fixes.filter(({ moves }) =>
        moves.every(({ price }) => price !== PRICES.hardware && price !== PRICES.method),
      );
      assert.ok(fits.length > 0, fixes.map(({ title }) => title).join('\n') || 'none');
      for (const fix of fits) {
        for (const { uri: written, after } of fix.files) host.write(written, after);
        workspace.invalidateAll();
        const fixed = await workspace.analyze(uri);
        const fresh = fixed?.problems.filter(
          ({ message, severity }) =>
            severity !== 'hint' && severity !== 'information' && !before.has(message),
        );
        assert.deepEqual(fresh, [], fix.title);
        assert.equal(fixed?.estimate?.verdict, 'fits', fix.title);
        for (const { uri: written, before: text, create } of fix.files) {
          if (create) host.remove(written);
          else host.write(written, text);
        }
        workspace.invalidateAll();
      }
    });
  }
});
