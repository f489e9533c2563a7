import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { McpAgent } from './mcp-client';

/** What a person knows, by field of the run; they are asked, they volunteer nothing. */
type Person = Readonly<Record<string, string | number>>;

interface Unknown {
  readonly field: string;
  readonly question: string;
  readonly argument: string;
}

const SMALL: Person = {
  'model.id': 'Qwen/Qwen2.5-7B',
  'hardware.gpu': 'RTX 3090',
  'hardware.gpus': 4,
  'batch.sequence': 4096,
  'batch.micro': 4,
};
const LARGE: Person = {
  ...SMALL,
  'model.id': 'Qwen/Qwen2.5-0.5B',
  'hardware.gpu': 'H200',
  'hardware.gpus': 8,
  'batch.sequence': 1024,
};
/** Knows the model, and not where it will run. */
const UNSURE: Person = { 'model.id': 'Qwen/Qwen2.5-7B', 'batch.sequence': 4096, 'batch.micro': 4 };

/** Configs as people leave them: each lacks something. */
const CONFIGS: Readonly<Record<string, string>> = {
  'ds-zero2.json':
    '{ "train_micro_batch_size_per_gpu": 4, "bf16": { "enabled": true }, "zero_optimization": { "stage": 2 }, "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } } }\n',
  'ds-zero3.json':
    '{ "train_micro_batch_size_per_gpu": 8, "bf16": { "enabled": true }, "zero_optimization": { "stage": 3 } }\n',
  'accelerate.yaml':
    'compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\nnum_machines: 1\n',
  'axolotl.yml':
    'base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\nmicro_batch_size: 4\ngradient_accumulation_steps: 2\nbf16: true\noptimizer: adamw_torch\nnum_epochs: 1\n',
  'llamafactory.yaml':
    'model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: alpaca_en_demo\ntemplate: qwen\noutput_dir: out\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 1.0e-5\nbf16: true\n',
  'trl-sft.yaml':
    'dataset_name: trl-lib/Capybara\noutput_dir: out\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nlearning_rate: 2.0e-5\nbf16: true\ngradient_checkpointing: false\nnum_train_epochs: 1\npacking: true\n',
  'train.sh':
    '#!/bin/bash\ntorchrun run_clm.py --do_train --output_dir out --per_device_train_batch_size 2 --bf16 --learning_rate 1e-5 --block_size 2048\n',
  'train.py':
    'from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(output_dir="o", per_device_train_batch_size=4, bf16=True)\nTrainer(model=build(), args=args, train_dataset=data).train()\n',
  'litgpt.yaml':
    'checkpoint_dir: checkpoints/Qwen/Qwen2.5-7B\nprecision: bf16-true\nlora_r: 8\ntrain:\n  global_batch_size: 16\n  micro_batch_size: 4\noptimizer:\n  class_path: torch.optim.AdamW\n',
  'run.oomlint.yaml':
    'run:\n  method: { kind: full }\n  optimizer: { name: adamw }\n  precision: { weights: bf16, compute: bf16, scheme: native }\n  parallel: { data: zero }\n  zero: { stage: 2 }\n  batch: { micro: 2 }\n',
};
const TASKS = Object.keys(CONFIGS).flatMap((file) =>
  [
    { person: SMALL, who: 'on four small cards' },
    { person: LARGE, who: 'on eight large cards' },
    { person: UNSURE, who: 'by a person who does not know the machine' },
  ].map((task) => ({ ...task, file })),
);

/** What following `unknown` and `options` came to. */
interface Outcome {
  readonly verdict: string;
  readonly asked: readonly string[];
  /** Questions that the person could not answer. */
  readonly left: readonly Unknown[];
  readonly applied: number;
  readonly calls: number;
  readonly sizes: readonly number[];
}

