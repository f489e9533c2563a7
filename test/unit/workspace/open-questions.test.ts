import assert from 'node:assert/strict';
import releases from '../../../server/data/releases.json';
import { estimate as realEstimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { YEAR_OLD } from '../../../server/src/workspace/open-questions';

const RECIPE = [
  'model_name_or_path: meta-llama/Llama-3.1-8B',
  'learning_rate: 1.0e-5',
  'max_length: 2048',
  'bf16: true',
  'per_device_train_batch_size: 1',
  'gradient_checkpointing: true',
  'dataset_name: trl-lib/Capybara',
].join('\n');
const ON: RunValues = { 'hardware.gpu': 'H100-SXM5-80GB', 'hardware.gpus': 8 };

async function analysed(files: Record<string, string>, uri: string, settings: RunValues = ON) {
  const host = new MemoryHost(files, { folders: ['file:///w'] });
  const analysis = await new Workspace(host, { settings: () => settings }).analyze(uri);
  assert.ok(analysis);
  const verdict = analysis.problems.find(({ code }) => code === 'does-not-fit');
  return { analysis, verdict, answers: analysis.answers ?? [] };
}

describe('what decides a run and nobody states', () => {
  const uri = 'file:///w/sft.yaml';

  it("a recipe's launch: not an error, and what sharding would need", async () => {
    const { analysis, verdict, answers } = await analysed({ [uri]: RECIPE }, uri);
    assert.equal(analysis.estimate?.verdict, 'exceeds');
    assert.equal(verdict?.severity, 'warning');
    assert.match(
      verdict?.message ?? '',
      /No file shows how the run is launched: replicas are assumed\. With ZeRO stage 3 it would need \d+\.\d GiB\.$/,
    );
    assert.equal(answers[0]?.field, 'parallel.data');
    assert.equal(answers[0]?.estimate?.verdict, 'fits');
    // The other answer is the run as it is with a DeepSpeed file: masters and autocast go.
    const zero = await analysed(
      { [uri]: `${RECIPE}\ndeepspeed: ds.json`, 'file:///w/ds.json': '{"zero_optimization": {"stage": 3}}' },
      uri,
    );
    const peak = zero.analysis.estimate?.peak.processBytes ?? 0;
    assert.ok(Math.abs((answers[0]?.estimate?.processBytes ?? 0) / peak - 1) < 0.02);
    assert.ok(zero.answers.every(({ field }) => field !== 'parallel.data'));
  });

  it('how long targets are that a decoder takes beside its source, unless the code states it', async () => {
    const script = (
      model: string,
      more = '',
    ) => `from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments
tokenizer = AutoTokenizer.from_pretrained("${model}")
model = AutoModelForSeq2SeqLM.from_pretrained("${model}")
def prepare(row):
    row = tokenizer(row["text"], truncation=True, padding="max_length", max_length=512)
${more}    return row
arguments = Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=8)
Seq2SeqTrainer(model=model, args=arguments, train_dataset=load().map(prepare)).train()
`;
    const of = async (text: string) => {
      const { analysis, answers } = await analysed({ 'file:///w/train.py': text }, 'file:///w/train.py', {
        ...ON,
        'hardware.gpus': 1,
      });
      const targets = analysis.resolved.values['batch.targetSequence'];
      return { targets, asked: answers.find(({ field }) => field === 'batch.targetSequence') };
    };
    for (const model of ['google-t5/t5-large', 'facebook/bart-base']) {
      const { targets, asked } = await of(script(model));
      assert.equal(targets, 512, model);
      assert.match(
        asked?.reason ?? '',
        /^Assumed targets as long as the source: `batch\.targetSequence` states/,
      );
      assert.ok((asked?.estimate?.processBytes ?? 0) > 0);
    }
    const stated =
      '    row["labels"] = tokenizer(text_target=row["summary"], truncation=True, max_length=64)["input_ids"]\n';
    assert.deepEqual(await of(script('google-t5/t5-large', stated)), { targets: 64, asked: undefined });
  });

  it('is certain where the launch is seen', async () => {
    const script = 'torchrun --nproc_per_node 8 sft.py --config sft.yaml\n';
    const { verdict, answers } = await analysed({ [uri]: RECIPE, 'file:///w/launch.sh': script }, uri);
    assert.equal(verdict?.severity, 'error');
    assert.deepEqual(answers, []);
  });

  it('is no question on one GPU', async () => {
    const { verdict, answers } = await analysed({ [uri]: RECIPE }, uri, { ...ON, 'hardware.gpus': 1 });
    assert.equal(verdict?.severity, 'error');
    assert.deepEqual(answers, []);
  });

  it('activation checkpointing, which a DeepSpeed file cannot switch on', async () => {
    const ds = 'file:///w/ds.json';
    const text =
      '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}';
    const facts: RunValues = { ...ON, 'model.id': 'meta-llama/Llama-3.1-8B', 'batch.sequence': 4096 };
    const { analysis, verdict, answers } = await analysed({ [ds]: text }, ds, facts);
    assert.equal(answers[0]?.field, 'activations.checkpointing');
    assert.ok((answers[0]?.estimate?.processBytes ?? 0) < (analysis.estimate?.peak.processBytes ?? 0));
    assert.equal(verdict?.severity, 'warning');
    const stated = await analysed({ [ds]: text }, ds, { ...facts, 'activations.checkpointing': 'none' });
    assert.equal(stated.verdict?.severity, 'error');
    assert.deepEqual(stated.answers, []);
  });

  it('is worked out when somebody asks for it, and for a verdict that hangs on it', async () => {
    const ds = 'file:///w/ds.json';
    const text = '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3}}';
    for (const [sequence, fits] of [
      [512, true],
      [65_536, false],
    ] as const) {
      let estimates = 0;
      const workspace = new Workspace(new MemoryHost({ [ds]: text }), {
        settings: () => ({ ...ON, 'model.id': 'Qwen/Qwen2.5-0.5B', 'batch.sequence': sequence }),
        estimate: (input) => {
          estimates++;
          return realEstimate(input);
        },
      });
      const analysis = await workspace.analyze(ds);
      assert.equal(analysis?.estimate?.verdict, fits ? 'fits' : 'exceeds');
      assert.equal(estimates, 1, 'the run alone');
      assert.ok(analysis.problems);
      assert.equal(estimates > 1, !fits, 'an error asks whether it is one');
      const { answers } = analysis;
      const asked = estimates;
      assert.ok(asked > 1);
      assert.equal(answers, analysis.answers);
      assert.equal(estimates, asked, 'asked once');
    }
  });

  it('the length of samples, where nothing limits it', async () => {
    const tune =
      'model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  path: /x\n  max_seq_len: null\ncheckpointer:\n  _component_: torchtune.training.FullModelHFCheckpointer\noptimizer:\n  _component_: torch.optim.AdamW\nloss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\nbatch_size: 16\ndtype: bf16\ndevice: cuda\n';
    const { verdict, answers } = await analysed({ [uri]: tune }, uri, {
      'hardware.gpu': 'A10',
      'hardware.gpus': 1,
    });
    assert.deepEqual(
      answers.map(({ field }) => field),
      ['batch.sequence'],
    );
    assert.equal(verdict?.severity, 'warning');
    assert.match(verdict?.message ?? '', /Nothing limits the length of a sample: 2048 tokens are assumed\.$/);
  });

  it('packages of kernels that no file names: what the run needs without them stands first', async () => {
    const hybrid = RECIPE.replace('meta-llama/Llama-3.1-8B', 'tiiuae/Falcon-H1-0.5B-Instruct').replace(
      '_checkpointing: true',
      '_checkpointing: false',
    );
    const one = { 'hardware.gpu': 'RTX-4090', 'hardware.gpus': 1 };
    const listed = 'file:///w/requirements.txt';
    const { analysis, answers } = await analysed(
      { [uri]: hybrid, [listed]: 'transformers==5.12.0\n' },
      uri,
      one,
    );
    assert.equal(analysis.estimate?.verdict, 'tight');
    const kernels = answers.find(({ field }) => field === 'kernels.states');
    assert.equal(
      kernels?.reason,
      'No file names `mamba-ssm` and `causal-conv1d`: they are taken as installed.',
    );
    assert.ok((kernels?.estimate?.processBytes ?? 0) > 2 * analysis.estimate.peak.processBytes);
    const all = 'transformers==5.12.0\nmamba-ssm\ncausal-conv1d\n';
    const named = await analysed({ [uri]: hybrid, [listed]: all }, uri, one);
    assert.equal(named.analysis.estimate?.verdict, 'fits');
    const isAssumed = (each: Parameters<typeof assumptionsOf>[0]) =>
      assumptionsOf(each).some(({ field }) => field === 'kernels.states');
    assert.equal(isAssumed(analysis), false, 'that they are unknown is no value');
    assert.equal(isAssumed(named.analysis), true);
    assert.ok(!named.answers.some(({ field }) => field === 'kernels.states'));
    const other = await analysed({ [uri]: RECIPE }, uri);
    assert.ok(!other.answers.some(({ field }) => field === 'kernels.states'));
  });

  it('versions within a range: the estimate covers both ends', async () => {
    const moe = RECIPE.replace('meta-llama/Llama-3.1-8B', 'Qwen/Qwen3-30B-A3B').concat(
      '\nuse_peft: true\nlora_target_modules: all-linear\nlora_dropout: 0\nload_in_4bit: true',
    );
    const range = await analysed({ [uri]: moe, 'file:///w/requirements.txt': 'transformers>=4.51\n' }, uri, {
      ...ON,
      'hardware.gpus': 1,
    });
    const exact = (version: string) =>
      analysed({ [uri]: moe, 'file:///w/requirements.txt': `transformers==${version}\n` }, uri, {
        ...ON,
        'hardware.gpus': 1,
      });
    const [old, now] = [await exact('4.51.3'), await exact('5.23.0')];
    const { peak } = range.analysis.estimate ?? {};
    // Experts are stacked, and stay in 16 bits, since transformers 5.
    assert.ok(
      (now.analysis.estimate?.peak.processBytes ?? 0) > 1.5 * (old.analysis.estimate?.peak.processBytes ?? 0),
    );
    assert.equal(peak?.processBytes, now.analysis.estimate?.peak.processBytes);
    assert.equal(peak?.lowerBytes, old.analysis.estimate?.peak.lowerBytes);
    assert.equal(peak?.upperBytes, now.analysis.estimate?.peak.upperBytes);
  });

  it('versions of a year ago are those that were the newest together then', () => {
    const day = `${Number(releases.read.slice(0, 4)) - 1}${releases.read.slice(4)}`;
    for (const [field, { release, since, until }] of Object.entries(YEAR_OLD)) {
      assert.ok(since <= day && day < until, `${field}: ${day} is not within ${since} and ${until}`);
      const name = field.replace(/^version\./, '') as keyof typeof releases.releases;
      assert.ok(
        releases.releases[name].some((known) => known.startsWith(`${release}.`)),
        field,
      );
    }
  });

  it('versions that nobody names: no error where those of a year ago fit', async () => {
    const moe = RECIPE.replace('meta-llama/Llama-3.1-8B', 'Qwen/Qwen3-30B-A3B').concat(
      '\nuse_peft: true\nlora_target_modules: all-linear\nlora_dropout: 0\nload_in_4bit: true',
    );
    const on = { 'hardware.gpu': 'RTX A6000', 'hardware.gpus': 1 } as const;
    const { verdict, answers } = await analysed({ [uri]: moe }, uri, on);
    assert.equal(answers[0]?.field, 'version.transformers');
    assert.equal(verdict?.severity, 'warning');
    assert.match(
      verdict?.message ?? '',
      /versions of a year ago \(transformers 4\.57[^)]*\) it would need \d+\.\d GiB\.$/,
    );
    // Only those that no file names, and that are others then.
    const others = 'trl==1.16.0\naccelerate==1.15.0\ntorch==2.13.0\n';
    const partly = await analysed({ [uri]: moe, 'file:///w/requirements.txt': others }, uri, on);
    assert.match(
      partly.verdict?.message ?? '',
      /No file names the version of transformers: that of today is assumed\. With the version of a year ago \(transformers 4\.57\)/,
    );
    const named = await analysed(
      {
        [uri]: moe,
        'file:///w/requirements.txt':
          'transformers==5.23.0\ntrl==1.16.0\naccelerate==1.15.0\ntorch==2.13.0\n',
      },
      uri,
      on,
    );
    assert.equal(named.verdict?.severity, 'error');
    assert.deepEqual(named.answers, []);
  });

  it('versions that the newest release of a framework asks for, where nobody names the release', async () => {
    const axolotl = `base_model: openai/gpt-oss-20b
model_quantization_config: Mxfp4Config
model_quantization_config_kwargs:
  dequantize: true
plugins:
  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin
datasets:
  - path: HuggingFaceH4/Multilingual-Thinking
    type: chat_template
sequence_len: 4096
sample_packing: true
gradient_accumulation_steps: 2
micro_batch_size: 1
optimizer: adamw_torch_fused
bf16: true
attn_implementation: flash_attention_2
gradient_checkpointing: true
fsdp_version: 2
fsdp_config:
  offload_params: true
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  transformer_layer_cls_to_wrap: GptOssDecoderLayer
  reshard_after_forward: true
`;
    const on = { 'hardware.gpu': 'RTX 4090', 'hardware.gpus': 2 } as const;
    // Accelerate keeps whole gradients between micro batches since 1.11, which was there a year ago.
    const open = await analysed({ [uri]: axolotl }, uri, on);
    assert.match(open.verdict?.message ?? '', /^Does not fit/);
    assert.doesNotMatch(open.verdict?.message ?? '', /versions of a year ago/);
    assert.equal(open.verdict?.severity, 'error');
    const named = await analysed(
      { [uri]: axolotl, 'file:///w/requirements.txt': 'axolotl==0.19.0\n' },
      uri,
      on,
    );
    assert.equal(named.verdict?.severity, 'error');
  });

  it('a model that is spread over what the machine has: one GPU is assumed, and that is no error', async () => {
    const script = (map: string) => `import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-70B", ${map}torch_dtype=torch.bfloat16)
args = TrainingArguments(output_dir="o", per_device_train_batch_size=1, bf16=True)
Trainer(model=model, args=args, train_dataset=data).train()
`;
    const python = 'file:///w/train.py';
    const of = (map: string, run: string) =>
      analysed({ [python]: script(map), 'file:///w/run.sh': run }, python, {
        'hardware.gpu': 'H100',
        'batch.sequence': 1024,
      });
    const spread = await of('device_map="auto", ', 'python train.py\n');
    assert.equal(spread.verdict?.severity, 'warning');
    assert.match(spread.verdict?.message ?? '', /`device_map` spreads the model over all GPUs/);
    const own = await of('', 'python train.py\n');
    assert.equal(own.verdict?.severity, 'error');
  });

  it('a placement of the model hides no sharding that the arguments state', async () => {
    const of = async (more: string) => {
      const text = `import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", device_map="auto")
args = TrainingArguments(output_dir="o", per_device_train_batch_size=1${more})
Trainer(model=model, args=args, train_dataset=data).train()
`;
      const { analysis } = await analysed({ 'file:///w/train.py': text }, 'file:///w/train.py', {});
      return analysis.resolved.values['parallel.data'];
    };
    assert.equal(await of(''), 'none');
    assert.equal(await of(', fsdp="full_shard auto_wrap"'), 'fsdp2');
    assert.equal(await of(', deepspeed={"zero_optimization": {"stage": 2}}'), 'zero');
  });

  it('a model that is spread over several GPUs is there once, whatever class loads it', async () => {
    const of = async (model: string, gpus?: number) => {
      const text = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("${model}", device_map="auto")
Trainer(model=model, args=TrainingArguments(output_dir="o", per_device_train_batch_size=4), train_dataset=data).train()
`;
      const settings = gpus === undefined ? {} : { ...ON, 'hardware.gpus': gpus };
      const { analysis } = await analysed({ 'file:///w/train.py': text }, 'file:///w/train.py', settings);
      return analysis.resolved;
    };
    for (const gpus of [2, 4]) {
      const { values, unknown } = await of('Qwen/Qwen2.5-0.5B', gpus);
      assert.equal(values['parallel.data'], 'none');
      assert.equal(values['batch.global'], 4);
      assert.ok(unknown.some(({ field }) => field === 'parallel.pipeline'));
    }
    assert.equal((await of('google/flan-t5-base')).values['parallel.data'], 'none');
  });

  it('a model that Unsloth loads is spread over several GPUs only where one process trains', async () => {
    const text = `from unsloth import FastLanguageModel
from trl import SFTTrainer, SFTConfig
model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/Llama-3.2-1B", max_seq_length=2048, device_map="auto")
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj"])
SFTTrainer(model=model, tokenizer=tokenizer, train_dataset=data, args=SFTConfig(output_dir="o")).train()
`;
    const { analysis } = await analysed(
      { 'file:///w/train.py': text, 'file:///w/run.sh': 'torchrun --nproc_per_node 4 train.py\n' },
      'file:///w/train.py',
      {},
    );
    const left = (analysis.unread ?? []).map(({ message }) => message).join('\n');
    assert.match(left, /gives each process a GPU where several do/);
    assert.doesNotMatch(left, /`device_map` spreads the model over/);
    assert.notEqual(analysis.resolved.values['parallel.data'], 'none');
  });
});
