import assert from 'node:assert/strict';
import type { Category } from '../../../server/src/results/estimate';
import { smallWorkspace } from '../workspace/small-workspace';
import { factOf } from './reading';

const MODEL = 'meta-llama/Llama-3.1-8B';
const HERE = `# oomlint: model=${MODEL} sequence=1024 gpu=H100-SXM5-80GB gpus=8\n`;

/** One QLoRA run of Llama 3.1 8B in each family's words, adapters on the query projection alone. */
const RUNS: Readonly<Record<string, readonly [path: string, text: string]>> = {
  'LLaMA-Factory': [
    'sft.yaml',
    `model_name_or_path: ${MODEL}\nstage: sft\nfinetuning_type: lora\nlora_target: q_proj\nquantization_bit: 4\nbf16: true\ncutoff_len: 1024\noutput_dir: o\ndataset: x\ntemplate: llama3\n`,
  ],
  'LLaMA-Factory v1': [
    'sft.yaml',
    `model: ${MODEL}\ntrain_dataset: data/v1_sft.yaml\npeft_config:\n  name: lora\n  r: 8\n  target_modules: [q_proj]\nquant_config:\n  name: bnb\n  quantization_bit: 4\nmicro_batch_size: 1\ncutoff_len: 1024\nbf16: true\noutput_dir: o\n`,
  ],
  'ms-swift': [
    'sft.sh',
    `swift sft --model ${MODEL} --tuner_type lora --target_modules q_proj --quant_method bnb --quant_bits 4 --torch_dtype bfloat16 --max_length 1024\n`,
  ],
  OpenRLHF: [
    'sft.sh',
    `deepspeed --module openrlhf.cli.train_sft --pretrain ${MODEL} --load_in_4bit --lora_rank 8 --target_modules q_proj --zero_stage 0 --bf16 --max_len 1024 --micro_train_batch_size 1 --train_batch_size 8\n`,
  ],
  Automodel: [
    'sft.yaml',
    `step_scheduler:\n  global_batch_size: 8\n  local_batch_size: 1\nmodel:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: ${MODEL}\ndistributed:\n  _target_: nemo_automodel.components.distributed.ddp.DDPManager\npeft:\n  _target_: nemo_automodel.components._peft.lora.PeftConfig\n  target_modules: ['*.q_proj']\n  dim: 8\nquantization:\n  load_in_4bit: true\noptimizer:\n  _target_: torch.optim.Adam\n`,
  ],
  NeMo: [
    'sft.yaml',
    'trainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n  restore_from_path: /x/llama3-8b.nemo\n  megatron_amp_O2: true\n  micro_batch_size: 1\n  global_batch_size: 8\n  optim: {name: fused_adam}\n  peft:\n    peft_scheme: qlora\n    lora_tuning:\n      adapter_dim: 8\n      target_modules: [q_proj]\n',
  ],
};

/** Embedding, head and norms of it in bf16; the linear layers are packed. */
const REST = 2 * (2 * 128_256 * 4096 + (2 * 32 + 1) * 4096);

/** Two factors of rank 8 beside each query projection, in bf16. */
const ADAPTERS = 2 * 32 * 8 * (4096 + 4096);

async function runOf([path, text]: readonly [path: string, text: string]) {
  const analysis = await smallWorkspace({ [path]: HERE + text }).analyze(path);
  const bytes = (category: Category) =>
    analysis.estimate?.parts.find((part) => part.category === category)?.bytes;
  return { prepared: factOf(analysis.reading, 'quantization.prepared')?.value, bytes };
}

describe('Weights beside quantized ones', () => {
  for (const [family, files] of Object.entries(RUNS))
    it(`${family} leaves them in the type that they are loaded in`, async () => {
      const { prepared, bytes } = await runOf(files);
      assert.equal(prepared, false);
      // DeepSpeed makes no difference between bf16 adapters and what lies beside them.
      const adapters = family === 'OpenRLHF' ? ADAPTERS : 0;
      assert.equal(bytes('weights'), REST + adapters);
    });

  it('LLaMA-Factory upcasts norms where it is asked to', async () => {
    const [path, text] = RUNS['LLaMA-Factory'] ?? ['', ''];
    const { bytes } = await runOf([path, `${text}upcast_layernorm: true\n`]);
    assert.equal(bytes('weights'), REST + 2 * (2 * 32 + 1) * 4096);
  });
});
