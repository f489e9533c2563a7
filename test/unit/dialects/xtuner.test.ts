import assert from 'node:assert/strict';
import { setKey } from '../../../server/src/advice/write/set-key';
import { parseConfig, prepareFormat } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, factOf, problemsOf, read, refused } from './reading';

before(() => prepareFormat('file:///x.py', ''));

const xtuner = (text: string, known = {}) => read('xtuner', 'file:///cfg.py', text, known, {});

/** A config as XTuner brings them, in few words. */
const config = ({
  top = '',
  llm = '',
  bits = `quantization_config=dict(
            type=BitsAndBytesConfig, load_in_4bit=True, load_in_8bit=False,
            bnb_4bit_compute_dtype=torch.float16, bnb_4bit_use_double_quant=True,
            bnb_4bit_quant_type="nf4"),`,
  lora = 'lora=dict(type=LoraConfig, r=64, lora_alpha=16, lora_dropout=0.1, bias="none", task_type="CAUSAL_LM"),',
  data = '',
  wrapper = '',
  model = 'SupervisedFinetune',
  end = '',
} = {}) => `
import torch
from datasets import load_dataset
from mmengine.hooks import LoggerHook
from mmengine.optim import AmpOptimWrapper, OptimWrapper
from peft import LoraConfig
from torch.optim import AdamW
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from xtuner.dataset import ConcatDataset, MOSSSFTDataset, process_hf_dataset
from xtuner.engine.hooks import DatasetInfoHook, VarlenAttnArgsToMessageHubHook
from xtuner.model import DPO, SupervisedFinetune

base = "Qwen/Qwen2.5-7B"
use_varlen_attn = False
max_length = 1024
batch_size = 2
accumulative_counts = 4
sequence_parallel_size = 1
${top}
accumulative_counts *= sequence_parallel_size
model = dict(
    type=${model},
    use_varlen_attn=use_varlen_attn,
    llm=dict(
        type=AutoModelForCausalLM.from_pretrained,
        pretrained_model_name_or_path=base,
        ${llm}
        ${bits}
    ),
    ${lora}
)
train_dataset = dict(
    type=process_hf_dataset,
    dataset=dict(type=load_dataset, path="a/b"),
    max_length=max_length,
    pack_to_max_length=True,
)
${data}
train_dataloader = dict(batch_size=batch_size, num_workers=0, dataset=train_dataset)
optim_wrapper = dict(
    type=AmpOptimWrapper,
    optimizer=dict(type=AdamW, lr=1e-4),
    accumulative_counts=accumulative_counts,
    dtype="float16",
)
${wrapper}
custom_hooks = [dict(type=DatasetInfoHook)]
if use_varlen_attn:
    custom_hooks += [dict(type=VarlenAttnArgsToMessageHubHook)]
default_hooks = dict(logger=dict(type=LoggerHook, interval=10))
${end}
`;

const unread = (text: string, known = {}) =>
  (xtuner(text, known).unread ?? []).map(({ kind, message }) => `${kind}: ${message}`);

