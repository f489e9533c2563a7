import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

interface Parts {
  readonly recipe?: string;
  readonly model?: string;
  readonly modelLines?: string;
  readonly sizes?: string;
  readonly packed?: number;
  readonly more?: string;
}

const config = ({
  recipe = 'TrainFinetuneRecipeForNextTokenPrediction',
  model = 'google/gemma-2-9b-it',
  modelLines = '',
  sizes = '',
  packed = 0,
  more = '',
}: Parts) => `# oomlint: gpu=H100 gpus=8
${recipe === '' ? '' : `recipe: ${recipe}`}
step_scheduler: {global_batch_size: 8, local_batch_size: 1}
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: ${model}
${modelLines}
distributed:
  strategy: fsdp2
${sizes}
loss_fn:
  _target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy
dataset: {_target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset, seq_length: 4096}
packed_sequence: {packed_sequence_size: ${packed}}
optimizer: {_target_: torch.optim.AdamW, lr: 1e-5}
${more}`;

async function read(parts: Parts) {
  const {
    estimate,
    resolved,
    answers = [],
    problems,
  } = await smallWorkspace({
    'train.yaml': config(parts),
  }).analyze('train.yaml');
  return {
    values: resolved.values,
    verdict: estimate?.verdict,
    unknown: resolved.unknown.map(({ field }) => field),
    asked: answers.map(({ field }) => field),
    codes: problems.map(({ code, severity }) => `${severity} ${code}`),
  };
}

describe('kernels of NeMo Automodel', () => {
  it('are those of FlashAttention where it is installed, and then of Liger for classes of transformers', async () => {
    const { values, asked } = await read({});
    assert.equal(values['attention.implementation'], 'flash2');
    assert.equal(values['kernels.liger'], true);
    assert.deepEqual([...asked].sort(), ['attention.implementation', 'kernels.liger']);
  });

  it('are always those of FlashAttention for packed rows', async () => {
    const { values, asked } = await read({ packed: 4096, modelLines: '  attn_implementation: sdpa' });
    assert.equal(values['attention.implementation'], 'flash2');
    assert.equal(asked.includes('attention.implementation'), false);
  });

  it('are those of torch under context parallelism', async () => {
    const { values } = await read({ sizes: '  cp_size: 2' });
    assert.equal(values['attention.implementation'], 'sdpa');
  });

  it('have none of Liger under tensor parallelism, for its own classes, or where they are switched off', async () => {
    for (const parts of [
      { sizes: '  tp_size: 2' },
      { model: 'meta-llama/Llama-3.1-8B' },
      { model: 'Qwen/Qwen3-8B' },
      { modelLines: '  use_liger_kernel: false' },
    ]) {
      const { values } = await read(parts);
      assert.equal(values['kernels.liger'], false, JSON.stringify(parts));
    }
    const { values } = await read({ model: 'meta-llama/Llama-3.1-8B', modelLines: '  force_hf: true' });
    assert.equal(values['kernels.liger'], true);
  });
});

describe('a mapping or a list where NeMo Automodel has a word', () => {
  it('is not known, where it holds something', async () => {
    const left = async (value: string) => {
      const files = { 'train.yaml': config({ sizes: `  activation_checkpointing: ${value}` }) };
      const { unread = [], estimate } = await smallWorkspace(files).analyze('train.yaml');
      return [unread.map(({ message }) => message), estimate?.verdict] as const;
    };
    const key = 'distributed.activation_checkpointing';
    for (const [value, words] of [
      ['{mode: full}', 'a mapping'],
      ['[attention, mlp]', 'a list'],
    ] as const) {
      const [messages, verdict] = await left(value);
      assert.deepEqual(messages, [`\`${key}\` takes ${words}, which is not known.`]);
      assert.notEqual(verdict, 'fits', value);
    }
    for (const nothing of ['{}', '[]', 'null', 'false'])
      assert.deepEqual((await left(nothing))[0], [], nothing);
  });
});

describe('recipes of NeMo Automodel', () => {
  it('that train a language model are estimated', async () => {
    for (const recipe of [
      '',
      'BenchmarkingRecipeForNextTokenPrediction',
      'nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction',
      '{_target_: nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction}',
    ]) {
      const { verdict, unknown } = await read({ recipe });
      assert.notEqual(verdict, undefined, `${recipe} ${unknown}`);
    }
  });

  it('that train something else get no verdict', async () => {
    for (const recipe of [
      'KnowledgeDistillationRecipeForNextTokenPrediction',
      'TrainBiEncoderRecipe',
      'TrainCrossEncoderRecipe',
      'DiffusionLMSFTRecipe',
      'TrainEagle3Recipe',
      'nemo_automodel.recipes.retrieval.train_bi_encoder.TrainBiEncoderRecipe',
      '{_target_: nemo_automodel.recipes.llm.kd.KnowledgeDistillationRecipeForNextTokenPrediction}',
    ]) {
      const { verdict, unknown } = await read({ recipe });
      assert.equal(verdict, undefined, recipe);
      assert.deepEqual(unknown, ['method.kind'], recipe);
    }
    const teacher = 'teacher_model: {pretrained_model_name_or_path: google/gemma-2-27b-it}\n';
    assert.equal((await read({ recipe: '', more: teacher })).verdict, undefined);
  });
});

describe('rows of NeMo Automodel', () => {
  const rows = async (text: string) => {
    const { resolved } = await smallWorkspace({ 'train.yaml': text }).analyze('train.yaml');
    return [resolved.values['batch.sequence'], resolved.values['batch.packed'] ?? false];
  };
  const unpacked = config({})
    .replace('seq_length: 4096', 'split: train')
    .replace(/packed_sequence:.*/, '');

  it('are padded to a multiple of what divides them, which is no length', async () => {
    const padded = `${unpacked}dataloader: {collate_fn: {_target_: a.b, pad_seq_len_divisible: 16}}\n`;
    assert.deepEqual(await rows(padded), await rows(unpacked));
  });

  it('of text and images are as long as what they are packed to', async () => {
    const packed =
      'packed_sequence: {pretokenize: true, max_length: 4096, pack_size: 8192, packing_ratio: 0.9}\n';
    assert.deepEqual(await rows(unpacked + packed), [8192, true]);
    assert.deepEqual(await rows(`${unpacked}packed_sequence: {pretokenize: true, max_length: 4096}\n`), [
      4096,
      false,
    ]);
  });
});

describe('layers of NeMo Automodel', () => {
  const strategy = async (sizes: string) => (await read({ sizes })).values['fsdp.strategy'];

  it('stay gathered under a pipeline and where experts are spread, unless it is stated', async () => {
    assert.equal(await strategy(''), 'full');
    assert.equal(await strategy('  reshard_after_forward: false'), 'grad-op');
    assert.equal(await strategy('  pp_size: 2'), 'grad-op');
    assert.equal(await strategy('  pp_size: 2\n  reshard_after_forward: true'), 'full');
    assert.equal(await strategy('  ep_size: 8'), 'grad-op');
    assert.equal(await strategy('  ep_size: 8\n  moe: {reshard_after_forward: true}'), 'full');
  });

  it('are not read whole where a block below a known one has what nobody knows', async () => {
    const { unread = [] } = await smallWorkspace({
      'train.yaml': config({ sizes: '  novel: {shard_depth: 2, name: a, offload_all: false}' }),
    }).analyze('train.yaml');
    assert.deepEqual(
      unread.map(({ text }) => text),
      ['distributed.novel.shard_depth'],
    );
  });
});
