import assert from 'node:assert/strict';
import { type Completion, completions } from '../../../server/src/features/completion/completion';
import { readConfig } from '../../../server/src/workspace/file-cache';
import { processorMs } from '../processor-time';
import { marked } from './sample';

interface Given {
  readonly schemasServed?: boolean;
  readonly files?: readonly string[];
}

/** What is offered at the mark `|`. */
async function at(name: string, textWithMark: string, given: Given = {}): Promise<readonly Completion[]> {
  const { text, position } = marked(textWithMark);
  const config = readConfig(`file:///repo/${name}`, text);
  assert.ok(config, `${name} is no config`);
  const { document, dialect, reading } = config;
  const { schemasServed, files } = given;
  return completions({
    text,
    position,
    document,
    dialect,
    reading,
    schemasServed,
    files: files && (async () => files),
  });
}
const labels = (found: readonly Completion[]) => found.map(({ label }) => label);
function entry(found: readonly Completion[], label: string): Completion {
  const it = found.find((item) => item.label === label);
  assert.ok(it, `${label} is not among ${labels(found).slice(0, 30).join(', ')}`);
  return it;
}
/** The text after an entry was taken. */
function taken(textWithMark: string, { range, text }: Completion): string {
  const lines = marked(textWithMark).text.split('\n');
  assert.equal(range.start.line, range.end.line);
  const line = lines[range.start.line] ?? '';
  lines[range.start.line] = line.slice(0, range.start.character) + text + line.slice(range.end.character);
  return lines.join('\n');
}

const RECIPE = `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
output_dir: out
`;
const AXOLOTL = `base_model: meta-llama/Llama-3.1-8B
micro_batch_size: 1
sequence_len: 2048
datasets:
  - path: a
    type: alpaca
`;
const TITAN = `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 4096
steps = 10

[parallelism]
tensor_parallel_degree = 1
`;
const SCRIPT = `#!/bin/bash
torchrun --nproc_per_node 8 train.py \\
  --model_name_or_path gpt2 \\
  --per_device_train_batch_size 2 \\
`;

