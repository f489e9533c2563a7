import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { assertStates, read } from './reading';

const python = (text: string, known: ReadContext['known'] = {}) =>
  read('python', 'file:///train.py', text, known);
const unread = (text: string) =>
  (python(text).unread ?? []).map(({ kind, text: words }) => `${kind} ${words}`);

const HEAD = `import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)
def tokenize(row):
    return tokenizer(row["text"], truncation=True, padding="max_length", max_length=512)
data = load().map(tokenize)
loader = DataLoader(data, batch_size=8, shuffle=True)
`;
const OPTIMIZER = 'optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n';
const LOOP = `for batch in loader:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`;

describe('training loops that a file writes itself', () => {
  before(loadPython);

  it('say what they call: model, optimizer, batch of the loader, length of the tokenizer', () => {
    const reading = python(HEAD + OPTIMIZER + LOOP);
    assertStates(reading, {
      'model.id': 'gpt2 file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'native default',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'foreach default',
      'batch.micro': '8 file',
      'batch.sequence': '512 file',
      'method.kind': 'full default',
      'batch.accumulation': undefined,
    });
    assert.deepEqual([reading.unread, reading.problems], [undefined, []]);
  });

  it('run on one GPU where nothing of them goes to other processes or GPUs', () => {
    const loop = HEAD + OPTIMIZER + LOOP;
    assertStates(python(loop), { 'hardware.gpus': '1 inferred' });
    for (const more of [
      `import torch.distributed as dist\n${loop}`,
      `from accelerate import Accelerator\n${loop}`,
      loop.replace('torch_dtype=torch.bfloat16', 'torch_dtype=torch.bfloat16, device_map="auto"'),
      loop.replace('optimizer =', 'model.lm_head.to("cuda:1")\noptimizer ='),
      loop.replace('optimizer =', 'model = torch.nn.DataParallel(model)\noptimizer ='),
    ])
      assert.equal(
        python(more).facts.find(({ field }) => field === 'hardware.gpus'),
        undefined,
        more,
      );
    const shown = `import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n${loop}`;
    assertStates(python(shown), { 'hardware.gpus': '2 file' });
  });

  it('on the CPU take no GPU memory: the model goes there by its word, and nowhere else', () => {
    const onCpu = (move: string, loop = LOOP) =>
      (python(HEAD + move + OPTIMIZER + loop).unread ?? []).some(({ onCpu }) => onCpu);
    const inFunction = `def train(model, device="cpu"):\n    model.to(device)\n${`${OPTIMIZER}${LOOP}`.replace(/^(?=.)/gm, '    ')}train(model, device="cpu")\n`;
    for (const move of [
      'model.to("cpu")\n',
      'model = model.cpu()\n',
      'device = "cpu"\nmodel.to(device)\n',
      'model.to(torch.device("cpu"))\n',
    ])
      assert.equal(onCpu(move), true, move);
    assert.equal(
      (python(HEAD + inFunction).unread ?? []).some(({ onCpu }) => onCpu),
      true,
    );
    for (const move of [
      '',
      'model.to("cuda")\n',
      'device = "cuda" if torch.cuda.is_available() else "cpu"\nmodel.to(device)\n',
      'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\nmodel.to(device)\n',
      'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"\nmodel.to(device)\n',
      'if len(data) < 100:\n    model.to("cpu")\n',
      'model.to("cpu")\nmodel.cuda()\n',
      'model.to(torch.bfloat16)\n',
    ])
      assert.equal(onCpu(move), false, move);
    const prepared =
      'from accelerate import Accelerator\naccelerator = Accelerator()\nmodel.to("cpu")\nmodel = accelerator.prepare(model)\n';
    assert.equal(onCpu(prepared, LOOP.replace('loss.backward()', 'accelerator.backward(loss)')), false);
  });

  it('take the batch of loaders that are those of PyTorch under another name, and report where none is seen', () => {
    const of = (make: string) => python(HEAD.replace(/^loader = .*$/m, make) + OPTIMIZER + LOOP);
    const monai =
      'from monai.data import DataLoader as Volumes\nsizes = {"train": 2}\nloader = Volumes(data, batch_size=sizes["train"], shuffle=True)';
    assertStates(of(monai), { 'batch.micro': '2 file' });
    assert.deepEqual(
      of('loader = batches_of(data)').unread?.map(({ message }) => message),
      ['Nothing that is read makes batches: how many samples they have is not known.'],
    );
  });

  it('keep gradients through forward where they go between forward and backward alone', () => {
    const of = (loop: string) => python(HEAD + OPTIMIZER + loop);
    const late = `for batch in loader:
    outputs = model(**batch)
    optimizer.zero_grad()
    outputs["loss"].backward()
    optimizer.step()
`;
    assertStates(of(late), { 'optimizer.lateZero': 'true inferred' });
    assertStates(of(LOOP), { 'optimizer.lateZero': undefined });
    const first = LOOP.replace('    loss = ', '    optimizer.zero_grad()\n    loss = ');
    assertStates(of(first), { 'optimizer.lateZero': undefined });
    assertStates(of(`${late}    optimizer.zero_grad()\n`), { 'optimizer.lateZero': undefined });
  });

  it('take the loss of the model by its name as by its attribute', () => {
    for (const loss of ['outputs["loss"]', "outputs['loss'] / 4", 'outputs[0]', 'outputs.loss']) {
      const loop = `for batch in loader:\n    outputs = model(**batch)\n    loss = ${loss}\n    loss.backward()\n    optimizer.step()\n`;
      assert.deepEqual(unread(HEAD + OPTIMIZER + loop), [], loss);
    }
  });

  describe('of a function that processes of its own run', () => {
    const launched = (call: string) =>
      python(`${HEAD.replace(/^loader = .*\n/m, '')}from accelerate import notebook_launcher
import torch.multiprocessing as mp
def train(net, size=2):
    loader = DataLoader(data, batch_size=size, shuffle=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
${LOOP.replace('model(', 'net(').replace(/^/gm, '    ')}
def spawned(rank, net):
    train(net)
${call}\n`);

    it('take what it is given, and as many GPUs as there are of them', () => {
      const reading = launched('notebook_launcher(train, (model, 16), num_processes=2)');
      assertStates(reading, { 'model.id': 'gpt2 file', 'batch.micro': '16 file', 'hardware.gpus': '2 file' });
      assert.equal(reading.unread, undefined);
      const spawned = launched('mp.spawn(spawned, args=(model,), nprocs=4)');
      assertStates(spawned, { 'model.id': 'gpt2 file', 'batch.micro': '2 file', 'hardware.gpus': '4 file' });
    });

    it('leave open what is known only when they run', () => {
      const reading = launched('notebook_launcher(train, given, num_processes=count)');
      assertStates(reading, { 'model.id': undefined, 'hardware.gpus': undefined });
    });
  });

  describe('of models that are not estimated', () => {
    const refused = (model: string) => unread(`${HEAD.replace(/^model = .*$/m, model)}${OPTIMIZER}${LOOP}`);

    it('name what trains there', () => {
      const own =
        'class Net(torch.nn.Module):\n    def __init__(self, width):\n        super().__init__()\nmodel = Net(4)';
      assert.deepEqual(refused(own), ['refused Net']);
      const copied = `import copy\n${own.replace('model =', 'first =')}\nmodel = copy.deepcopy(first)`;
      assert.deepEqual(refused(copied), ['refused Net']);
      const renamed = copied.replace('import copy', 'from copy import deepcopy').replace('copy.deep', 'deep');
      assert.deepEqual(refused(renamed), ['refused Net']);
      const timm = 'import timm\nmodel = timm.create_model("resnet50d")';
      assert.deepEqual(refused(timm), ['refused create_model']);
      const volumes = 'from monai.networks.nets import UNet\nmodel = UNet(**sizes).to("cuda")';
      assert.deepEqual(refused(volumes), ['refused UNet']);
      const series =
        'from transformers import InformerConfig, InformerForPrediction\nmodel = InformerForPrediction(InformerConfig())';
      assert.deepEqual(refused(series), ['refused InformerForPrediction']);
    });

    it('are not the copy of a loaded model, of which there are two then', () => {
      const reading = python(`${HEAD}import copy\nmodel = copy.deepcopy(model)\n${OPTIMIZER}${LOOP}`);
      assert.ok(!(reading.unread ?? []).some(({ kind }) => kind === 'refused'));
      assertStates(reading, { 'model.id': undefined });
    });

    it('take no loss for a model', () => {
      const reading = python(`${HEAD}criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(some(thing), lr=1e-4)
for batch in loader:
    loss = criterion(thing(batch), batch)
    loss.backward()\n`);
      assert.ok(!(reading.unread ?? []).some(({ kind }) => kind === 'refused'));
    });
  });

  describe('give an optimizer its weights in groups', () => {
    const given = (params: string, before = '') =>
      unread(`${HEAD}${before}optimizer = torch.optim.AdamW(${params}, lr=1e-4)\n${LOOP}`);
    const whole = (params: string, before = '') => assert.deepEqual(given(params, before), [], params);
    const partly = (params: string, before = '') =>
      assert.deepEqual(given(params, before), ['words params'], params);

    it('that leave out what is frozen alone', () => {
      whole('filter(lambda p: p.requires_grad, model.parameters())');
      whole('[p for p in model.parameters() if p.requires_grad]');
      whole('(w for w in model.parameters() if w.requires_grad)');
      whole('list(model.parameters())');
      whole('model.named_parameters()');
    });

    const named = (condition: string) => `[p for n, p in model.named_parameters() if ${condition}]`;
    const groups = (...conditions: readonly string[]) =>
      `[${conditions.map((one) => `{"params": ${named(one)}, "weight_decay": 0.1}`).join(', ')}]`;

    it('by what their names hold, whichever way round', () => {
      const decay = 'any(nd in n for nd in no_decay)';
      const names = 'no_decay = ["bias", "LayerNorm.weight"]\n';
      whole(groups(`not ${decay}`, decay), names);
      whole(groups(`not ${decay} and p.requires_grad`, `p.requires_grad and ${decay}`), names);
      whole(
        groups('"bias" in n', '"bias" not in n and "head" in n', '"bias" not in n and not ("head" in n)'),
      );
      partly(groups(decay), names);
      partly(groups('"bias" in n', '"head" not in n and "bias" not in n'));
    });

    it('by lists of names or of weights that were put together before', () => {
      const lists = 'decay = [n for n, p in model.named_parameters() if "bias" not in n]\n';
      whole(groups('n in decay', 'n not in decay'), lists);
      whole(groups('n in decay', '"bias" in n'), lists);
      partly(groups('n in decay'), lists);
      const head = 'head = list(map(id, model.lm_head.parameters()))\n';
      const rest = 'rest = filter(lambda p: id(p) not in head, model.parameters())\n';
      whole('[{"params": model.lm_head.parameters()}, {"params": rest}]', head + rest);
      partly('[{"params": rest}]', head + rest);
      partly('model.lm_head.parameters()');
    });

    it('by their dimensions', () => {
      const named = 'every = {n: p for n, p in model.named_parameters()}\n';
      const all = 'every = {n: p for n, p in every.items() if p.requires_grad}\n';
      const split = (least: string) =>
        `wide = [p for n, p in every.items() if p.dim() >= 2]\nnarrow = [p for n, p in every.items() if p.dim() < ${least}]\n`;
      const both = '[{"params": wide}, {"params": narrow}]';
      whole(both, named + all + split('2'));
      partly(both, named + all + split('1'));
    });

    it('of two models, or of what nobody sees', () => {
      const other = 'other = AutoModelForCausalLM.from_pretrained("gpt2")\n';
      assert.ok(
        given('[{"params": model.parameters()}, {"params": other.parameters()}]', other).includes(
          'words params',
        ),
      );
      partly('[{"params": model.parameters()}, {"params": some(model)}]');
    });

    it('of adapters by their names, and of the head beside them', () => {
      const adapted = (config: string) =>
        `from peft import ${config.split('(')[0]}, TaskType, get_peft_model\nmodel = get_peft_model(model, ${config})\n`;
      whole(groups('"lora_" in n'), adapted('LoraConfig(r=8)'));
      partly(groups('"lora_A" in n'), adapted('LoraConfig(r=8)'));
      partly(groups('"lora_" in n'), adapted('LoraConfig(r=8, task_type=TaskType.SEQ_CLS)'));
      whole(groups('"lora_" in n', '"score" in n'), adapted('LoraConfig(r=8, task_type=TaskType.SEQ_CLS)'));
      whole(groups('"vera_lambda_" in n'), adapted('VeraConfig(r=8, target_modules=["c_attn"])'));
    });
  });

  describe('plugins of Accelerate', () => {
    const planned = (plugin: string, key: string, more = '') =>
      python(`${HEAD}from accelerate import Accelerator, DeepSpeedPlugin, FullyShardedDataParallelPlugin
from torch.distributed.fsdp import ShardingStrategy
${more}accelerator = Accelerator(mixed_precision="bf16", ${key}=${plugin})
${OPTIMIZER}model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
${LOOP.replace('loss.backward()', 'accelerator.backward(loss)')}`);

    it('of DeepSpeed are read as its config', () => {
      assertStates(
        planned(
          'DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=4, offload_optimizer_device="cpu")',
          'deepspeed_plugin',
        ),
        {
          'parallel.data': 'zero file',
          'zero.stage': '3 file',
          'offload.optimizer': 'cpu file',
          'batch.accumulation': '4 file',
          'batch.micro': '8 file',
          'precision.scheme': 'deepspeed file',
        },
      );
      assertStates(
        planned('DeepSpeedPlugin(hf_ds_config={"zero_optimization": {"stage": 2}})', 'deepspeed_plugin'),
        { 'zero.stage': '2 file' },
      );
      const named = planned('DeepSpeedPlugin(hf_ds_config="ds.json")', 'deepspeed_plugin');
      assert.deepEqual(
        named.links.map(({ path }) => path),
        ['ds.json'],
      );
    });

    it('of FSDP likewise, with members of enumerations by their names', () => {
      const reading = planned(
        'FullyShardedDataParallelPlugin(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, auto_wrap_policy="transformer_based_wrap", cpu_offload=True)',
        'fsdp_plugin',
      );
      assertStates(reading, {
        'parallel.data': 'fsdp1 file',
        'fsdp.strategy': 'grad-op file',
        'offload.parameters': 'cpu file',
        'precision.scheme': 'fsdp file',
      });
      assertStates(planned('FullyShardedDataParallelPlugin(fsdp_version=2)', 'fsdp_plugin'), {
        'parallel.data': 'fsdp2 file',
      });
    });

    it('take policies of PyTorch for precision and for wrapping', () => {
      const imports = `from functools import partial
from torch.distributed.fsdp import MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers.models.bert import BertLayer
POLICY = partial(transformer_auto_wrap_policy, transformer_layer_cls={BertLayer})
`;
      const mixed = 'MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)';
      const plugin = `FullyShardedDataParallelPlugin(auto_wrap_policy=POLICY, mixed_precision_policy=${mixed})`;
      const reading = planned(plugin, 'fsdp_plugin', imports);
      assertStates(reading, {
        'precision.compute': 'bf16 file',
        'precision.reduce': 'fp32 file',
        'fsdp.wrap': 'layer inferred',
      });
      assert.deepEqual(
        (reading.unread ?? []).filter(({ text }) => /policy/.test(text)),
        [],
      );
    });

    it('recompute activations where they are asked to', () => {
      const plugin = 'FullyShardedDataParallelPlugin(fsdp_version=2, activation_checkpointing=True)';
      assertStates(planned(plugin, 'fsdp_plugin'), { 'activations.checkpointing': 'full file' });
    });

    it('split samples and layers by the sizes that they are given', () => {
      const sized = (sizes: string) => planned(`ParallelismConfig(${sizes})`, 'parallelism_config', IMPORT);
      const IMPORT = 'from accelerate import ParallelismConfig\n';
      const stated = sized('tp_size=2, cp_size=4');
      assertStates(stated, { 'parallel.tensor': '2 file', 'parallel.context': '4 file' });
      assert.equal(stated.unread, undefined);
      const fields = (reading: ReturnType<typeof python>) =>
        reading.unread?.flatMap((one) => one.fields ?? []);
      assert.deepEqual(fields(sized('tp_size=choose()')), ['parallel.tensor']);
      // Without sizes they come from the environment.
      assert.deepEqual(fields(sized('')), ['parallel.data']);
    });

    it('leave to an open stage of DeepSpeed what hangs on it', () => {
      const plugin = (stage: string) =>
        planned(
          `DeepSpeedPlugin(zero_stage=${stage})`,
          'deepspeed_plugin',
          'from accelerate import DeepSpeedPlugin\n',
        );
      assertStates(plugin('2'), { 'zero.overlapCommunication': 'false default' });
      assertStates(plugin('choose()'), { 'zero.overlapCommunication': undefined });
    });

    it('in fp8 are not estimated, and those that compile are compiled', () => {
      const IMPORT = 'from accelerate.utils import AORecipeKwargs, TorchDynamoPlugin, ProfileKwargs\n';
      const handlers = (list: string) =>
        planned(list, 'kwargs_handlers', IMPORT).unread?.flatMap((one) => one.fields);
      assert.deepEqual(handlers('[AORecipeKwargs()]'), ['precision.compute']);
      assert.equal(handlers('[ProfileKwargs()]'), undefined);
      assertStates(planned('TorchDynamoPlugin(backend="inductor")', 'dynamo_plugin', IMPORT), {
        'kernels.compile': 'true file',
      });
    });

    it('in fp8 by their own word are not estimated, whose products fail on older GPUs', () => {
      const text = `${HEAD}${OPTIMIZER}from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp8")
model, optimizer = accelerator.prepare(model, optimizer)
for batch in loader:
    accelerator.backward(model(**batch).loss)
    optimizer.step()
`;
      const about = (gpu: string) =>
        python(text, { 'hardware.gpu': gpu }).unread?.map(({ message }) => message);
      assert.match(
        about('A100-SXM4-80GB')?.join() ?? '',
        /^A100\S* has no fp8, which needs compute capability 8\.9: .* fp16/,
      );
      assert.deepEqual(about('H100-SXM5-80GB'), ['What `mixed_precision` changes is not counted.']);
    });

    it('are those of the accelerator that asks for gradients', () => {
      const text = `${HEAD}from accelerate import Accelerator
def prepared(accelerator=None):
    if accelerator is None:
        accelerator = Accelerator()
    return accelerator.prepare(model)
own = Accelerator(mixed_precision="bf16")
model = prepared(own)
if elsewhere:
    other = Accelerator(mixed_precision="fp16")
${OPTIMIZER}${LOOP.replace('loss.backward()', 'own.backward(loss)')}`;
      assertStates(python(text), { 'precision.compute': 'bf16 file', 'model.id': 'gpt2 file' });
    });

    it('are not those of an engine that another loop has', () => {
      const engine = `import deepspeed
${HEAD}engine, _, _, _ = deepspeed.initialize(model=model, config={"zero_optimization": {"stage": 3}})
for batch in loader:
    engine.backward(engine(**batch).loss)
from accelerate import Accelerator
accelerator = Accelerator()
${OPTIMIZER}${LOOP.replace('loss.backward()', 'accelerator.backward(loss)')}`;
      assertStates(python(engine), { 'zero.stage': undefined, 'parallel.data': 'ddp default' });
    });

    it('that only the running script knows leave open what they decide', () => {
      const stage = planned('DeepSpeedPlugin(zero_stage=choose())', 'deepspeed_plugin');
      assert.deepEqual(
        stage.unread?.flatMap(({ fields = [] }) => fields),
        ['zero.stage'],
      );
      const whole = planned('make()', 'deepspeed_plugin');
      assert.deepEqual(
        whole.unread?.flatMap(({ fields = [] }) => fields),
        ['parallel.data'],
      );
    });
  });

  it('know optimizers by their package, and how torch steps them', () => {
    const withOptimizer = (call: string, more = '') => python(`${HEAD}${more}optimizer = ${call}\n${LOOP}`);
    assertStates(withOptimizer('torch.optim.AdamW(model.parameters(), fused=True)'), {
      'optimizer.implementation': 'fused file',
    });
    assertStates(withOptimizer('torch.optim.SGD(model.parameters(), lr=1, momentum=0.9)'), {
      'optimizer.name': 'sgd-momentum file',
    });
    assertStates(withOptimizer('bnb.optim.AdamW8bit(model.parameters())', 'import bitsandbytes as bnb\n'), {
      'optimizer.name': 'adamw-8bit file',
    });
    assert.deepEqual(unread(`${HEAD}optimizer = torch.optim.Novel(model.parameters())\n${LOOP}`), [
      'value torch.Novel',
    ]);
  });

  it('take the type of autocast, fp16 where none is stated', () => {
    const cast = (call: string) =>
      python(`${HEAD}${OPTIMIZER}for batch in loader:
    with ${call}:
        loss = model(**batch).loss
    loss.backward()
    optimizer.step()
`);
    assertStates(cast('torch.autocast("cuda", dtype=torch.bfloat16)'), {
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
    });
    assertStates(cast('torch.cuda.amp.autocast()'), { 'precision.compute': 'fp16 default' });
    assertStates(cast('torch.autocast("cuda", enabled=False)'), { 'precision.scheme': 'native default' });
  });

  it('take texts that stand in the code for no longer than their bytes, and count what repeats them', () => {
    const of = (batch: string, step: string) =>
      python(`import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = torch.optim.AdamW(model.parameters())
${batch}
${step}`);
    const once = 'loss = model(**batch).loss\nloss.backward()\noptimizer.step()\n';
    const texts =
      'batch = tokenizer(["a text of 20 letters", "short"], padding=True, truncation=True, return_tensors="pt")';
    assertStates(of(texts, once), { 'batch.micro': '2 file', 'batch.sequence': '23 inferred' });
    const cut = texts.replace('truncation', 'max_length=8, truncation');
    assertStates(of(cut, once), { 'batch.sequence': '8 inferred' });
    const filled = texts.replace('padding=True', 'padding="max_length", max_length=64');
    assertStates(of(filled, once), { 'batch.sequence': '64 file' });
    const repeated = `SIZE = 4
one = tokenizer("Paris is a city.", return_tensors="pt")
batch = {k: v.repeat(SIZE, 1).to("cuda") for k, v in one.items()}
batch["labels"] = batch["input_ids"].clone()`;
    const steps =
      'for step in range(20):\n    loss = model(**batch).loss\n    loss.backward()\n    optimizer.step()\n';
    assertStates(of(repeated, steps), { 'batch.micro': '4 file', 'batch.sequence': '19 inferred' });
    assertStates(of(repeated.replace('SIZE, 1', 'SIZE, 2'), steps), { 'batch.micro': undefined });
  });

  it('follow a loss that is computed of its answers back to the model', () => {
    const of = (loss: string, more = '') =>
      python(`${HEAD}from peft import PveraConfig, get_peft_model
${more}head = torch.nn.Linear(8, 2)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(list(model.parameters()) + list(head.parameters()), lr=1e-4)
for batch in loader:
    loss = ${loss}
    loss.backward()
    optimizer.step()
`);
    const itself = 'words loss';
    for (const loss of [
      'criterion(model(batch["x"]).logits, batch["y"])',
      'criterion(head(model(batch["x"])[0]), y)',
    ]) {
      assertStates(of(loss), { 'model.id': 'gpt2 file' });
      assert.ok((of(loss).unread ?? []).some(({ kind, text }) => `${kind} ${text}` === itself));
    }
    const own = of('model(**batch).loss');
    assertStates(own, { 'model.id': 'gpt2 file' });
    assert.ok(!(own.unread ?? []).some(({ kind, text }) => `${kind} ${text}` === itself));
    // Each kind of adapters that is not estimated is the reason.
    const adapted = of(
      'criterion(model(batch["x"]).logits, y)',
      'model = get_peft_model(model, PveraConfig(r=8))\n',
    );
    assert.match(
      (adapted.unread ?? []).map(({ message }) => message).join(),
      /Adapters of `PveraConfig` are not estimated/,
    );
  });

  it('step after each batch where the count of batches to accumulate is 1', () => {
    const of = (before: string, condition: string) =>
      python(`${HEAD}${OPTIMIZER}from accelerate import Accelerator, DistributedType
accelerator = Accelerator()
${before}
for i, batch in enumerate(loader):
    loss = model(**batch).loss
    loss.backward()
    if ${condition}:
        optimizer.step()
`);
    const most = (size: number) =>
      `MOST = 16\nsize = ${size}\nevery = 1\nif size > MOST and accelerator.distributed_type != DistributedType.TPU:\n    every = size // MOST`;
    for (const condition of ['i % every == 0', '(i + 1) % every == 0 or i == len(loader) - 1']) {
      const once = of(most(16), condition);
      assertStates(once, { 'batch.accumulation': undefined });
      assert.equal(once.unread, undefined, condition);
      assertStates(of(most(64), condition), { 'batch.accumulation': '2 inferred' });
    }
    // A fraction is asked for by a number that stands there.
    assertStates(of('', 'i % 1 == 0'), { 'batch.accumulation': '2 inferred' });
  });

  it('tell that steps are accumulated where a condition decides about them', () => {
    const text = `${HEAD}${OPTIMIZER}for i, batch in enumerate(loader):
    loss = model(**batch).loss / 4
    loss.backward()
    if (i + 1) % 4 == rest():
        optimizer.step()
`;
    const counted = text.replace('rest()', '0');
    for (const [one, rounds] of [
      [counted, '4 file'],
      [counted.replace('% 4', '% every').replace('for i', 'every = 8\nfor i'), '8 file'],
      [
        counted.replace('    if (i + 1) % 4 == 0', '    if (i + 1) % 4 == 0 or i + 1 == len(loader)'),
        '4 file',
      ],
      [
        counted.replace('    if (i + 1) % 4 == 0', '    if (i + 1) % 4 != 0:\n        continue\n    if True'),
        '4 file',
      ],
      [
        counted.replace('% 4', '% accumulation_steps').replace('for i', 'accumulation_steps = 1\nfor i'),
        '1 file',
      ],
    ] as const) {
      assertStates(python(one), { 'batch.accumulation': rounds });
      assert.deepEqual(unread(one), [], one);
    }
    const some = text.replace('(i + 1) % 4 == rest()', 'rest()');
    assertStates(python(some), { 'batch.accumulation': '2 inferred' });
    assert.deepEqual(unread(some), ['words step']);
    const scaled = some
      .replace('loss.backward()', 'scaler.scale(loss).backward()')
      .replace('optimizer.step()', 'scaler.step(optimizer)');
    assert.deepEqual(unread(`${scaled}`.replace('for i,', 'scaler = torch.amp.GradScaler()\nfor i,')), [
      'words step',
    ]);
  });

  it('of Accelerate take its precision and its count, through what it prepares', () => {
    const reading = python(`from accelerate import Accelerator
${HEAD}${OPTIMIZER}accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        outputs = model(**batch)
        accelerator.backward(outputs.loss)
        optimizer.step()
`);
    assertStates(reading, {
      framework: 'accelerate default',
      'model.id': 'gpt2 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'batch.accumulation': '4 file',
      'parallel.data': 'ddp default',
    });
    assert.deepEqual([reading.unread, reading.problems], [undefined, []]);
  });

  it('of DeepSpeed take the dictionary, or name the file', () => {
    const engine = (config: string) => `import deepspeed
${HEAD}engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=${config})
for batch in loader:
    loss = engine(**batch).loss
    engine.backward(loss)
    engine.step()
`;
    const inside = python(
      engine(
        '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}, "bf16": {"enabled": True}, "optimizer": {"type": "AdamW"}}',
      ),
    );
    assertStates(inside, {
      'model.id': 'gpt2 file',
      'batch.micro': '2 file',
      'zero.stage': '2 file',
      'parallel.data': 'zero file',
      'precision.scheme': 'deepspeed file',
    });
    const file = python(engine('"ds.json"'));
    assert.deepEqual(
      file.links.map(({ path, role }) => [path, role]),
      [['ds.json', 'deepspeed']],
    );
    assert.deepEqual(unread(engine('make_config()')), ['value config']);
  });

  it('of PyTorch know replicas and both kinds of FSDP', () => {
    const wrapped = (imports: string, wrap: string) =>
      python(`${imports}\n${HEAD}${wrap}\n${OPTIMIZER}${LOOP}`);
    assertStates(
      wrapped('from torch.nn.parallel import DistributedDataParallel as DDP', 'model = DDP(model)'),
      { 'parallel.data': 'ddp file', 'model.id': 'gpt2 file' },
    );
    const first = wrapped(
      'from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy, CPUOffload',
      'model = FSDP(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, auto_wrap_policy=policy, cpu_offload=CPUOffload(offload_params=True), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))',
    );
    assertStates(first, {
      'parallel.data': 'fsdp1 file',
      'fsdp.strategy': 'grad-op file',
      'fsdp.wrap': 'layer inferred',
      'offload.parameters': 'cpu file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'fsdp file',
      'precision.reduce': 'fp32 file',
      'precision.masterWeights': 'bf16 default',
    });
    const second = wrapped(
      'from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy',
      'fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16), reshard_after_forward=False)',
    );
    assertStates(second, {
      'parallel.data': 'fsdp2 file',
      'fsdp.strategy': 'grad-op file',
      'precision.compute': 'bf16 file',
      'precision.masterWeights': 'bf16 default',
      'precision.reduce': undefined,
    });
    const policy = (torch: string, more = '') =>
      python(
        `from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
${HEAD}fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16${more}))\n${OPTIMIZER}${LOOP}`,
        { 'version.torch': torch, 'precision.weights': 'fp32' },
      );
    // Since 2.15 FSDP 2 reduces gradients in their own type where nobody states one.
    assertStates(policy('2.14.1'), { 'precision.reduce': undefined });
    assertStates(policy('2.15.0'), { 'precision.reduce': 'fp32 default' });
    assertStates(policy('2.15.0', ', reduce_dtype=torch.bfloat16'), { 'precision.reduce': 'bf16 file' });
    const smaller = wrapped(
      'from torch.distributed.fsdp import fully_shard',
      'fully_shard(model, reshard_after_forward=8)',
    );
    assertStates(smaller, {
      'parallel.data': 'fsdp2 file',
      'fsdp.reshardSize': '8 file',
      'fsdp.wrap': 'none default',
    });
    const layers = 'for layer in model.model.layers:\n    fully_shard(layer)\nfully_shard(model)';
    assertStates(wrapped('from torch.distributed.fsdp import fully_shard', layers), {
      'fsdp.wrap': 'layer inferred',
    });
    const late = python(`from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
${HEAD}${OPTIMIZER}sharded = FSDP(model)\n${LOOP}`);
    assertStates(late, { 'parallel.data': 'fsdp1 file' });
  });

  it('of PyTorch share a model over a mesh of two dimensions, and tell of splits that are not read', () => {
    const MESH =
      'from torch.distributed.device_mesh import init_device_mesh\nfrom torch.distributed.fsdp import fully_shard\n';
    const meshed = (mesh: string, more = '') =>
      python(`${MESH}${HEAD}mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("a", "b"))
${more}fully_shard(model, mesh=${mesh})\n${OPTIMIZER}${LOOP}`);
    assertStates(meshed('mesh'), { 'parallel.replicate': '2 file' });
    const fields = (reading: ReturnType<typeof python>) => reading.unread?.flatMap((one) => one.fields ?? []);
    assert.deepEqual(fields(meshed('mesh["b"]')), ['parallel.replicate']);
    const split = `from torch.distributed.tensor.parallel import parallelize_module
for layer in model.model.layers:
    parallelize_module(layer, mesh["a"], {})
`;
    assert.deepEqual(fields(meshed('mesh', split)), ['parallel.tensor']);
    assert.deepEqual(
      fields(python(`${HEAD.replace('torch_dtype=torch.bfloat16', 'tp_plan="auto"')}${OPTIMIZER}${LOOP}`)),
      ['parallel.tensor'],
    );
  });

  it('take the optimizer that PEFT makes of the model', () => {
    const by = (made: string) =>
      python(`from peft import LoraConfig, get_peft_model
from peft.optimizers import create_lorafa_optimizer, create_loraplus_optimizer
${HEAD}model = get_peft_model(model, LoraConfig(r=8))\noptimizer = ${made}\n${LOOP}`);
    const frozen = by('create_lorafa_optimizer(model=model, r=8, lora_alpha=16, lr=1e-4)');
    assertStates(frozen, { 'lora.frozenFirst': 'true file', 'optimizer.name': 'adamw file' });
    assert.equal(frozen.unread, undefined);
    const plus = by('create_loraplus_optimizer(model=model, optimizer_cls=torch.optim.SGD, lr=1e-4)');
    assertStates(plus, { 'optimizer.name': 'sgd file', 'model.id': 'gpt2 file' });
  });

  it('report another model that lies on the GPU beside the one that is trained', () => {
    const beside = (before: string, more = '') =>
      unread(`${HEAD}${before}\nmodel.to("cuda")\n${OPTIMIZER}${more}${LOOP}`).filter((one) =>
        one.includes('from_pretrained'),
      );
    const teacher = 'teacher = AutoModelForCausalLM.from_pretrained("acme/teacher")';
    const device = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")';
    assert.deepEqual(beside(`${teacher}.to(${device})`), ['script AutoModelForCausalLM.from_pretrained']);
    assert.deepEqual(beside(`${teacher}.to("cpu")`), []);
    // What came before under the same names is gone, its optimizer, too.
    const again = 'model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda")\n';
    assert.deepEqual(beside('', `${again}${OPTIMIZER}`), []);
  });

  it('recompute what PyTorch’s own functions wrap', () => {
    const wrapped = (wrap: string) =>
      python(`from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing, checkpoint_wrapper, CheckpointImpl
${HEAD}${wrap}\n${OPTIMIZER}${LOOP}`);
    const applied = 'apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Block))';
    assertStates(wrapped(applied), {
      'activations.checkpointing': 'full inferred',
      'activations.reentrant': 'false default',
    });
    const old =
      'apply_activation_checkpointing(model, checkpoint_wrapper_fn=partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT))';
    assertStates(wrapped(`from functools import partial\n${old}`), {
      'activations.reentrant': 'true default',
    });
    const some = wrapped(
      'for i, block in enumerate(model.transformer.h):\n    model.transformer.h[i] = checkpoint_wrapper(block)',
    );
    assert.ok(some.unread?.some(({ fields }) => fields?.includes('activations.checkpointing')));
  });

  it('name what may change the model that is trained', () => {
    const given = (imports: string, call: string) =>
      unread(`${imports}\n${HEAD}${call}\n${OPTIMIZER}${LOOP}`);
    assert.deepEqual(
      given(
        'from torchao.float8 import convert_to_float8_training',
        'convert_to_float8_training(model, config=c)',
      ),
      ['script float8.convert_to_float8_training'],
    );
    assert.deepEqual(
      given(
        'from torchao.quantization.qat import Int8DynActInt4WeightQATQuantizer as Q',
        'q = Q(groupsize=32)\nq.prepare(model)',
      ),
      ['script prepare'],
    );
    assert.deepEqual(given('import os', 'print(model)'), []);
    assert.deepEqual(
      given(
        'from transformers import DataCollatorForSeq2Seq',
        'DataCollatorForSeq2Seq(tokenizer, model=model)',
      ),
      [],
    );
  });

  it('of Fabric take strategy, GPUs and precision of it', () => {
    const fabric = (settings: string) =>
      python(`from lightning.fabric import Fabric
${HEAD}fabric = Fabric(${settings})
${OPTIMIZER}model, optimizer = fabric.setup(model, optimizer)
${LOOP.replace('loss.backward()', 'fabric.backward(loss)')}`);
    const sharded = fabric('devices=4, num_nodes=2, strategy="fsdp", precision="bf16-true"');
    assertStates(sharded, {
      'model.id': 'gpt2 file',
      'hardware.gpus': '8 file',
      'parallel.data': 'fsdp1 file',
      'fsdp.wrap': 'none default',
      'precision.weights': 'bf16 file',
    });
    assert.deepEqual([sharded.unread, sharded.problems], [undefined, []]);
    assertStates(fabric('strategy="deepspeed_stage_2", precision="16-mixed"'), {
      'zero.stage': '2 file',
      'precision.compute': 'fp16 file',
    });
    assert.deepEqual(
      fabric('plugins=[Quantized()]').unread?.flatMap(({ fields = [] }) => fields),
      ['quantization.kind', 'precision.compute', 'precision.weights'],
    );
  });

  it('train the model whose loss gradients are asked of', () => {
    const grouped = 'optimizer = torch.optim.AdamW([{"params": some(model), "lr": 1}])\n';
    const reading = python(`${HEAD}${grouped}${LOOP}for batch in loader:\n    tokenizer(batch)\n`);
    assertStates(reading, { 'model.id': 'gpt2 file' });
  });

  describe('around a model that Accelerate prepares where a condition holds', () => {
    const START = `from transformers import AutoModelForSequenceClassification
from peft import PromptTuningConfig, get_peft_model
from accelerate import Accelerator
accelerator = Accelerator()
${HEAD.replace(
  /^model = .*$/m,
  `model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
model = get_peft_model(model, PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=8))`,
)}`;
    const OWN = `optimizer = torch.optim.AdamW(params=model.parameters(), lr=1e-4)\n`;
    const STEPS = `for batch in loader:
    outputs = model(**batch)
    loss = outputs.loss
    accelerator.backward(loss)
    optimizer.step()
`;
    const ONE = 'if accelerator.state.fsdp_plugin is not None:\n    model = accelerator.prepare(model)\n';
    const BOTH = `if accelerator.state.fsdp_plugin is not None:
    loader, optimizer = accelerator.prepare(loader, optimizer)
else:
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
`;
    const ARMS = `if accelerator.state.fsdp_plugin is not None:
    model = accelerator.prepare(model)
    optimizer, loader = accelerator.prepare(optimizer, loader)
else:
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
`;
    for (const [name, text] of [
      ['in one arm', START + ONE + OWN + STEPS],
      ['in the other', START + OWN + BOTH + STEPS],
      ['in each', START + OWN + ARMS + STEPS],
      ['twice', START + ONE + OWN + BOTH + STEPS],
    ] as const)
      it(name, () => {
        const reading = python(text);
        assertStates(reading, {
          'model.id': 'bert-base-uncased file',
          'method.kind': 'lora file',
          'method.objective': 'classification inferred',
          'lora.virtualTokens': '8 file',
        });
        const unclear = (reading.unread ?? []).filter(({ text: words }) =>
          /^(loss|params|model)/.test(words),
        );
        assert.deepEqual(unclear, []);
        assert.deepEqual(
          reading.problems.map(({ code }) => code).filter((code) => code === 'python-model-unknown'),
          [],
        );
      });

    it('but not one of two models', () => {
      const two = `if accelerator.state.fsdp_plugin is not None:\n    model = AutoModelForCausalLM.from_pretrained("gpt2")\n`;
      assert.deepEqual(unread(START + two + OWN + STEPS).slice(0, 9), ['words loss', 'words params']);
    });
  });

  it('do not know what is trained where a method of the model freezes a part', () => {
    for (const method of [
      'freeze_feature_extractor',
      'freeze_feature_encoder',
      'freeze_base_model',
      'freeze',
    ]) {
      const reading = python(
        `${HEAD}if hasattr(model, "${method}"):\n    model.${method}()\n${OPTIMIZER}${LOOP}`,
      );
      assertStates(reading, { 'method.kind': undefined });
      assert.deepEqual(
        reading.unread?.map(({ text, fields }) => [text, fields]),
        [[method, ['method.kind']]],
      );
    }
  });

  it('on other devices than GPUs are not estimated', () => {
    assert.deepEqual(unread(`${HEAD}model.to("npu:1")\n${OPTIMIZER}${LOOP}`), ['refused npu:1']);
    assert.deepEqual(unread(`${HEAD}model.to("cuda:1")\n${OPTIMIZER}${LOOP}`), []);
  });

  it('know the loss of the model behind a scaler', () => {
    const scaled = LOOP.replace('loss.backward()', 'scaler.scale(loss).backward()');
    assert.deepEqual(unread(`${HEAD}${OPTIMIZER}scaler = torch.amp.GradScaler()\n${scaled}`), []);
  });

  it('takes the batch of a single step from the texts that are tokenized for it', () => {
    const step = `model = AutoModelForCausalLM.from_pretrained("gpt2")
batch = tokenizer(["a", "b", "c"], padding=True, return_tensors="pt")
${OPTIMIZER}loss = model(**batch).loss
loss.backward()
optimizer.step()
`;
    const imports = HEAD.slice(0, HEAD.indexOf('model ='));
    assertStates(python(imports + step), { 'batch.micro': '3 file' });
  });

  it('takes the last training where the one before it is over', () => {
    const model = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n';
    assert.deepEqual(unread(HEAD + OPTIMIZER + LOOP + model + OPTIMIZER + LOOP), []);
  });

  it('withhold what they cannot tell: two models, a loss of their own, a model that is nobody’s', () => {
    const two = `${HEAD}${OPTIMIZER}other = AutoModelForCausalLM.from_pretrained("gpt2")
second = torch.optim.AdamW(other.parameters())
${LOOP}`;
    assert.ok(unread(two).includes('refused optimizer'));
    const loss = `${HEAD}${OPTIMIZER}for batch in loader:
    out = model(**batch)
    loss = torch.nn.functional.cross_entropy(out.logits, batch["labels"])
    loss.backward()
    optimizer.step()
`;
    assert.deepEqual(unread(loss), ['words loss']);
    const own = python(`import torch, transformers
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
`);
    assert.equal(
      own.facts.some(({ field }) => field === 'model.id'),
      false,
    );
    assert.deepEqual(
      own.problems.map(({ code, severity }) => [code, severity]),
      [['python-model-unknown', 'information']],
    );
  });

  it('leave alone what asks for gradients and trains nothing', () => {
    assert.equal(mightBeTrainingConfig('train.py', 'import torch\nx.backward()\n'), false);
    const attack = `${HEAD}model(**batch).loss.backward()\n`;
    assert.equal(python(attack).joinsOnly, true);
  });
});
