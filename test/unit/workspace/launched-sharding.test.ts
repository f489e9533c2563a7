import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const ZERO =
  '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}}';
const launcher = (type: string, processes = 8, more = '') =>
  `compute_environment: LOCAL_MACHINE\ndistributed_type: ${type}\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: ${processes}\n${more}`;
const recipe = (line: string) =>
  `model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 2\nmax_length: 2048\nbf16: true\noutput_dir: out\n${line}\n`;
const BY_FILE = 'accelerate launch --config_file acc.yaml sft.py --config sft.yaml\n';
const BY_FLAG = 'accelerate launch --multi_gpu --num_processes 8 --mixed_precision bf16';
const FLAGS =
  'run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --block_size 2048 --per_device_train_batch_size 2 --bf16';
const FSDP = 'fsdp_config:\n  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true\n';

const FIELDS = ['parallel.data', 'precision.scheme', 'offload.optimizer'] as const;

/** What is reported at each file of a run, by its name. */
async function sharding(files: Record<string, string>): Promise<Record<string, readonly unknown[]>> {
  const texts = Object.entries(files).map(([name, text]) => [`${ROOT}/${name}`, text]);
  const host = new MemoryHost(
    { ...Object.fromEntries(texts), [`${ROOT}/oomlint.yaml`]: 'targets: {gpu: H100}\n' },
    { folders: [ROOT] },
  );
  const workspace = new Workspace(host, {});
  const found: Record<string, readonly unknown[]> = {};
  for (const name of Object.keys(files)) {
    const analysis = await workspace.analyze(`${ROOT}/${name}`);
    assert.ok(analysis, name);
    found[name] = FIELDS.map((field) => analysis.resolved.values[field]);
    const wrong = analysis.problems.filter(({ code }) => code === 'cross-file-conflict');
    assert.deepEqual(wrong, [], name);
  }
  return found;
}

async function isAlways(expected: readonly unknown[], files: Record<string, string>): Promise<void> {
  for (const [name, values] of Object.entries(await sharding(files)))
    assert.deepEqual(values, expected, name);
}

const DEEPSPEED = ['zero', 'deepspeed', 'none'] as const;

describe('what a launcher replicates and the script shards', () => {
  it('is sharded by DeepSpeed of a recipe, whichever file of the run is asked', async () => {
    for (const type of ['MULTI_GPU', 'FSDP'])
      await isAlways(DEEPSPEED, {
        'acc.yaml': launcher(type, 8, type === 'FSDP' ? FSDP : ''),
        'run.sh': BY_FILE,
        'sft.yaml': recipe('deepspeed: ds.json'),
        'ds.json': ZERO,
      });
  });

  it('is sharded by DeepSpeed in one process, too', async () => {
    await isAlways(DEEPSPEED, {
      'acc.yaml': launcher('"NO"', 1),
      'run.sh': BY_FILE,
      'sft.yaml': recipe('deepspeed: ds.json'),
      'ds.json': ZERO,
    });
  });

  it('is sharded by FSDP of a recipe, and by none in one process', async () => {
    const files = { 'run.sh': BY_FILE, 'sft.yaml': recipe('fsdp: full_shard auto_wrap') };
    await isAlways(['fsdp2', 'fsdp', 'none'], { 'acc.yaml': launcher('MULTI_GPU'), ...files });
    const alone = await sharding({ 'acc.yaml': launcher('"NO"', 1), 'run.sh': files['run.sh'] });
    assert.equal(alone['acc.yaml']?.[0], 'none');
  });

  it('is sharded by what the same command gives the script', async () => {
    await isAlways(DEEPSPEED, { 'run.sh': `${BY_FLAG} ${FLAGS} --deepspeed ds.json\n`, 'ds.json': ZERO });
    await isAlways(['fsdp2', 'fsdp', 'none'], { 'run.sh': `${BY_FLAG} ${FLAGS} --fsdp full_shard\n` });
    await isAlways(['ddp', 'autocast', 'none'], { 'run.sh': `${BY_FLAG} ${FLAGS}\n` });
  });

  it('is sharded by a recipe that the flags of the launcher start, and by arguments in Python', async () => {
    const files = { 'sft.yaml': recipe('deepspeed: ds.json'), 'ds.json': ZERO };
    await isAlways(DEEPSPEED, { 'run.sh': `${BY_FLAG} sft.py --config sft.yaml\n`, ...files });
    await isAlways(DEEPSPEED, {
      'acc.yaml': launcher('MULTI_GPU'),
      'run.sh': 'accelerate launch --config_file acc.yaml train.py\n',
      'train.py': `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True, deepspeed="ds.json")
Trainer(model=model, args=args, train_dataset=rows).train()
`,
      'ds.json': ZERO,
    });
  });

  it('stays with the launcher where its file shards and the script states nothing', async () => {
    const files = { 'run.sh': BY_FILE, 'sft.yaml': recipe('seed: 1') };
    await isAlways(['fsdp1', 'fsdp', 'cpu'], { 'acc.yaml': launcher('FSDP', 8, FSDP), ...files });
    await isAlways(['ddp', 'autocast', 'none'], { 'acc.yaml': launcher('MULTI_GPU'), ...files });
  });
});
