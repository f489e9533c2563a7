import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const FIELDS = ['activations.checkpointing', 'activations.reentrant', 'precision.scheme'] as const;
const MODEL = 'meta-llama/Llama-3.1-8B';
const FSDP = `compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_activation_checkpointing: true
`;
const DEEPSPEED = `compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 8
deepspeed_config:
  zero_stage: 3
`;
const LAUNCH = 'accelerate launch --config_file acc.yaml';
const SWIFT = `swift/cli/sft.py --model ${MODEL} --tuner_type full --dataset a --max_length 2048 --torch_dtype bfloat16`;
const CLM = `run_clm.py --model_name_or_path ${MODEL} --block_size 2048 --per_device_train_batch_size 2 --bf16`;
const recipe = (line: string) =>
  `model_name_or_path: ${MODEL}\nper_device_train_batch_size: 2\nmax_length: 2048\nbf16: true\noutput_dir: out\n${line}\n`;

/** Holds what is reported at every file of a run to the same values, without a word about files that disagree. */
async function isAlways(expected: readonly unknown[], files: Record<string, string>): Promise<void> {
  const texts = Object.entries(files).map(([name, text]) => [`${ROOT}/${name}`, text]);
  const host = new MemoryHost(
    { ...Object.fromEntries(texts), [`${ROOT}/oomlint.yaml`]: 'targets: {gpu: H100}\n' },
    { folders: [ROOT] },
  );
  const workspace = new Workspace(host, {});
  for (const name of Object.keys(files)) {
    const analysis = await workspace.analyze(`${ROOT}/${name}`);
    assert.ok(analysis, name);
    assert.deepEqual(
      FIELDS.map((field) => analysis.resolved.values[field]),
      expected,
      name,
    );
    const wrong = analysis.problems.filter(({ code }) => /^(?:cross-file|overridden)/.test(code));
    assert.deepEqual(wrong, [], name);
  }
}

const CHECKPOINTED = ['full', false, 'fsdp'] as const;

describe('checkpointing that FSDP is asked for', () => {
  it('counts beside a recipe, and a command, that switch off the one of the Trainer', async () => {
    const off = 'gradient_checkpointing: false';
    for (const line of [off, `${off}\ngradient_checkpointing_kwargs: {use_reentrant: true}`])
      await isAlways(CHECKPOINTED, {
        'acc.yaml': FSDP,
        'run.sh': `${LAUNCH} sft.py --config sft.yaml\n`,
        'sft.yaml': recipe(line),
      });
    await isAlways(CHECKPOINTED, {
      'acc.yaml': FSDP,
      'run.sh': `${LAUNCH} ${CLM} --gradient_checkpointing false\n`,
    });
  });

  it('counts in LLaMA-Factory and ms-swift, too', async () => {
    await isAlways(CHECKPOINTED, {
      'acc.yaml': FSDP,
      'run.sh': `${LAUNCH} src/train.py sft.yaml\n`,
      'sft.yaml': `stage: sft\ndo_train: true\nfinetuning_type: full\ndataset: a\ntemplate: llama3\ncutoff_len: 2048\n${recipe('disable_gradient_checkpointing: true').replace(/max_length.*\n/, '')}`,
    });
    await isAlways(CHECKPOINTED, {
      'acc.yaml': FSDP,
      'run.sh': `${LAUNCH} ${SWIFT} --gradient_checkpointing false\n`,
    });
  });

  it('counts where a file of settings asks for it', async () => {
    await isAlways(CHECKPOINTED, {
      'fsdp.json':
        '{"activation_checkpointing": true, "version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}',
      'run.sh': `torchrun --nproc_per_node 8 ${CLM} --gradient_checkpointing false --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json\n`,
    });
  });

  it('leaves what a command switches off in a recipe, where FSDP is not asked for it', async () => {
    await isAlways(['none', false, 'fsdp'], {
      'acc.yaml': FSDP.replace('checkpointing: true', 'checkpointing: false'),
      'run.sh': `${LAUNCH} ${CLM} --gradient_checkpointing false\n`,
    });
  });
});

describe('precision of ms-swift', () => {
  it('is that of whom its launcher has shard the model', async () => {
    await isAlways(['full', false, 'deepspeed'], { 'acc.yaml': DEEPSPEED, 'run.sh': `${LAUNCH} ${SWIFT}\n` });
    await isAlways(['full', false, 'fsdp'], { 'acc.yaml': FSDP, 'run.sh': `${LAUNCH} ${SWIFT}\n` });
    await isAlways(['full', false, 'native'], {
      'acc.yaml': FSDP.replace('bf16', "'no'"),
      'run.sh': `${LAUNCH} ${SWIFT.replace('bfloat16', 'float32')} --bf16 false --fp16 false\n`,
    });
  });
});
