import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const read = (file: string, text: string, files: Readonly<Record<string, string>> = {}) =>
  smallWorkspace({ ...files, [file]: text }).analyze(file);

const AXOLOTL = `# oomlint: gpu=H100 gpus=8
base_model: meta-llama/Llama-3.1-8B
bf16: true
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 1
fsdp_version: 2
fsdp_config:
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  transformer_layer_cls_to_wrap: LlamaDecoderLayer
`;

describe('a layout that no number of GPUs here makes', () => {
  it('has neither a headline nor a verdict', async () => {
    const { estimate, problems } = await read(
      'run.sh',
      `# oomlint: gpu=A100-80GB
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 \\
  --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 16 --bf16 --vocab-size 50257 \\
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
`,
    );
    assert.notEqual(estimate?.verdict, 'fits');
    assert.ok(problems.some(({ code }) => code === 'world-size'));
  });
});

describe('FSDP 2 of Axolotl', () => {
  it('keeps the weights in bf16, as Axolotl loads them', async () => {
    const { resolved } = await read('full.yaml', AXOLOTL);
    assert.equal(resolved.values['precision.weights'], 'bf16');
  });
});

describe('TRL’s own key for sharding', () => {
  it('is read, and no unknown key', async () => {
    const { problems, resolved } = await read(
      'sft.yaml',
      `# oomlint: gpu=H100 gpus=8
model_name_or_path: Qwen/Qwen2.5-7B
dataset_name: trl-lib/Capybara
accelerate_config: zero3
learning_rate: 1.0e-5
per_device_train_batch_size: 1
max_length: 1024
output_dir: out
`,
    );
    assert.deepEqual(
      problems.filter(({ code }) => code === 'unknown-key'),
      [],
    );
    assert.equal(resolved.values['zero.stage'], 3);
    const launch = 'trl sft --model_name_or_path Qwen/Qwen2.5-7B --dataset_name d --accelerate_config';
    const { values } = (await read('run.sh', `${launch} fsdp2\n`)).resolved;
    assert.equal(values['parallel.data'], 'fsdp2');
    const own = await read('run.sh', `${launch} ours.yaml\n`, {
      'ours.yaml': 'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\n',
    });
    assert.equal(own.resolved.values['hardware.gpus'], 4);
  });
});

describe('experts of a run that quantizes nothing', () => {
  it('get no note on what bitsandbytes or LoRA do not match', async () => {
    const { estimate } = await read(
      'run.sh',
      `# oomlint: gpu=H100
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 \\
  --max-position-embeddings 1024 --micro-batch-size 1 --bf16 --vocab-size 50257 --num-experts 8
`,
    );
    assert.ok(estimate);
    assert.doesNotMatch(JSON.stringify(estimate.notes), /bitsandbytes|LoRA/);
  });
});

describe('who a default is of', () => {
  it('is not TRL where the script is another’s', async () => {
    const rest = '--model_name_or_path Qwen/Qwen2.5-0.5B --output_dir o --per_device_train_batch_size 1';
    for (const [script, own] of [
      [
        `torchrun --nproc_per_node 4 fastchat/train/train_mem.py ${rest} --data_path d --model_max_length 2048`,
        false,
      ],
      [`python run_clm.py ${rest} --block_size 512 --do_train`, false],
      [`trl sft ${rest} --dataset_name d --max_length 1024`, true],
    ] as const) {
      const { origins } = (await read('run.sh', `# oomlint: gpu=H100\n${script}\n`)).resolved;
      const wrong = Object.entries(origins).filter(
        ([, origin]) => origin?.kind === 'default' && origin.note === 'TRL default',
      );
      assert.equal(wrong.length > 0, own, `${script}: ${wrong.map(([field]) => field)}`);
    }
  });
});

describe('weights that bitsandbytes quantizes under FSDP', () => {
  const TRL = `# oomlint: gpu="RTX 4090" gpus=2
model_name_or_path: meta-llama/Llama-2-70b-hf
dataset_name: d
learning_rate: 1.0e-5
max_length: 512
per_device_train_batch_size: 1
use_peft: true
lora_target_modules: all-linear
bnb_4bit_quant_storage: bfloat16
dtype: bfloat16
bf16: true
gradient_checkpointing: true
fsdp: full_shard auto_wrap
output_dir: o
`;
  const OWN = `${AXOLOTL.replace('fsdp_version: 2', 'fsdp_version: 1')}adapter: qlora
lora_r: 8
lora_target_linear: true
`;

  // `FSDP_CPU_RAM_EFFICIENT_LOADING` is false by default (`training_args.py`): 37 GiB of 70B on each GPU.
  it('lie whole on each GPU first, unless one process is to read them', async () => {
    for (const [text, settings] of [
      [
        TRL,
        'fsdp_config: {fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer, cpu_ram_efficient_loading: true}\n',
      ],
      [OWN, ''],
    ] as const) {
      const copies = async (more: string) =>
        (await read('run.yaml', `${text}${more}`)).resolved.values['loading.hostCopies'];
      assert.equal(await copies('load_in_4bit: true\n'), 'every-process');
      assert.equal(await copies(''), undefined);
      if (settings) assert.equal(await copies(`load_in_4bit: true\n${settings}`), 'one');
    }
    const whole = await read('run.yaml', `${TRL}load_in_4bit: true\n`);
    assert.equal(whole.estimate?.peak.moment, 'initialization');
    assert.equal(whole.estimate?.verdict, 'exceeds');
  });
});