/** A client without any sense of its own: it answers what is `unknown` from what the person states, and takes the first option. */
async function followed(agent: McpAgent, file: string, person: Person): Promise<Outcome> {
  const input: { [argument: string]: unknown } = { file };
  const set: { [field: string]: string | number } = {};
  const asked: string[] = [];
  const sizes: number[] = [];
  let calls = 0;
  const call = async (name: string, given: Readonly<Record<string, unknown>>) => {
    calls++;
    const answer = await agent.call(name, given);
    assert.equal(answer.isError, false, `${name} ${JSON.stringify(given)}: ${answer.text}`);
    sizes.push(JSON.stringify(answer.data).length);
    return answer.data;
  };
  let run = await call('estimate_run', input);
  for (let round = 0; round < 4; round++) {
    const unknown = run.unknown as readonly Unknown[];
    if (unknown.length === 0) break;
    const left = unknown.filter(({ field }) => person[field] === undefined);
    for (const { field, argument, question } of unknown) {
      asked.push(question);
      const answer = person[field];
      if (answer === undefined) continue;
      if (argument === 'set') {
        set[field] = answer;
        input.set = set;
      } else input[argument] = answer;
    }
    if (left.length > 0) return { verdict: String(run.verdict), asked, left, applied: 0, calls, sizes };
    run = await call('estimate_run', input);
  }
  assert.deepEqual(run.unknown, [], 'every question was answered');
  let applied = 0;
  if (run.verdict === 'exceeds' || run.verdict === 'tight') {
    const { options } = await call('make_run_fit', input);
    const [first] = options as readonly { readonly id: string }[];
    if (first) {
      await call('apply_change', { id: first.id });
      applied++;
      run = await call('estimate_run', input);
    }
  }
  return { verdict: String(run.verdict), asked, left: [], applied, calls, sizes };
}

/** Thirty tasks for a client that only follows what the answers say. */
describe('agents that follow the answers', function () {
  this.timeout(300_000);
  let folder = '';
  let agent: McpAgent;
  const outcomes: (Outcome & { readonly who: string })[] = [];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-tasks-'));
    for (const [index, { file }] of TASKS.entries())
      await writeFile(await place(index, file), CONFIGS[file] ?? '');
    agent = await McpAgent.start(folder);
  });
  after(async () => {
    await agent?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Each in a folder of its own: neighbours would be read as parts of the same run. */
  const place = async (index: number, file: string) => {
    await mkdir(path.join(folder, `task${index}`), { recursive: true });
    return path.join(folder, `task${index}`, file);
  };

  for (const [index, { file, person, who }] of TASKS.entries()) {
    it(`${file} ${who}`, async () => {
      const outcome = await followed(agent, `task${index}/${file}`, person);
      outcomes.push({ ...outcome, who });
      if (person === UNSURE) {
        assert.equal(outcome.verdict, 'unknown');
        assert.ok(outcome.left.some(({ field }) => field === 'hardware.gpu'));
        assert.equal(await readFile(await place(index, file), 'utf8'), CONFIGS[file]);
      } else {
        assert.notEqual(outcome.verdict, 'unknown');
        assert.ok(outcome.asked.length > 0, 'something was missing');
        if (person === LARGE) assert.equal(outcome.applied, 0);
        if (outcome.applied > 0) assert.equal(outcome.verdict, 'fits');
      }
      assert.ok(outcome.calls <= 6, `${outcome.calls} calls`);
      assert.ok(
        Math.max(...outcome.sizes) < 48_000,
        `an answer has ${Math.max(...outcome.sizes)} characters`,
      );
    });
  }

  it('come out right', () => {
    assert.equal(outcomes.length, 30);
    const large = outcomes.filter(({ who }) => who === 'on eight large cards');
    const small = outcomes.filter(({ who }) => who === 'on four small cards');
    assert.deepEqual(
      large.map(({ verdict }) => verdict),
      large.map(() => 'fits'),
    );
    const fitting = small.filter(({ verdict }) => verdict === 'fits');
    assert.ok(fitting.length >= 8, `${fitting.length} of ${small.length} fit`);
    assert.ok(small.filter(({ applied }) => applied > 0).length >= 5);
  });
});
