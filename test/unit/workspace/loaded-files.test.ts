import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import type { FieldPath } from '../../../server/src/run/fields';
import { ROOT, smallWorkspace } from './small-workspace';

/** A script that trains with what expressions give, after some lines. */
const script = (
  lines: string,
  batch: string,
  model = '"meta-llama/Llama-2-7b-hf"',
) => `# oomlint: gpu=H100-SXM5-80GB gpus=1
import torch
from pathlib import Path
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
${lines}
model = AutoModelForCausalLM.from_pretrained(${model}, torch_dtype=torch.bfloat16)
args = SFTConfig(per_device_train_batch_size=${batch}, max_length=2048, bf16=True)
SFTTrainer(model, args=args).train()
`;
const YAML = 'model:\n  name: Qwen/Qwen2.5-7B\ntrain:\n  batch: 8\n  lr: 1e-4\n';
const JSON_TEXT = '{"train": {"batch": 8}}';

const analysed = async (files: Readonly<Record<string, string>>, path = 'train.py') => {
  const { workspace, analyze } = smallWorkspace(files);
  return { workspace, analyze, analysis: await analyze(path) };
};
const batchOf = async (
  lines: string,
  batch: string,
  files: Readonly<Record<string, string>>,
  path = 'train.py',
) =>
  (await analysed({ [path]: script(lines, batch), ...files }, path)).analysis.resolved.values['batch.micro'];