describe('completion in YAML', () => {
  it('offers keys that are not there yet, what matters first, and writes the colon', async () => {
    const text = `${RECIPE}grad|`;
    const found = await at('sft.yaml', text);
    const checkpointing = entry(found, 'gradient_checkpointing');
    assert.equal(taken(text, checkpointing), `${RECIPE}gradient_checkpointing: `);
    assert.ok(!labels(found).includes('gradient_accumulation_steps'));
    assert.ok(!labels(found).includes('evaluation_strategy'), 'old spellings are not offered');
    assert.ok(checkpointing.sort < entry(found, 'logging_dir').sort);
    assert.match(checkpointing.documentation ?? '', /Default: `false`/);
    assert.match(checkpointing.documentation ?? '', /\(https:\/\//);
    assert.equal(new Set(labels(found)).size, found.length);
  });

  it('offers values: flags, choices, optimizers, models', async () => {
    assert.deepEqual(labels(await at('sft.yaml', `${RECIPE}bf16: |`)).slice(0, 2), ['true', 'false']);
    const optimizers = labels(await at('sft.yaml', `${RECIPE}optim: ada|`));
    assert.ok(optimizers.includes('adamw_torch_fused') && optimizers.includes('paged_adamw_8bit'));
    // What most people take stands first, not what comes first by the alphabet or in the framework's list.
    assert.match(labels(await at('a.yml', `${AXOLOTL}optimizer: |`))[0] ?? '', /^adamw_torch/);
    const model = RECIPE.replace('meta-llama/Llama-3.1-8B', 'meta-llama/|');
    const found = await at('sft.yaml', model);
    const llama = entry(found, 'meta-llama/Llama-3.1-70B');
    assert.match(taken(model, llama), /^model_name_or_path: meta-llama\/Llama-3\.1-70B\n/);
  });

  it('works within blocks and at items of lists', async () => {
    const accelerate = `compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
  |
num_processes: 8
`;
    const found = labels(await at('acc.yaml', accelerate));
    assert.ok(found.includes('offload_optimizer_device'), found.join());
    assert.ok(!found.includes('zero_stage') && !found.includes('num_machines'));
    const inner = accelerate.replace('  |\n', '  offload_optimizer_device: |\n');
    assert.deepEqual(labels(await at('acc.yaml', inner)).slice(0, 3), ['none', 'cpu', 'nvme']);
    const data = labels(await at('ax.yaml', `${AXOLOTL}    |`));
    assert.ok(!data.includes('base_model') && !data.includes('type'), data.join());
    assert.ok(labels(await at('ax.yaml', `${AXOLOTL}|`)).includes('gradient_checkpointing'));
  });

  it('offers words that YAML would not read as text in quotes', async () => {
    const text =
      'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\nmixed_precision: |\n';
    const no = entry(await at('acc.yaml', text), 'no');
    assert.match(taken(text, no), /mixed_precision: 'no'\n$/);
  });

  it('leaves to another extension the keys that it offers from our schema, and offers the values', async () => {
    const served = { schemasServed: true };
    assert.deepEqual(await at('sft.yaml', `${RECIPE}grad|`, served), []);
    assert.deepEqual(labels(await at('sft.yaml', `${RECIPE}bf16: |`, served)).sort(), ['false', 'true']);
    const optimizers = labels(await at('sft.yaml', `${RECIPE}optim: |`, served));
    assert.ok(optimizers.includes('adafactor') && optimizers.includes('adamw_torch_fused'));
    const model = await at('sft.yaml', RECIPE.replace('meta-llama/Llama-3.1-8B', '|'), served);
    assert.ok(labels(model).includes('Qwen/Qwen2.5-7B'));
  });

  it('offers files where a key names one', async () => {
    const text = `${RECIPE}deepspeed: ds/|`;
    const found = await at('sft.yaml', text, { files: ['ds/zero2.json', 'ds/zero3.json'] });
    assert.equal(taken(text, entry(found, 'ds/zero3.json')), `${RECIPE}deepspeed: ds/zero3.json`);
  });

  it('offers nothing in comments and in texts', async () => {
    assert.deepEqual(await at('sft.yaml', `${RECIPE}# grad|`), []);
    assert.deepEqual(await at('sft.yaml', `${RECIPE}bf16: true # |`), []);
  });
});

describe('completion in JSON', () => {
  const zero = (inner: string) => `{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {
    "stage": 3,
    ${inner}
  }
}`;

  it('offers keys with their quotes, in the block', async () => {
    const text = zero('"off|"');
    const found = await at('ds.json', text);
    assert.match(taken(text, entry(found, 'offload_optimizer')), /\n {4}"offload_optimizer": \n/);
    assert.ok(!labels(found).includes('stage') && !labels(found).includes('gradient_clipping'));
    const bare = zero('|');
    assert.match(
      taken(bare, entry(await at('ds.json', bare), 'reduce_bucket_size')),
      /"reduce_bucket_size": \n/,
    );
  });

  it('keeps a colon that is there', async () => {
    const text = zero('"off|": {}');
    assert.match(taken(text, entry(await at('ds.json', text), 'offload_param')), /"offload_param": \{\}/);
  });

  it('offers values as JSON writes them', async () => {
    const device = zero('"offload_optimizer": {"device": |}');
    assert.match(taken(device, entry(await at('ds.json', device), 'cpu')), /"device": "cpu"\}/);
    const typed = zero('"offload_optimizer": {"device": "n|"}');
    assert.match(taken(typed, entry(await at('ds.json', typed), 'nvme')), /"device": "nvme"\}/);
    const flag = zero('"overlap_comm": |');
    assert.deepEqual(labels(await at('ds.json', flag)).slice(0, 2), ['true', 'false']);
    const size = zero('"reduce_bucket_size": |');
    assert.deepEqual(labels(await at('ds.json', size)), ['auto', '500000000']);
  });

  it('offers the optimizers of DeepSpeed', async () => {
    const text = `{"train_batch_size": 8, "zero_optimization": {"stage": 1}, "optimizer": {"type": "|"}}`;
    const found = labels(await at('ds.json', text));
    assert.ok(
      found.some((name) => /^(adamw|AdamW)$/.test(name)),
      found.join(),
    );
    assert.ok(
      found.some((name) => /^onebitadam$/i.test(name)),
      found.join(),
    );
  });
});

