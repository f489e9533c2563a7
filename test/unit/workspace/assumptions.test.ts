import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///project/run.oomlint.yaml';

/** What an Oomlint run file leaves to others, by field. */
async function assumed(run: string): Promise<ReadonlySet<string>> {
  const hardware = run.includes('hardware:') ? '' : '  hardware: { gpu: H100-SXM5-80GB, gpus: 1 }\n';
  const text = `run:\n  model: { id: gpt2 }\n${hardware}  batch: { micro: 1, sequence: 512 }\n${run}`;
  const analysis = await new Workspace(new MemoryHost({ [URI]: text })).analyze(URI);
  assert.ok(analysis?.estimate, JSON.stringify(analysis?.problems));
  return new Set(assumptionsOf(analysis).map(({ field }) => field));
}

describe('assumptions', () => {
  for (const [field, with_, without] of [
    ['lora.vectors', '  method: lora\n  lora: { kind: vblora, rank: 4 }\n', '  method: lora\n'],
    ['lora.alpha', '  method: lora\n', '  method: lora\n  lora: { kind: ia3 }\n'],
    ['lora.alpha', '  method: lora\n', '  method: lora\n  lora: { kind: vblora, rank: 4 }\n'],
    [
      'quantization.storage',
      '  method: lora\n  quantization: { kind: nf4 }\n',
      '  method: lora\n  quantization: { kind: int8 }\n',
    ],
    [
      'precision.compute',
      '  method: lora\n  quantization: { kind: nf4 }\n',
      '  method: lora\n  quantization: { kind: int8 }\n',
    ],
    ['lora.virtualTokens', '  method: lora\n  lora: { kind: prompt-tuning }\n', '  method: lora\n'],
    [
      'offload.optimizerBuffers',
      '  parallel: { data: zero }\n  zero: { stage: 3 }\n  offload: { optimizer: nvme }\n',
      '  parallel: { data: zero }\n  zero: { stage: 3 }\n  offload: { optimizer: cpu }\n',
    ],
    [
      'offload.parameterBufferSize',
      '  parallel: { data: zero }\n  zero: { stage: 3 }\n  offload: { parameters: nvme }\n',
      '  parallel: { data: zero }\n  zero: { stage: 3 }\n',
    ],
    [
      'zero.sequenceReduce',
      '  parallel: { data: zero, ulysses: 2 }\n  zero: { stage: 3 }\n  hardware: { gpu: H100-SXM5-80GB, gpus: 2 }\n',
      '  parallel: { data: zero }\n  zero: { stage: 3 }\n',
    ],
    [
      'activations.offloadOverlap',
      '  activations: { offload: true }\n',
      '  activations: { checkpointing: full, offload: true }\n',
    ],
    [
      'precision.masterWeights',
      '  precision: { scheme: deepspeed }\n',
      '  precision: { scheme: autocast }\n',
    ],
    [
      'lora.rank',
      '  method: { kind: lora }\n',
      '  method: { kind: lora }\n  lora: { kind: prompt-tuning, virtualTokens: 8 }\n',
    ],
    ['lora.rank', '  method: { kind: lora }\n', '  method: { kind: lora }\n  lora: { kind: ia3 }\n'],
    ['lora.dtype', '  method: lora\n', '  method: lora\n  lora: { kind: ln-tuning }\n'],
    [
      'lora.alpha',
      '  method: { kind: lora }\n',
      '  method: { kind: lora }\n  lora: { kind: prefix-tuning, virtualTokens: 8 }\n',
    ],
    [
      'batch.choices',
      '  method: { objective: multiple-choice }\n',
      '  method: { objective: classification }\n',
    ],
    ['ddp.bucketCap', '  parallel: { data: ddp }\n  hardware.nodes: 2\n', '  parallel: { data: ddp }\n'],
    [
      'rollout.steps',
      '  method: { objective: grpo }\n  rollout: { engine: transformers, completion: 64 }\n',
      '  method: { objective: grpo }\n  rollout: { engine: vllm-colocate, completion: 64 }\n  hardware.reservedFraction: 0.3\n',
    ],
    ['version.accelerate', '  framework: accelerate\n', '  framework: axolotl\n'],
    ['version.trl', '  framework: trl\n', '  framework: accelerate\n'],
    ['version.transformers', '  model.code: transformers\n', '  model.code: tensorflow\n'],
  ] as const) {
    it(`name ${field} only where it decides something`, async () => {
      assert.ok((await assumed(with_)).has(field), 'where it does');
      assert.ok(!(await assumed(without)).has(field), 'where it does not');
    });
  }

  it('leave out a size of one that nobody set', async () => {
    assert.ok(
      !(await assumed('  activations: { checkpointing: full }\n')).has('activations.checkpointEvery'),
    );
    const rollouts = '  method: { objective: grpo }\n  rollout: { engine: transformers, completion: 64 }\n';
    assert.ok(!(await assumed(rollouts)).has('rollout.tensor'));
  });

  it('leave out what is asked for, and what hangs on it', async () => {
    const uri = 'file:///project/axolotl.yml';
    const text = (adapter: string) =>
      `base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: x\nmicro_batch_size: 1\nsequence_len: 512\nadapter: ${adapter}\n`;
    const of = async (adapter: string) => {
      const analysis = await new Workspace(new MemoryHost({ [uri]: text(adapter) })).analyze(uri);
      assert.ok(analysis);
      return new Set(assumptionsOf(analysis).map(({ field }) => field));
    };
    assert.ok((await of('lora')).has('lora.rank'), 'a rank is assumed for LoRA');
    const asked = await of('"{{ adapter }}"');
    assert.deepEqual([asked.has('method.kind'), asked.has('lora.rank')], [false, false]);
  });
});