describe('configs of XTuner', () => {
  it('are known by what a runner builds of them', () => {
    const kind = (text: string) => detectDialect(parseConfig('file:///cfg.py', text))?.id;
    assert.equal(kind(config()), 'xtuner');
    assert.equal(
      kind('from mmengine.optim import OptimWrapper\nmodel = dict(type="ResNet", depth=50)\n'),
      undefined,
    );
    assert.equal(kind('from xtuner.model import SupervisedFinetune\nmodel = dict(llm=1)\n'), undefined);
    // A program that trains is one, whatever dictionaries it has.
    const trainer = `from transformers import Trainer\nimport xtuner\nmodel = dict(type="SupervisedFinetune")\nTrainer(model=model).train()\n`;
    assert.equal(kind(trainer), 'python');
  });

  it('state the run, each value where it is written', () => {
    const reading = xtuner(config());
    assertStates(reading, {
      framework: 'xtuner default',
      'model.id': 'Qwen/Qwen2.5-7B file',
      'method.kind': 'lora file',
      'lora.rank': '64 file',
      'lora.dropout': '0.1 file',
      'lora.targets': 'all-linear default',
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true file',
      'quantization.prepared': 'true default',
      'precision.scheme': 'autocast file',
      'precision.compute': 'fp16 file',
      'precision.weights': 'fp16 default',
      'activations.checkpointing': 'full default',
      'optimizer.name': 'adamw file',
      'batch.micro': '2 file',
      'batch.accumulation': '4 file',
      'batch.sequence': '1024 file',
      'batch.packed': 'true file',
      'parallel.ulysses': '1 file',
      'parallel.data': 'none default',
      'attention.mask': undefined,
    });
    const { origin } = factOf(reading, 'batch.micro') ?? {};
    assert.equal(origin?.key, 'train_dataloader.batch_size');
    assert.equal(config().split('\n')[origin?.location?.range.start.line ?? 0], 'batch_size = 2');
    assert.deepEqual(reading.unread ?? [], []);
    assert.deepEqual(problemsOf(reading, 'error', 'warning'), []);
  });

  it('hold weights that are adapted and not quantized in fp32, as PEFT casts them', () => {
    assertStates(xtuner(config({ bits: '', llm: 'torch_dtype=torch.float16,' })), {
      'quantization.kind': undefined,
      'precision.weights': 'fp32 inferred',
    });
    const eight = 'quantization_config=dict(type=BitsAndBytesConfig, load_in_8bit=True),';
    assertStates(xtuner(config({ bits: eight })), { 'quantization.kind': 'int8 file' });
    const four = 'quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True),';
    assertStates(xtuner(config({ bits: four })), {
      'quantization.kind': 'fp4 file',
      'quantization.double': 'false default',
    });
  });

  it('leave the type of weights that are all trained to flash-attn, which may be installed', () => {
    const whole = xtuner(config({ bits: '', lora: '' }));
    assertStates(whole, { 'method.kind': 'full default', 'precision.weights': 'bf16 inferred' });
    assert.deepEqual(factOf(whole, 'precision.weights')?.origin.orElse, 'fp32');
    assertStates(xtuner(config({ bits: '', lora: '', llm: 'torch_dtype=torch.bfloat16,' })), {
      'precision.weights': 'bf16 file',
    });
    assertStates(xtuner(config({ top: 'use_varlen_attn = True\nbatch_size = 1', bits: '', lora: '' })), {
      'attention.implementation': 'flash2 inferred',
      'precision.weights': 'bf16 inferred',
    });
  });

  it('compute under DeepSpeed in bf16 where the GPU can, whatever autocast is set to', () => {
    const zero = { 'parallel.data': 'zero', 'zero.stage': 3, 'hardware.gpus': 2 } as const;
    const states = {
      'precision.scheme': 'deepspeed inferred',
      'precision.weights': 'bf16 inferred',
      'precision.compute': 'bf16 inferred',
      'quantization.storage': 'bf16 inferred',
      'parallel.data': undefined,
    };
    assertStates(xtuner(config(), { ...zero, 'hardware.gpu': 'A100-SXM4-80GB' }), states);
    assertStates(xtuner(config(), { ...zero, 'hardware.gpu': 'V100-SXM2-32GB' }), {
      'precision.compute': 'fp16 inferred',
    });
    assertStates(xtuner(config(), { ...zero, 'zero.stage': 2 }), { 'quantization.storage': undefined });
    assertStates(xtuner(config(), { 'hardware.gpus': 2 }), { 'parallel.data': 'ddp default' });
  });

  it('read how long rows are of each loader that is known, and of no other', () => {
    const moss = (length: string) => `dict(type=MOSSSFTDataset, data_file="a", ${length})`;
    assertStates(xtuner(config({ data: `train_dataset = ${moss('max_length=512')}` })), {
      'batch.sequence': '512 file',
      'batch.packed': 'false default',
      'attention.mask': 'true inferred',
    });
    const joined = `train_dataset = dict(type=ConcatDataset, datasets=[${moss('max_length=512')}, ${moss('max_length=768')}])`;
    assertStates(xtuner(config({ data: joined })), {
      'batch.sequence': '768 file',
      'batch.packed': 'false default',
    });
    const own = 'from mine import load\ntrain_dataset = dict(type=load, max_length=512)';
    assertStates(xtuner(config({ data: own })), { 'batch.sequence': undefined });
    assert.deepEqual(unread(config({ data: own })), [
      'value: How long the samples of `dataset` are is not known: that code is not read.',
    ]);
    const tokens =
      'train_dataset = dict(type=process_hf_dataset, do_dataset_tokenization=False, pack_to_max_length=False)';
    assertStates(xtuner(config({ data: tokens })), { 'batch.sequence': undefined });
    assertStates(xtuner(config({ data: 'train_dataset = dict(type=process_hf_dataset)' })), {
      'batch.sequence': '2048 inferred',
    });
  });

  it('are not estimated where something else trains', () => {
    assert.deepEqual(unread(config({ model: 'DPO' })), ['refused: What `DPO` trains is not estimated.']);
    assert.deepEqual(unread(config({ top: 'from mine import Own', model: 'Own' })), [
      'refused: What `model` trains is not estimated.',
    ]);
    assert.deepEqual(unread(`${config()}framework = "huggingface"\n`), [
      'refused: What `framework = "huggingface"` trains is not estimated.',
    ]);
  });

  it('state what decides the run and is not read', () => {
    const left: Readonly<Record<string, Parameters<typeof config>[0]>> = {
      'value: What `EMAHook` changes is not counted.': {
        end: 'from mmengine.hooks import EMAHook\ncustom_hooks.append(dict(type=EMAHook))',
      },
      'value: What `strategy` changes is not counted.': { end: 'strategy = dict(type="DeepSpeedStrategy")' },
      'value: What `model_wrapper_cfg` changes is not counted.': {
        end: 'model_wrapper_cfg = dict(type="MMFullyShardedDataParallel")',
      },
      'value: What `**` passes here is not known: it may be any argument.': {
        end: 'from mine import MORE\ntrain_dataloader = dict(**MORE, batch_size=1, dataset=train_dataset)',
      },
      'value: What makes the model is not known: that code is not read.': {
        end: 'from mine import make\nmodel["llm"] = dict(type=make, pretrained_model_name_or_path="gpt2")',
      },
      'flag: `model.llm.moe_shard` is no key that is known of XTuner: what it changes is not counted.': {
        llm: 'moe_shard=True,',
      },
      'value: `optim_wrapper.type` takes `mmengine.optim.OptimWrapper`, which is not known.': {
        wrapper: 'optim_wrapper["type"] = OptimWrapper',
      },
    };
    for (const [message, changes] of Object.entries(left))
      assert.deepEqual(unread(config(changes)), [message], JSON.stringify(changes));
    assertStates(xtuner(config({ end: 'strategy = dict(type="DeepSpeedStrategy")' })), {
      'parallel.data': undefined,
    });
    const moe =
      'from xtuner.model import DeepseekV2ForCausalLM\nmodel["llm"]["type"] = DeepseekV2ForCausalLM.from_pretrained';
    assertStates(xtuner(config({ end: moe })), { 'features.unmodelled': 'model-of-the-script file' });
    // Hooks that a condition adds are known where the condition is.
    assert.deepEqual(unread(config({ top: 'use_varlen_attn = True\nbatch_size = 1' })), []);
  });

  it('stop where attention by samples meets a micro batch of several', () => {
    assert.deepEqual(refused(xtuner(config({ top: 'use_varlen_attn = True' }))), ['varlen-batch']);
    assert.deepEqual(refused(xtuner(config({ top: 'use_varlen_attn = True\nbatch_size = 1' }))), []);
  });

  it('are changed where their values are written', () => {
    const text = config();
    const changed = (path: string, value: number | boolean) => {
      const after = setKey(text, 'python', path.split('.'), value)?.split('\n') ?? [];
      const before = text.split('\n');
      return after.filter((line) => !before.includes(line)).map((line) => line.trim());
    };
    assert.deepEqual(changed('train_dataloader.batch_size', 1), ['batch_size = 1']);
    assert.deepEqual(changed('train_dataloader.dataset.max_length', 512), ['max_length = 512']);
    assert.deepEqual(changed('optim_wrapper.accumulative_counts', 8), ['accumulative_counts=8,']);
    assert.deepEqual(changed('model.use_activation_checkpointing', false), [
      'use_activation_checkpointing=False,',
    ]);
    assert.match(changed('model.lora.r', 8)[0] ?? '', /\br=8, /);
  });
});