describe('settings that a script loads from a file', () => {
  it('are those of the file, however it is opened and read', async () => {
    const forms: readonly [lines: string, files: Readonly<Record<string, string>>][] = [
      ['import yaml\nwith open("c.yaml") as f:\n    cfg = yaml.safe_load(f)', { 'c.yaml': YAML }],
      ['import yaml\ncfg = yaml.load(open("c.yaml"), Loader=yaml.FullLoader)', { 'c.yaml': YAML }],
      ['from yaml import safe_load\ncfg = safe_load(open("c.yaml").read())', { 'c.yaml': YAML }],
      ['import yaml\ncfg = yaml.safe_load(Path("c.yaml").read_text())', { 'c.yaml': YAML }],
      ['import yaml\nwith Path("c.yaml").open() as f:\n    cfg = yaml.safe_load(f)', { 'c.yaml': YAML }],
      ['import json\nwith open("c.json") as f:\n    cfg = json.load(f)', { 'c.json': JSON_TEXT }],
      ['import json\ncfg = json.loads(Path("c.json").read_text())', { 'c.json': JSON_TEXT }],
      [
        'import tomllib\nwith open("c.toml", "rb") as f:\n    cfg = tomllib.load(f)',
        { 'c.toml': '[train]\nbatch = 8\n' },
      ],
      ['from ruamel.yaml import YAML\ncfg = YAML().load(open("c.yaml"))', { 'c.yaml': YAML }],
      ['from omegaconf import OmegaConf\ncfg = OmegaConf.load("c.yaml")', { 'c.yaml': YAML }],
    ];
    for (const [lines, files] of forms)
      assert.equal(await batchOf(lines, 'cfg["train"]["batch"]', files), 8, lines);
  });

  it('are found where their path leads, from the script or from where it is started', async () => {
    const load = (path: string) => `import os, yaml\ncfg = yaml.safe_load(open(${path}))`;
    const places: readonly [path: string, file: string][] = [
      ['Path(__file__).resolve().parent.parent / "config" / "c.yaml"', 'config/c.yaml'],
      ['Path(__file__).parents[1] / "config/c.yaml"', 'config/c.yaml'],
      ['os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "config", "c.yaml")', 'config/c.yaml'],
      ['"config/c.yaml"', 'config/c.yaml'],
      ['"./c.yaml"', 'src/c.yaml'],
      ['Path.cwd() / "config" / "c.yaml"', 'config/c.yaml'],
      [`"${'/work'}/../c.yaml"`, 'none.yaml'],
    ];
    for (const [path, file] of places)
      assert.equal(
        await batchOf(load(path), 'cfg["train"]["batch"]', { [file]: YAML }, 'src/train.py'),
        file === 'none.yaml' ? undefined : 8,
        path,
      );
  });

  it('are those of none where two folders have a file of the name', async () => {
    const files = { 'src/c.yaml': YAML, 'c.yaml': YAML.replace('8', '4') };
    const load = 'import yaml\ncfg = yaml.safe_load(open("c.yaml"))';
    assert.equal(await batchOf(load, 'cfg["train"]["batch"]', files, 'src/train.py'), undefined);
  });

  it('are not known of a file that is missing, broken, or named by the command line alone', async () => {
    const load = 'import yaml\ncfg = yaml.safe_load(open("c.yaml"))';
    const read = (files: Readonly<Record<string, string>>, lines = load) =>
      batchOf(lines, 'cfg["train"]["batch"]', files);
    assert.equal(await read({}), undefined);
    assert.equal(await read({ 'c.yaml': 'train: {batch: 8\n' }), undefined);
    const asked = (more: string) =>
      `import argparse, yaml\np = argparse.ArgumentParser()\np.add_argument("--config", ${more})\na = p.parse_args()\ncfg = yaml.safe_load(open(a.config))`;
    assert.equal(await read({ 'c.yaml': YAML }, asked('required=True')), undefined);
    assert.equal(await read({ 'c.yaml': YAML }, asked('default="c.yaml"')), 8);
  });

  it('pass through functions, namespaces, `get` and changes in place', async () => {
    const load =
      'import yaml, types\nfrom omegaconf import OmegaConf\ndef load(path="c.yaml"):\n    with open(path) as f:\n        return yaml.safe_load(f)\n';
    const cases: readonly [lines: string, batch: string, expected: number | undefined][] = [
      ['cfg = load()', 'cfg.get("train", {}).get("batch", 1)', 8],
      ['cfg = load()', 'cfg["train"].get("micro", 3)', 3],
      ['cfg = types.SimpleNamespace(**load()["train"])', 'cfg.batch', 8],
      ['cfg = OmegaConf.create(load())', 'cfg.train.batch', 8],
      [
        'cfg = OmegaConf.merge(OmegaConf.create({"train": {"batch": 1, "more": 2}}), OmegaConf.load("c.yaml"))',
        'cfg.train.batch',
        8,
      ],
      ['cfg = load()\ncfg["train"]["batch"] = 2', 'cfg["train"]["batch"]', 2],
      ['cfg = load()\nt = cfg["train"]\nt["batch"] = 2', 'cfg["train"]["batch"]', 2],
      ['cfg = load()\ncfg["train"].update(batch=2)', 'cfg["train"]["batch"]', 2],
      ['cfg = load()\ncfg["train"].update(unknown())', 'cfg["train"]["batch"]', undefined],
      ['cfg = load()\ncfg.update(other={})', 'cfg["train"]["batch"]', 8],
      ['cfg = load()\nbatch = cfg["train"].pop("batch")', 'batch', 8],
      ['def patch(c):\n    c["train"]["batch"] = 2\ncfg = load()\npatch(cfg)', 'cfg["train"]["batch"]', 2],
      [
        'from project import apply_overrides\ncfg = load()\napply_overrides(cfg)',
        'cfg["train"]["batch"]',
        undefined,
      ],
      ['from project import log\ncfg = load()\nlog(cfg)', 'cfg["train"]["batch"]', 8],
      ['cfg = load()\ncfg[name()] = 1', 'cfg["train"]["batch"]', undefined],
      ['cfg = OmegaConf.load("c.yaml")\ncfg.train.batch = 2', 'cfg.train.batch', 2],
    ];
    for (const [lines, batch, expected] of cases)
      assert.equal(await batchOf(load + lines, batch, { 'c.yaml': YAML }), expected, `${lines}: ${batch}`);
  });

  it('stay known where conditions change other entries', async () => {
    const flags = Array.from(
      { length: 12 },
      (_, i) => `if asked(${i}):\n    cfg["train"]["o${i}"] = ${i}`,
    ).join('\n');
    const lines = `import yaml\nfrom m import asked\ncfg = yaml.safe_load(open("c.yaml"))\n${flags}`;
    assert.equal(await batchOf(lines, 'cfg["train"]["batch"]', { 'c.yaml': YAML }), 8);
    // Of one that a condition changes the worse is taken.
    const either = `${lines}\nif asked(12):\n    cfg["train"]["batch"] = 16`;
    assert.equal(await batchOf(either, 'cfg["train"]["batch"]', { 'c.yaml': YAML }), 16);
  });

  it('are passed on as arguments, with references filled in as OmegaConf does', async () => {
    const text = 'size: 4\nargs:\n  per_device_train_batch_size: ${size}\n  max_length: 512\n';
    const { analysis } = await analysed({
      'train.py': `# oomlint: gpu=H100-SXM5-80GB gpus=1
from omegaconf import OmegaConf
from trl import SFTConfig, SFTTrainer
cfg = OmegaConf.load("c.yaml")
SFTTrainer("Qwen/Qwen2.5-7B", args=SFTConfig(**cfg.args)).train()
`,
      'c.yaml': text,
    });
    assert.equal(analysis.resolved.values['batch.micro'], 4);
    assert.equal(analysis.resolved.values['batch.sequence'], 512);
  });

  it('come from the config that Hydra composes', async () => {
    const lines = `import hydra
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    args = SFTConfig(per_device_train_batch_size=cfg.train.batch, max_length=2048, bf16=True)
    SFTTrainer(cfg.model.name, args=args).train()
if __name__ == "__main__":
    main()
`;
    const { analysis } = await analysed(
      {
        'src/train.py': `# oomlint: gpu=H100-SXM5-80GB gpus=1\nfrom trl import SFTConfig, SFTTrainer\n${lines}`,
        'src/conf/config.yaml': 'defaults:\n  - train: small\n  - _self_\nmodel:\n  name: Qwen/Qwen2.5-7B\n',
        'src/conf/train/small.yaml': 'batch: 2\n',
      },
      'src/train.py',
    );
    const { values } = analysis.resolved;
    assert.deepEqual([values['model.id'], values['batch.micro']], ['Qwen/Qwen2.5-7B', 2]);
  });

  it('keep their place, and the file takes part in the run', async () => {
    const lines = 'import yaml\ncfg = yaml.safe_load(open("c.yaml"))';
    const { workspace, analyze, analysis } = await analysed({
      'train.py': script(lines, 'cfg["train"]["batch"]', 'cfg["model"]["name"]'),
      'c.yaml': YAML,
    });
    const { origins, values } = analysis.resolved;
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-7B');
    const place = (field: FieldPath) => [
      origins[field]?.location?.uri,
      origins[field]?.location?.range.start,
    ];
    assert.deepEqual(place('batch.micro'), [`${ROOT}/c.yaml`, { line: 3, character: 9 }]);
    assert.ok(workspace.dependents(`${ROOT}/c.yaml`).some((uri) => uri.endsWith('/train.py')));
    void analyze;
  });

  it('are not those of the parser where the file is laid over its arguments', async () => {
    const head =
      'import argparse, yaml\np = argparse.ArgumentParser()\np.add_argument("--batch", type=int, default=1)\n';
    const load = 'cfg = yaml.safe_load(open("c.yaml"))["train"]\n';
    const cases: readonly [lines: string, expected: number | undefined][] = [
      ['a = p.parse_args()', 1],
      ['p.set_defaults(**cfg)\na = p.parse_args()', 8],
      ['a = p.parse_args()\nvars(a).update(cfg)', 8],
      ['a = p.parse_args()\na.__dict__.update(cfg)', 8],
      ['a = p.parse_args()\nfor k, v in cfg.items():\n    setattr(a, k, v)', undefined],
      ['a = p.parse_args()\nsetattr(a, "batch", 8)', 8],
      ['p.set_defaults(**unknown())\na = p.parse_args()', undefined],
    ];
    for (const [lines, expected] of cases)
      assert.equal(await batchOf(head + load + lines, 'a.batch', { 'c.yaml': YAML }), expected, lines);
  });
});

