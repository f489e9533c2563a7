import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SCRIPT = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True)
Trainer(model=model, args=args, train_dataset=None).train()
`;
const notebook = (text: string) =>
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [{ cell_type: 'code', id: 'a', metadata: {}, outputs: [], execution_count: null, source: text }],
  });

async function left(path: string, files: Readonly<Record<string, string>>, gpus: number) {
  const analysis = await smallWorkspace({
    'oomlint.yaml': `targets: {gpu: H100, gpus: ${gpus}}\n`,
    ...files,
  }).analyze(path);
  const replicas = (analysis.reading.unread ?? []).filter(({ fields }) => fields?.includes('parallel.data'));
  return { replicas: replicas.length, verdict: analysis.estimate?.verdict ?? 'unknown' };
}

describe('the Trainer in one process that sees several GPUs', () => {
  const started = (command: string) => ({ 'run.sh': `${command}\n`, 'train.py': SCRIPT });

  it('is not counted as replicas in processes of their own, in a launch', async () => {
    assert.equal((await left('run.sh', started('python train.py'), 4)).replicas, 1);
    assert.equal((await left('run.sh', started('python train.py'), 4)).verdict, 'unknown');
    assert.equal((await left('run.sh', started('python train.py'), 1)).replicas, 0);
    assert.equal((await left('run.sh', started('torchrun --nproc_per_node 4 train.py'), 4)).replicas, 0);
    assert.equal((await left('run.sh', started('accelerate launch train.py'), 4)).replicas, 0);
  });

  it('is not counted so in a notebook, unless that starts processes', async () => {
    const of = (text: string) => ({ 'train.ipynb': notebook(text) });
    assert.equal((await left('train.ipynb', of(SCRIPT), 2)).replicas, 1);
    assert.equal((await left('train.ipynb', of(SCRIPT), 1)).replicas, 0);
    const body = SCRIPT.replaceAll('\n', '\n    ');
    const launched = `from accelerate import notebook_launcher\ndef main():\n    ${body}\nnotebook_launcher(main, num_processes=2)\n`;
    assert.equal((await left('train.ipynb', of(launched), 2)).replicas, 0);
  });
});