describe('completion in TOML', () => {
  it('offers keys of the table and the tables themselves', async () => {
    const text = TITAN.replace('steps = 10\n', 'steps = 10\nglo|\n');
    const found = await at('train.toml', text);
    assert.match(taken(text, entry(found, 'global_batch_size')), /\nglobal_batch_size = \n/);
    assert.ok(!labels(found).includes('seq_len') && !labels(found).includes('tensor_parallel_degree'));
    const tables = await at('train.toml', `${TITAN}\n[activ|`);
    const table = entry(tables, 'activation_checkpoint');
    assert.equal(taken(`${TITAN}\n[activ|`, table), `${TITAN}\n[activation_checkpoint`);
    assert.ok(!labels(tables).includes('global_batch_size'));
  });

  it('offers values in quotes', async () => {
    const text = `${TITAN}[activation_checkpoint]\nmode = |`;
    const found = await at('train.toml', text);
    assert.match(taken(text, entry(found, 'selective')), /mode = "selective"$/);
    const typed = `${TITAN}[activation_checkpoint]\nmode = "f|"`;
    assert.match(taken(typed, entry(await at('train.toml', typed), 'full')), /mode = "full"$/);
  });
});

describe('completion in launch scripts and flag files', () => {
  it('offers flags of the program that the command starts, and their values', async () => {
    const text = `${SCRIPT}  --grad|`;
    const found = await at('run.sh', text);
    const checkpointing = entry(found, '--gradient_checkpointing');
    assert.equal(taken(text, checkpointing), `${SCRIPT}  --gradient_checkpointing `);
    assert.ok(!labels(found).includes('--per_device_train_batch_size'));
    assert.ok(!labels(found).includes('--nproc_per_node'));
    const optimizers = labels(await at('run.sh', `${SCRIPT}  --optim ad|`));
    assert.ok(optimizers.includes('adamw_torch_fused'), optimizers.join());
    assert.ok(labels(await at('run.sh', `${SCRIPT}  --optim=ad|`)).includes('adamw_torch_fused'));
  });

  it('offers flags of the launcher before the script', async () => {
    const text = SCRIPT.replace('--nproc_per_node 8', '--nproc_per_node 8 --n|');
    const found = labels(await at('run.sh', text));
    assert.ok(found.includes('--nnodes'), found.join());
    assert.ok(!found.includes('--gradient_checkpointing'));
  });

  it('offers nothing in the rest of a script', async () => {
    assert.deepEqual(await at('run.sh', SCRIPT.replace('torchrun', 'ls --|\ntorchrun')), []);
    assert.deepEqual(await at('run.sh', SCRIPT.replace('#!/bin/bash', '#!/bin/bash\n# --gr|')), []);
  });

  it('offers flags of flag files as the file writes them', async () => {
    const text = 'l=24,h=2048\nbs=32 seq_len=512 gac=1\nfp|';
    const found = await at('large.flags', text);
    assert.equal(taken(text, entry(found, 'fp16')), text.replace('fp|', 'fp16='));
    assert.ok(!labels(found).includes('gac'));
    const flags = await at('large.flags', text.replace('fp|', 'fp16=|'));
    assert.deepEqual(labels(flags).slice(0, 2), ['true', 'false']);
  });
});

describe('completion', () => {
  it('takes less than 5 ms', async () => {
    const { text, position } = marked(`${RECIPE}grad|`);
    const config = readConfig('file:///repo/sft.yaml', text);
    assert.ok(config);
    const { document, dialect, reading } = config;
    const ask = async (times: number) => {
      for (let i = 0; i < times; i++) await completions({ text, position, document, dialect, reading });
    };
    await ask(25);
    const each = (await processorMs(() => ask(100))) / 100;
    assert.ok(each < 5, `${each} ms`);
  });

  it('never throws, wherever the caret stands', async () => {
    const files = { 'a.yaml': RECIPE, 'ax.yaml': AXOLOTL, 't.toml': TITAN, 'r.sh': SCRIPT };
    for (const [name, text] of Object.entries(files)) {
      for (let offset = 0; offset <= text.length; offset++) {
        await at(name, `${text.slice(0, offset)}|${text.slice(offset)}`);
      }
    }
  });
});