describe("a script of one's own under the command that starts it", () => {
  const TRAIN = `import argparse, yaml, torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--lengths", type=int, nargs="+", default=[512])
    p.add_argument("--checkpoint", action="store_true")
    a = p.parse_args()
    with open(a.config) as f:
        cfg = yaml.safe_load(f)
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], torch_dtype=torch.bfloat16)
    args = SFTConfig(per_device_train_batch_size=a.batch_size, max_length=cfg["seq"], bf16=True,
        gradient_accumulation_steps=a.lengths[-1], gradient_checkpointing=a.checkpoint)
    SFTTrainer(model, args=args).train()
main()
`;
  const RUN =
    '#!/bin/bash\n#SBATCH --gres=gpu:h100:1\npython prepare.py --out data\npython train.py --config c.yaml --batch-size 16 --lengths 2 8\n';
  const FILES = {
    'train.py': TRAIN,
    'prepare.py': 'print("no training")\n',
    'run.sh': RUN,
    'c.yaml': 'model: Qwen/Qwen2.5-7B\nseq: 2048\n',
  };
  const FIELDS = [
    'model.id',
    'batch.micro',
    'batch.sequence',
    'batch.accumulation',
    'activations.checkpointing',
    'hardware.gpu',
  ] as const;

  it('is one run with it and with the settings that it names, seen from each of its files', async () => {
    const { analyze } = smallWorkspace(FILES);
    for (const path of ['run.sh', 'train.py', 'c.yaml']) {
      const { resolved, estimate, unread = [] } = await analyze(path);
      assert.deepEqual(
        FIELDS.map((field) => resolved.values[field]),
        ['Qwen/Qwen2.5-7B', 16, 2048, 8, 'none', 'H100-SXM5-80GB'],
        path,
      );
      assert.ok(estimate, path);
      assert.deepEqual(
        unread.filter(({ kind }) => kind === 'script' || kind === 'words'),
        [],
        path,
      );
      const uris = [resolved.origins['batch.micro'], resolved.origins['batch.sequence']].map(
        (origin) => origin?.location?.uri,
      );
      assert.deepEqual(uris, [`${ROOT}/run.sh`, `${ROOT}/c.yaml`], path);
    }
    const settings = await analyze('c.yaml');
    assert.equal(settings.resolved.origins['batch.sequence']?.kind, 'file');
  });

  it('takes what the command gives as its arguments take it, and leaves what nobody knows', async () => {
    const cases: readonly [argument: string, flag: string, expected: number | undefined][] = [
      ['p.add_argument("--n", type=int)', '--n 8', 8],
      ['p.add_argument("-n", "--number", dest="n", type=int)', '-n 8', 8],
      ['p.add_argument("--n", type=int, default=3)', '', 3],
      ['p.add_argument("n", type=int)', '8', 8],
      ['p.add_argument("--n", type=lambda x: int(x) * 2)', '--n 4', undefined],
      ['p.add_argument("--n", type=int, default=3)', '--n $SIZE', undefined],
      ['p.add_argument("--n", type=int)\np.set_defaults(n=2)', '--n 8', 8],
      ['p.add_argument("--n", type=int)\np.set_defaults(n=2)', '', 2],
    ];
    for (const [argument, flag, expected] of cases) {
      const lines = `import argparse\np = argparse.ArgumentParser()\n${argument}\na = p.parse_args()`;
      const { analyze } = smallWorkspace({
        'train.py': script(lines, 'a.n'),
        'run.sh': `python train.py ${flag}\n`,
      });
      const { resolved } = await analyze('run.sh');
      assert.equal(resolved.values['batch.micro'], expected, `${argument} ${flag}`);
    }
  });

  it('takes switches as Python takes their words', async () => {
    const both = 'action=argparse.BooleanOptionalAction';
    const cases: readonly [argument: string, flag: string, expected: boolean | undefined][] = [
      ['type=bool, default=False', '--on True', true],
      // Any word is one: `bool("False")`.
      ['type=bool, default=False', '--on False', true],
      ['type=bool, default=False', '', false],
      ['type=strtobool, default=False', '--on yes', true],
      ['type=strtobool, default=True', '--on 0', false],
      ['type=as_flag, default=False', '--on yes', undefined],
      [`${both}, default=False`, '--on', true],
      [`${both}, default=True`, '--no-on', false],
      [`${both}, default=True`, '--no-on --on', true],
      [`${both}, default=True`, '', true],
    ];
    for (const [argument, flag, expected] of cases) {
      const text = `import argparse
from distutils.util import strtobool
from trl import SFTConfig, SFTTrainer
p = argparse.ArgumentParser()
p.add_argument("--on", ${argument})
a = p.parse_args()
args = SFTConfig(per_device_train_batch_size=1, max_length=512, gradient_checkpointing=a.on)
SFTTrainer("Qwen/Qwen2.5-7B", args=args).train()
`;
      const { analyze } = smallWorkspace({ 'train.py': text, 'run.sh': `python train.py ${flag}\n` });
      const { resolved, unread = [] } = await analyze('run.sh');
      const checkpointing = resolved.values['activations.checkpointing'];
      const open = unread.some(({ fields }) => fields?.includes('activations.checkpointing'));
      assert.equal(open ? undefined : checkpointing === 'full', expected, `${argument} ${flag}`);
    }
  });

  it('is read as a function that is made a command, and as a module', async () => {
    const fire = `import fire\ndef train(batch: int = 4):\n    args = SFTConfig(per_device_train_batch_size=batch, max_length=512)\n    SFTTrainer("Qwen/Qwen2.5-7B", args=args).train()\nfire.Fire(train)\n`;
    const text = `from trl import SFTConfig, SFTTrainer\n${fire}`;
    const { analyze } = smallWorkspace({ 'pkg/train.py': text, 'run.sh': 'python -m pkg.train --batch 2\n' });
    assert.equal((await analyze('run.sh')).resolved.values['batch.micro'], 2);
    const alone = smallWorkspace({ 'train.py': text });
    const { reading, resolved } = await alone.analyze('train.py');
    assert.equal(resolved.values['batch.micro'], 4);
    assert.ok(reading.unread?.some(({ kind }) => kind === 'words'));
  });

  it('is read as literals of Python where Fire starts it', async () => {
    const text = `import fire
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
def train(batch: int = 4, targets: list = ["all"], more: dict = None):
    args = SFTConfig(per_device_train_batch_size=batch, max_length=512, **more)
    SFTTrainer("Qwen/Qwen2.5-7B", args=args, peft_config=LoraConfig(r=8, target_modules=targets)).train()
fire.Fire(train)
`;
    for (const targets of [
      `"['q_proj', 'v_proj']"`,
      '[q_proj,v_proj]',
      'q_proj,v_proj',
      `'("q_proj", "v_proj")'`,
    ]) {
      const run = `python train.py --batch 2 --targets ${targets} --more '{"gradient_accumulation_steps": 3}'\n`;
      const { resolved } = await smallWorkspace({ 'train.py': text, 'run.sh': run }).analyze('train.py');
      assert.deepEqual(resolved.values['lora.targets'], ['q_proj', 'v_proj'], targets);
      assert.equal(resolved.values['batch.accumulation'], 3);
    }
  });

  it('is read as flags that tyro, draccus, typer and click take', async () => {
    const train = (batch: string) =>
      `    args = SFTConfig(per_device_train_batch_size=${batch}, max_length=512)\n    SFTTrainer("Qwen/Qwen2.5-7B", args=args).train()\n`;
    const inner = '@dataclass\nclass Data:\n    batch: int = 4\n';
    const config = `from dataclasses import dataclass, field\n${inner}@dataclass\nclass C:\n    batch_size: int = 4\n    data: Data = field(default_factory=Data)\n`;
    const cases: readonly [text: string, flags: string, expected: number | undefined][] = [
      [
        `import tyro\n${config}def main(c):\n${train('c.batch_size')}main(tyro.cli(C))\n`,
        '--batch-size 2',
        2,
      ],
      [
        `import tyro\n${config}def main(c):\n${train('c.data.batch')}main(tyro.cli(C))\n`,
        '--data.batch 2',
        2,
      ],
      [`import tyro\n${config}def main(c):\n${train('c.batch_size')}main(tyro.cli(C))\n`, '', 4],
      [
        `import draccus\n${config}@draccus.wrap()\ndef main(c: C):\n${train('c.batch_size')}main()\n`,
        '--batch_size 2',
        2,
      ],
      [
        `import typer\ndef main(batch_size: int = 4):\n${train('batch_size')}typer.run(main)\n`,
        '--batch-size 2',
        2,
      ],
      [
        `import click\n@click.command()\n@click.option("--batch-size", type=int, default=4)\ndef main(batch_size):\n${train('batch_size')}main()\n`,
        '--batch-size 2',
        2,
      ],
      [
        `import click\n@click.command()\n@click.option("--batch-size", type=int)\ndef main(batch_size):\n${train('batch_size')}main()\n`,
        '--batch-size $N',
        undefined,
      ],
    ];
    for (const [text, flags, expected] of cases) {
      const { analyze } = smallWorkspace({
        'train.py': `from trl import SFTConfig, SFTTrainer\n${text}`,
        'run.sh': `python train.py ${flags}\n`,
      });
      const { resolved } = await analyze('run.sh');
      assert.equal(resolved.values['batch.micro'], expected, `${text} ${flags}`);
    }
  });

  it('is no run where the script trains nothing, or takes all of its arguments from elsewhere', async () => {
    const hf =
      'from transformers import HfArgumentParser, TrainingArguments, Trainer\n(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n';
    for (const text of ['print("hello")\n', hf]) {
      const { workspace } = smallWorkspace({ 'job.py': text, 'run.sh': 'python job.py --name x\n' });
      assert.equal(await workspace.analyze(`${ROOT}/run.sh`), undefined, text);
    }
  });

  it('is changed where a value stands: in the command and in the settings', async () => {
    const { workspace, analyze } = smallWorkspace(FILES);
    const analysis = await analyze('train.py');
    const plan = await planValues(analysis, { 'batch.micro': 4, 'batch.sequence': 1024 }, workspace);
    assert.deepEqual(plan.files.map(({ uri, after }) => [uri, after]).sort(), [
      [`${ROOT}/c.yaml`, FILES['c.yaml'].replace('2048', '1024')],
      [`${ROOT}/run.sh`, RUN.replace('16', '4')],
    ]);
    assert.deepEqual(plan.left, []);
  });
});
