import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const RECIPE = `model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: a/b
per_device_train_batch_size: 2
max_length: 512
learning_rate: 1e-5
`;

async function read(more: string, release = '1.16.0') {
  const files = { 'sft.yaml': `${RECIPE}${more}\n`, 'requirements.txt': `trl==${release}\n` };
  const { resolved, unread = [] } = await smallWorkspace(files).analyze('sft.yaml');
  const values: Readonly<Record<string, unknown>> = resolved.values;
  return { values, unread: unread.map(({ text }) => text) };
}

const FIELDS = ['precision.weights', 'attention.implementation', 'quantization.kind', 'quantization.double'];

describe('`model_init_kwargs` of a recipe', () => {
  it('load the model, before what the recipe states beside them', async () => {
    const of = async (more: string) => {
      const { values, unread } = await read(more);
      assert.deepEqual(unread, [], more);
      return FIELDS.map((field) => values[field]);
    };
    assert.deepEqual(await of(''), ['fp32', 'sdpa', 'none', false]);
    assert.deepEqual(await of('model_init_kwargs: {dtype: bfloat16, use_cache: false}'), [
      'bf16',
      'sdpa',
      'none',
      false,
    ]);
    assert.deepEqual(
      await of(
        'dtype: float32\nattn_implementation: eager\nmodel_init_kwargs: {torch_dtype: bfloat16, attn_implementation: flash_attention_2}',
      ),
      ['bf16', 'flash2', 'none', false],
    );
    // Of `BitsAndBytesConfig` itself fp4 is the type, and the scales are not quantized.
    assert.deepEqual(await of('model_init_kwargs: {quantization_config: {load_in_4bit: true}}'), [
      'fp32',
      'sdpa',
      'fp4',
      false,
    ]);
    assert.deepEqual(
      await of(
        'model_init_kwargs: {quantization_config: {load_in_4bit: true, bnb_4bit_quant_type: nf4, bnb_4bit_use_double_quant: true}}',
      ),
      ['fp32', 'sdpa', 'nf4', true],
    );
  });

  it('replace sizes of the model', async () => {
    const { values, unread } = await read('model_init_kwargs: {num_hidden_layers: 4}');
    assert.deepEqual([values['model.changes'], unread], [{ num_hidden_layers: 4 }, []]);
    const { workspace } = smallWorkspace({
      'sft.yaml': `${RECIPE}model_init_kwargs: {num_hidden_layers: 4}\n`,
    });
    const analysis = await workspace.analyze('file:///repo/sft.yaml');
    assert.equal(analysis?.model?.config?.['num_hidden_layers' as never], 4);
  });

  it('leave open what they make of the model otherwise, and before they are heeded', async () => {
    for (const [more, left] of [
      ['model_init_kwargs: {sliding_windows: 3}', 'model_init_kwargs.sliding_windows'],
      ['model_init_kwargs: {device_map: auto}', 'model_init_kwargs.device_map'],
      [
        'model_init_kwargs: {quantization_config: {quant_method: hqq}}',
        'model_init_kwargs.quantization_config',
      ],
    ] as const)
      assert.ok((await read(more)).unread.includes(left), more);
    const old = await read('model_init_kwargs: {dtype: bfloat16, num_hidden_layers: 4}', '1.13.0');
    assert.deepEqual([old.unread, old.values['model.changes']], [['model_init_kwargs'], undefined]);
  });

  it('of a program have types of PyTorch, as they are', async () => {
    const program = `import torch
from trl import SFTConfig, SFTTrainer
args = SFTConfig(model_init_kwargs={"dtype": torch.float32 if short else torch.bfloat16, "torch_dtype": torch.float32}, max_length=512)
SFTTrainer("Qwen/Qwen2.5-0.5B", args=args).train()
`;
    const { problems } = await smallWorkspace({ 'train.py': program }).analyze('train.py');
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'warning' || severity === 'error'),
      [],
    );
  });
});
