import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const TRAIN = `from dataclasses import dataclass
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
parser = HfArgumentParser(TrainingArguments)
args, = parser.parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
Trainer(model=model, args=args, train_dataset=d).train()
`;
const COMMAND = `torchrun --nproc_per_node 4 train.py \\
  --output_dir out \\
  --per_device_train_batch_size 3 \\
  --gradient_accumulation_steps 5 \\
  --gradient_checkpointing \\
  --bf16 True \\
  --deepspeed ds.json
`;
const ZERO = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\n';
const PINNED = 'transformers==4.46.3\ntrl==0.12.2 # of that day\npeft==0.13.2\n';

/** Files of a project, and the one that is looked at. */
const PROJECTS: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  'a README': [
    'ds.json',
    { 'README.md': `# Run\n\n\`\`\`bash\n$ cd .\n$ ${COMMAND}\`\`\`\n`, 'train.py': TRAIN, 'ds.json': ZERO },
  ],
  'a README without prompts': [
    'train.py',
    { 'README.md': `\`\`\`\n${COMMAND}\`\`\`\n`, 'train.py': TRAIN, 'ds.json': ZERO },
  ],
  'a shell script': [
    'run.sh',
    { 'run.sh': `#!/bin/bash\nset -e\n\n${COMMAND}`, 'train.py': TRAIN, 'ds.json': ZERO },
  ],
  'a shell script that writes a config': [
    'run.sh',
    {
      'run.sh': `cat > ds.json <<'EOF'\n${ZERO}EOF\nif [ -f x ]; then\n  echo x\nfi\n${COMMAND}`,
      'train.py': TRAIN,
    },
  ],
  'a job of Slurm': [
    'run.slurm',
    {
      'run.slurm': `#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n\nMICRO=3\nsrun ${COMMAND}`,
      'train.py': TRAIN,
      'ds.json': ZERO,
    },
  ],
  'a Makefile': [
    'train.py',
    {
      Makefile: `BATCH = 3\n\ntrain: data\n\t${COMMAND.replace(' 3 ', ' $(BATCH) ').replaceAll('\n  ', '\n\t  ')}`,
      'train.py': TRAIN,
      'ds.json': ZERO,
    },
  ],
  requirements: [
    'run.sh',
    { 'run.sh': COMMAND, 'requirements.txt': PINNED, 'train.py': TRAIN, 'ds.json': ZERO },
  ],
  'a container': [
    'run.sh',
    {
      'run.sh': COMMAND,
      Dockerfile:
        'FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-devel\nRUN pip install \\\n  transformers==4.46.3 \\\n  peft==0.13.2\n',
      'train.py': TRAIN,
      'ds.json': ZERO,
    },
  ],
  'a script of Databricks': [
    'train.py',
    {
      'train.py': `# Databricks notebook source\n# MAGIC %pip install transformers==4.46.3\n${TRAIN.replace(/parser.*\nargs.*\n/, 'args = TrainingArguments("o", per_device_train_batch_size=3)\n')}`,
    },
  ],
  'a recipe in YAML': [
    'a.yml',
    {
      'a.yml':
        'base_model: Qwen/Qwen2.5-0.5B\nadapter: lora\nlora_r: 8\nmicro_batch_size: 3\nsequence_len: 512\n',
    },
  ],
};

describe('lines that end in a carriage return, too', () => {
  for (const [name, [file, files]] of Object.entries(PROJECTS)) {
    it(`of ${name} state the same run`, async () => {
      const of = async (ending: string) => {
        const texts = Object.entries(files).map(
          ([path, text]) => [path, text.replaceAll('\n', ending)] as const,
        );
        const { problems, resolved } = await smallWorkspace(Object.fromEntries(texts)).analyze(file);
        return { codes: problems.map(({ code, message }) => `${code} ${message}`), values: resolved.values };
      };
      const plain = await of('\n');
      assert.equal(plain.values['batch.micro'], 3);
      assert.deepEqual(await of('\r\n'), plain);
    });
  }
});
