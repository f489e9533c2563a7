import assert from 'node:assert/strict';
import type { ConfigNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read } from './reading';

const trained = (asked: string, imports = '') => `import torch
${imports}
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
good = ${asked}
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16 if good else torch.float16)
Trainer(model, TrainingArguments("out", bf16=good, fp16=not good, per_device_train_batch_size=2), train_dataset=data).train()
`;
const TORCH = trained('torch.cuda.is_bf16_supported()');
const TRANSFORMERS = trained(
  'is_torch_bf16_gpu_available()',
  'from transformers.utils import is_torch_bf16_gpu_available',
);

describe('bf16 on a GPU that computes none', () => {
  before(loadPython);

  const computes = (text: string, type: 'bf16' | 'fp16', known: Record<string, unknown> = {}) =>
    assertStates(read('python', 'file:///train.py', text, { 'hardware.gpu': 'T4', ...known }), {
      'precision.compute': `${type} file`,
      'precision.weights': `${type} file`,
    });

  it('is supported since PyTorch 2.3', () => {
    computes(TORCH, 'bf16');
    computes(TORCH, 'bf16', { 'version.torch': '2.3.0' });
    computes(TORCH, 'fp16', { 'version.torch': '2.2.2' });
    computes(trained('torch.cuda.is_available() and torch.cuda.is_bf16_supported(True)'), 'bf16');
    computes(trained('torch.get_device_module(pick()).is_bf16_supported()'), 'bf16');
  });

  it('is refused where emulation is not to count', () => {
    computes(trained('torch.cuda.is_bf16_supported(False)'), 'fp16');
    computes(trained('torch.cuda.is_bf16_supported(including_emulation=False)'), 'fp16');
    computes(trained('torch.cuda.get_device_capability()[0] >= 8'), 'fp16');
  });

  it('is what transformers and Accelerate say as soon as they ask PyTorch', () => {
    computes(TRANSFORMERS, 'bf16');
    computes(TRANSFORMERS, 'bf16', { 'version.transformers': '4.35.2' });
    computes(TRANSFORMERS, 'fp16', { 'version.transformers': '4.34.1' });
    computes(TRANSFORMERS, 'fp16', { 'version.torch': '2.2.2' });
    const accelerate = 'from accelerate.utils import is_bf16_available';
    computes(trained('is_bf16_available()', accelerate), 'bf16');
    computes(trained('is_bf16_available()', accelerate), 'fp16', { 'version.torch': '2.1.2' });
  });

  it("is refused by Unsloth's own answer, which it gives in PyTorch's place, too", () => {
    computes(trained('torch.cuda.is_bf16_supported()', 'import unsloth'), 'fp16');
    for (const name of ['is_bfloat16_supported', 'is_bf16_supported'])
      computes(trained(`${name}()`, `from unsloth import ${name}`), 'fp16');
  });

  it('is known without the GPU where all of them say so', () => {
    const reading = read('python', 'file:///train.py', TORCH);
    assertStates(reading, { 'precision.compute': 'bf16 file', 'precision.weights': 'bf16 file' });
  });

  it('is no guess of a reader that knows no library', () => {
    const { root } = parseConfig('file:///train.py', TORCH);
    const entryOf = (node: ConfigNode | undefined | null, name: string) =>
      node?.kind === 'map' ? node.entries.find(({ key }) => key === name)?.value : undefined;
    const value = entryOf(entryOf(root, 'TrainingArguments'), 'bf16');
    assert.ok(value?.kind === 'scalar');
    assert.equal(value.value, true);
    assert.equal(value.guessed, undefined);
  });

  it('is no error', async () => {
    const problems = async (text: string, torch = '2.6.0') => {
      const facts = '# oomlint: gpu=T4 gpus=1 sequence=256\n';
      const files = { 'train.py': facts + text, 'requirements.txt': `torch==${torch}\n` };
      return (await smallWorkspace(files).analyze('train.py')).problems
        .filter(({ severity }) => severity === 'error')
        .map(({ code }) => code);
    };
    assert.deepEqual(await problems(TORCH), []);
    assert.deepEqual(await problems(TORCH, '2.2.2'), ['scaled-gradients']);
    assert.deepEqual(await problems(trained('torch.cuda.is_bf16_supported(False)')), ['scaled-gradients']);
  });
});