describe('assumptions of code', () => {
  it('hold nothing of a model that a function loads which is not seen', async () => {
    const uri = 'file:///project/train.py';
    const fields = async (model: string) => {
      const text = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom own.modeling import load_adapted\nmodel = ${model}\nTrainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=1)).train()\n`;
      const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
      assert.ok(analysis);
      return new Set<string>(assumptionsOf(analysis).map(({ field }) => field));
    };
    const lost = await fields('load_adapted("Qwen/Qwen2.5-7B")');
    assert.deepEqual(
      ['method.kind', 'precision.weights', 'lora.dtype'].filter((field) => lost.has(field)),
      [],
    );
    assert.ok((await fields('AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")')).has('method.kind'));
  });

  it('are not of whose code runs the model, where the repository may bring its own', async () => {
    const shows = async (more: string) => {
      const uri = 'file:///project/train.py';
      const text = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B"${more})\nTrainer(model=model, args=TrainingArguments("out", per_device_train_batch_size=1)).train()\n`;
      const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
      assert.ok(analysis);
      return assumptionsOf(analysis).some(({ field }) => field === 'model.code');
    };
    assert.equal(await shows(''), true);
    assert.equal(await shows(', trust_remote_code=False'), true);
    assert.equal(await shows(', trust_remote_code=True'), false);
  });

  it('are none of a run that is not estimated', async () => {
    const uri = 'file:///project/train.py';
    const text = `from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
model = SentenceTransformer("Qwen/Qwen3-Embedding-0.6B")
args = SentenceTransformerTrainingArguments("out", per_device_train_batch_size=8, gradient_accumulation_steps=2, bf16=True)
SentenceTransformerTrainer(model=model, args=args, train_dataset=data).train()
`;
    const settings = () => ({ 'hardware.gpu': 'H100-SXM5-80GB', 'hardware.gpus': 1 }) as const;
    const analysis = await new Workspace(new MemoryHost({ [uri]: text }), { settings }).analyze(uri);
    assert.ok(analysis);
    assert.equal(analysis.estimate, undefined);
    assert.deepEqual(
      assumptionsOf(analysis).map(({ field }) => field),
      ['hardware.gpu', 'hardware.gpus'],
    );
  });

  it('hold nothing that the vocabulary takes where the run is of no kind that is estimated', async () => {
    const uri = 'file:///project/train.py';
    const text = `import argparse
from trl.experimental.gold import GOLDConfig, GOLDTrainer
parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
args = parser.parse_args()
config = GOLDConfig(output_dir="out", gradient_accumulation_steps=args.gradient_accumulation_steps)
GOLDTrainer(model="Qwen/Qwen2.5-7B", args=config, train_dataset=rows).train()
`;
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    assert.ok(analysis);
    assert.ok(analysis.unread?.some(({ kind }) => kind === 'refused'));
    const taken = assumptionsOf(analysis).filter(({ source }) => source === 'Oomlint default');
    assert.deepEqual(
      taken.map(({ field }) => field),
      [],
    );
  });

  it('tell guesses first: lengths of GRPO that nobody states decide what it needs', async () => {
    const uri = 'file:///project/train.py';
    const text = `# oomlint: gpu=A100-SXM4-80GB gpus=1
from trl import GRPOConfig, GRPOTrainer
GRPOTrainer(model="Qwen/Qwen2.5-0.5B", args=GRPOConfig("out", max_completion_length=256), reward_funcs=reward, train_dataset=rows).train()
`;
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    assert.ok(analysis?.estimate);
    const [first] = assumptionsOf(analysis);
    assert.equal(first?.field, 'batch.sequence');
    assert.match(first?.source ?? '', /^assumed prompts of 512 tokens/);
  });
});