describe('launches of XTuner', () => {
  const launched = async (command: string, text = config(), more = {}) =>
    smallWorkspace({
      'cfg.py': text,
      'run.sh': `#!/bin/bash\n# oomlint: gpu=A100-SXM4-80GB\n${command}\n`,
      ...more,
    }).analyze('run.sh');
  const valuesOf = async (command: string, text?: string, more = {}) => {
    const { resolved } = await launched(command, text, more);
    const { run } = resolved;
    return (
      run && [
        run['hardware.gpus'],
        run['parallel.data'],
        run['zero.stage'],
        run['precision.scheme'],
        run['batch.micro'],
        run['batch.accumulation'],
        run['batch.sequence'],
      ]
    );
  };

  it('count their GPUs by NPROC_PER_NODE, and take the DeepSpeed configs that XTuner brings', async () => {
    assert.deepEqual(await valuesOf('xtuner train cfg.py'), [1, 'none', 0, 'autocast', 2, 4, 1024]);
    assert.deepEqual(await valuesOf('CUDA_VISIBLE_DEVICES=0,1 xtuner train cfg.py'), [
      1,
      'none',
      0,
      'autocast',
      2,
      4,
      1024,
    ]);
    assert.deepEqual(await valuesOf('NPROC_PER_NODE=4 xtuner train ./cfg.py'), [
      4,
      'ddp',
      0,
      'autocast',
      2,
      4,
      1024,
    ]);
    const two = 'NPROC_PER_NODE=8 NNODES=2 xtuner train cfg.py --deepspeed deepspeed_zero2';
    assert.deepEqual(await valuesOf(two), [16, 'zero', 2, 'deepspeed', 2, 4, 1024]);
    const slurm =
      'srun --nodes=1 --ntasks-per-node=8 xtuner train cfg.py --launcher slurm --deepspeed deepspeed_zero3_offload';
    const { resolved } = await launched(slurm);
    assert.deepEqual(
      [
        resolved.run?.['hardware.gpus'],
        resolved.run?.['offload.optimizer'],
        resolved.run?.['offload.parameters'],
      ],
      [8, 'cpu', 'cpu'],
    );
  });

  it('that split a sample have no verdict without a config of DeepSpeed: XTuner stops without one', async () => {
    const split = config({ top: 'sequence_parallel_size = 2' });
    const alone = { 'hardware.gpus': 4, 'hardware.gpu': 'A100-SXM4-80GB' } as const;
    assertStates(xtuner(split, alone), {
      'parallel.data': undefined,
      'parallel.ulysses': '2 file',
      'precision.scheme': undefined,
      'precision.weights': undefined,
    });
    const of = async (command: string) => {
      const { estimate, resolved } = await launched(command, split);
      return [estimate?.verdict, resolved.run?.['parallel.data'], resolved.unknown.map(({ field }) => field)];
    };
    const [verdict, , asked] = await of('NPROC_PER_NODE=4 xtuner train cfg.py');
    assert.equal(verdict, undefined);
    assert.ok(Array.isArray(asked) && asked.includes('parallel.data'), String(asked));
    const [, data, open] = await of('NPROC_PER_NODE=4 xtuner train cfg.py --deepspeed deepspeed_zero2');
    assert.deepEqual([data, open], ['zero', []]);
  });

  it('have the transformers that their release requires', async () => {
    const of = async (pins: string) => {
      const { resolved } = await launched('xtuner train cfg.py', config(), { 'requirements.txt': pins });
      return resolved.values['version.transformers'];
    };
    assert.equal(await of('xtuner==0.2.0\n'), '4.48.0');
    assert.equal(await of('xtuner==0.1.9\n'), '4.34.0');
    assert.equal(await of('xtuner==0.1.9\ntransformers==4.33.3\n'), '4.33.3');
    assert.equal(await of(''), '4.48.0');
  });

  it('take a DeepSpeed file of their own, whose batch gives way to that of the config', async () => {
    const ds = JSON.stringify({
      train_micro_batch_size_per_gpu: 'auto',
      gradient_accumulation_steps: 'auto',
      zero_optimization: { stage: 1 },
      fp16: { enabled: 'auto' },
      bf16: { enabled: 'auto' },
    });
    const command =
      'torchrun --nproc_per_node=2 xtuner/tools/train.py cfg.py --launcher pytorch --deepspeed ds.json';
    const files = { 'ds.json': ds };
    assert.deepEqual(await valuesOf(command, config(), files), [2, 'zero', 1, 'deepspeed', 2, 4, 1024]);
    const own = '{"optimizer": {"type": "Lion", "params": {"lr": 1e-4}}, ';
    const other = { 'ds.json': ds.replace('"auto"', '8').replace('{', own) };
    assert.deepEqual(await valuesOf(command, config(), other), [2, 'zero', 1, 'deepspeed', 2, 4, 1024]);
    const { resolved } = await launched(command, config(), other);
    assert.equal(resolved.run?.['optimizer.name'], 'adamw');
    const { problems } = await launched(command, config({ top: 'learning_rate = 1\nmax_grad_norm = 2' }), {
      'ds.json': ds.replace('{', '{"gradient_clipping": 1.0, '),
    });
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    );
  });

  it('replace values of the config as mmengine does: below its names, once it is built', async () => {
    const options = (words: string) => `xtuner train cfg.py --cfg-options ${words}`;
    assert.deepEqual(
      await valuesOf(options('train_dataloader.batch_size=3 optim_wrapper.accumulative_counts=5')),
      [1, 'none', 0, 'autocast', 3, 5, 1024],
    );
    assert.deepEqual(await valuesOf(options('train_dataloader.dataset.max_length=256')), [
      1,
      'none',
      0,
      'autocast',
      2,
      4,
      256,
    ]);
    // The name alone is used by nothing any more.
    assert.deepEqual(await valuesOf(options('batch_size=3')), [1, 'none', 0, 'autocast', 2, 4, 1024]);
  });

  it('have no verdict by the name of a config that lies in the package', async () => {
    const { estimate, resolved, problems } = await launched(
      'xtuner train qwen_7b_qlora_alpaca_e3 --deepspeed deepspeed_zero2',
    );
    assert.equal(estimate, undefined);
    assert.match(
      resolved.unknown[0]?.reason ?? '',
      /is a config that XTuner brings: what stands in it is not read/,
    );
    assert.deepEqual(
      problems.map(({ severity }) => severity),
      ['information'],
    );
  });

  it('know no DeepSpeed config by another name', async () => {
    const { estimate } = await launched('NPROC_PER_NODE=2 xtuner train cfg.py --deepspeed deepspeed_zero4');
    assert.equal(estimate, undefined);
  });
});
