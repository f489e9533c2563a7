import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { Reading } from '../../../server/src/dialects/dialect';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read } from './reading';

const python = (text: string) => read('python', 'file:///train.py', text);

/** Whether a reading is of a run that takes no GPU memory. */
const isRefused = ({ unread = [] }: Reading): boolean =>
  unread.some(({ kind, message }) => kind === 'refused' && /CPUs/.test(message));

const loop = (accelerator: string) => `import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM
accelerator = Accelerator(${accelerator})
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
`;
const trainer = (args: string) => `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
Trainer(model, TrainingArguments("out"${args})).train()
`;

describe('runs on CPUs', () => {
  before(loadPython);

  it('are not estimated where a script asks for them', () => {
    assert.ok(isRefused(python(loop('cpu=True'))));
    assert.ok(isRefused(python(trainer(', use_cpu=True'))));
    assert.ok(isRefused(python(trainer(', no_cuda=True'))));
  });

  it('are not taken for such where it does not', () => {
    assert.ok(!isRefused(python(loop('cpu=False'))));
    assert.ok(!isRefused(python(loop(''))));
    assert.ok(!isRefused(python(trainer(', use_cpu=False'))));
  });

  it('are those of machines without a GPU, and of nobody where the text does not settle it', () => {
    const import_ = 'import torch\n';
    for (const asked of ['torch.cuda.device_count() == 0', '1 > torch.cuda.device_count()']) {
      const first = python(`${import_}cpu = ${asked}\n${trainer(', use_cpu=cpu, bf16=not cpu')}`);
      assert.ok(!isRefused(first), asked);
      assertStates(first, { 'precision.compute': 'bf16 file' });
    }
    const count =
      'count = torch.cuda.device_count()\nif count > 0:\n    cpu = False\nelse:\n    cpu = True\n';
    assert.ok(!isRefused(python(`${import_}${count}${trainer(', no_cuda=cpu')}`)));
    const more = `${import_}cpu = True\nif torch.cuda.device_count() > 1:\n    cpu = False\n`;
    const open = python(`${more}${trainer(', use_cpu=cpu')}`);
    assert.ok(!isRefused(open));
    assert.ok(!isRefused(python(`${more}${loop('cpu=cpu')}`)));
  });

  it('are not estimated where the launch or its config asks for them', () => {
    const launch = (flags: string) =>
      read(
        'launch-script',
        'file:///run.sh',
        `accelerate launch ${flags} train.py --model_name_or_path Qwen/Qwen2.5-0.5B\n`,
      );
    assert.ok(isRefused(launch('--cpu')));
    assert.equal(launch('--cpu').unread?.filter(({ kind }) => kind === 'refused').length, 1);
    assert.ok(!isRefused(launch('--multi_gpu')));
    const config = (cpu: boolean) =>
      read('accelerate', 'file:///a.yaml', `distributed_type: 'NO'\nnum_processes: 1\nuse_cpu: ${cpu}\n`);
    assert.ok(isRefused(config(true)));
    assert.ok(!isRefused(config(false)));
  });

  it('are on GPUs where a config asks for CPUs and starts several processes, which never see that', () => {
    for (const type of ['MULTI_GPU', 'FSDP', 'DEEPSPEED', 'MEGATRON_LM']) {
      const found = read(
        'accelerate',
        'file:///a.yaml',
        `compute_environment: LOCAL_MACHINE\ndistributed_type: ${type}\nnum_processes: 4\nuse_cpu: true\n`,
      );
      assert.ok(!isRefused(found), type);
      assert.ok(!found.problems.some(({ code }) => code === 'not-estimated'), type);
      assert.equal(found.facts.find(({ field }) => field === 'hardware.gpus')?.value, 4, type);
    }
    const several = 'distributed_type: MULTI_CPU\nnum_processes: 4\nuse_cpu: true\n';
    assert.ok(isRefused(read('accelerate', 'file:///a.yaml', several)));
  });

  it('copy the model to no GPU by a default of the Trainer, but where it is stated', async () => {
    const copies = async (files: Readonly<Record<string, string>>, path: string) => {
      const { resolved } = await smallWorkspace(files).analyze(path);
      const origin = resolved.origins['parallel.data'];
      return [resolved.values['parallel.data'], origin?.note ?? origin?.kind];
    };
    const none = ['none', 'Oomlint default'];
    assert.deepEqual(await copies({ 'train.py': trainer(', use_cpu=True') }, 'train.py'), none);
    const launch = { 'train.py': trainer(''), 'run.sh': 'accelerate launch --cpu train.py\n' };
    assert.deepEqual(await copies(launch, 'run.sh'), none);
    const note = 'the Trainer replicates the model on every GPU unless told otherwise';
    assert.deepEqual(await copies({ 'train.py': trainer('') }, 'train.py'), ['ddp', note]);
  });
});
