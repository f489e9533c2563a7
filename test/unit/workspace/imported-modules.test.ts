import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import type { FieldPath } from '../../../server/src/run/fields';
import { ROOT, smallWorkspace } from './small-workspace';

const HEAD = `# oomlint: gpu=H100-SXM5-80GB gpus=1
import torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
`;
/** A script that trains with a batch and a model that expressions give. */
const script = (imports: string, batch: string, model = '"meta-llama/Llama-2-7b-hf"') => `${HEAD}${imports}
model = AutoModelForCausalLM.from_pretrained(${model}, torch_dtype=torch.bfloat16)
args = SFTConfig(per_device_train_batch_size=${batch}, max_length=2048, bf16=True)
SFTTrainer(model, args=args).train()
`;

const analysed = async (files: Readonly<Record<string, string>>, path = 'train.py') => {
  const { workspace, analyze } = smallWorkspace(files);
  const analysis = await analyze(path);
  return { workspace, analyze, analysis };
};
const batchOf = async (files: Readonly<Record<string, string>>, path?: string) =>
  (await analysed(files, path)).analysis.resolved.values['batch.micro'];

describe('values that a script imports from modules of the workspace', () => {
  const CONFIG = 'MODEL_ID = "Qwen/Qwen2.5-7B"\nbatch = 4\nBATCH = batch * 2\n';

  it('are those that the module binds, in each form of an import', async () => {
    const forms: [imports: string, batch: string, files: Readonly<Record<string, string>>][] = [
      ['from config import BATCH', 'BATCH', { 'config.py': CONFIG }],
      ['from config import BATCH as B', 'B', { 'config.py': CONFIG }],
      ['from config import *', 'BATCH', { 'config.py': CONFIG }],
      ['import config', 'config.BATCH', { 'config.py': CONFIG }],
      ['import config as c', 'c.BATCH', { 'config.py': CONFIG }],
      ['import config', 'getattr(config, "BATCH")', { 'config.py': CONFIG }],
      ['from pkg.config import BATCH', 'BATCH', { 'pkg/config.py': CONFIG }],
      ['from pkg import config', 'config.BATCH', { 'pkg/config.py': CONFIG }],
      ['from pkg import config', 'config.BATCH', { 'pkg/config.py': CONFIG, 'pkg/__init__.py': '' }],
      ['import pkg.config', 'pkg.config.BATCH', { 'pkg/config.py': CONFIG }],
      ['import pkg.config as c', 'c.BATCH', { 'pkg/config.py': CONFIG }],
      [
        'from pkg import BATCH',
        'BATCH',
        { 'pkg/__init__.py': 'from .config import BATCH', 'pkg/config.py': CONFIG },
      ],
      ['from .settings import ARGS', 'ARGS["batch"]', { 'settings.py': 'ARGS = {"batch": 8}' }],
      ['from . import settings', 'settings.BATCH', { 'settings.py': CONFIG }],
    ];
    for (const [imports, batch, files] of forms)
      assert.equal(
        await batchOf({ 'train.py': script(imports, batch), ...files }),
        8,
        `${imports}: ${batch}`,
      );
  });

  it('are constants of a class that has nothing else', async () => {
    const CLASS = 'class CFG:\n    batch = 8\n';
    const given = (
      imports: string,
      config: string,
      more: Readonly<Record<string, string>> = {},
      batch = 'CFG.batch',
    ) => batchOf({ 'train.py': script(imports, batch), 'config.py': config, ...more });
    assert.equal(await given('from config import CFG', CLASS), 8);
    assert.equal(await given('import config', CLASS, {}, 'config.CFG.batch'), 8);
    assert.equal(await given('from config import CFG\nCFG.batch = 2', CLASS), 2);
    assert.equal(await given('from config import CFG', `${CLASS}CFG.batch = 2\n`), 2);
    assert.equal(await given('from config import CFG\ncfg = CFG()', CLASS, {}, 'cfg.batch'), 8);
    // What its functions do to it, or those of others, is followed where they are called, else not known.
    const method = `${CLASS}    def __init__(self):\n        self.batch = 2\n`;
    assert.equal(await given('from config import CFG\ncfg = CFG()', method, {}, 'cfg.batch'), 2);
    const mended = { 'mend.py': 'from config import CFG\ndef mend():\n    CFG.batch = 2\n' };
    const mending = 'from config import CFG\nfrom mend import mend';
    assert.equal(await given(`${mending}\nmend()`, CLASS, mended), 2);
    assert.equal(await given(mending, CLASS, mended), undefined);
    const other = { 'mend.py': 'from config import CFG\nCFG.batch = 2\n' };
    assert.equal(await given('import mend\nfrom config import CFG', CLASS, other), 2);
    const based = 'from elsewhere import Base\nclass CFG(Base):\n    batch = 8\n';
    assert.equal(await given('from config import CFG', based), undefined);
  });

  it('come from beside the script, else from the folder of the workspace', async () => {
    const nested = script('from src.config import BATCH', 'BATCH');
    assert.equal(await batchOf({ 'src/train.py': nested, 'src/config.py': CONFIG }, 'src/train.py'), 8);
    const beside = script('from config import BATCH', 'BATCH');
    const files = { 'src/train.py': beside, 'config.py': 'BATCH = 1', 'src/config.py': CONFIG };
    assert.equal(await batchOf(files, 'src/train.py'), 8);
    const above = script('from ..config import BATCH', 'BATCH');
    assert.equal(await batchOf({ 'a/b/train.py': above, 'a/config.py': CONFIG }, 'a/b/train.py'), 8);
  });

  it('keep their place, and the file takes part in the run', async () => {
    const { analysis } = await analysed({
      'train.py': script('from config import MODEL_ID, MICRO', 'MICRO', 'MODEL_ID'),
      'config.py': `${CONFIG}MICRO = 2\n`,
    });
    const { origins, values } = analysis.resolved;
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-7B');
    const place = (field: FieldPath) => [
      origins[field]?.kind,
      origins[field]?.location?.uri,
      origins[field]?.location?.range.start,
    ];
    assert.deepEqual(place('batch.micro'), ['linked-file', `${ROOT}/config.py`, { line: 3, character: 8 }]);
    assert.deepEqual(place('model.id'), ['linked-file', `${ROOT}/config.py`, { line: 0, character: 11 }]);
    assert.ok(analysis.files.includes(`${ROOT}/config.py`));
    assert.ok(analysis.estimate);
    assert.deepEqual(
      analysis.problems.filter(({ severity }) => severity === 'error'),
      [],
    );
  });

  it('do not take part where nothing of them is used', async () => {
    const { analysis } = await analysed({
      'train.py': script('from tools import prepare', '2'),
      'tools.py': 'def prepare():\n    pass\n',
    });
    assert.deepEqual(
      analysis.files.filter((uri) => uri.endsWith('.py')),
      [`${ROOT}/train.py`],
    );
  });

  it('change with the module', async () => {
    const files = { 'train.py': script('from config import BATCH', 'BATCH'), 'config.py': 'BATCH = 8\n' };
    const texts = new Map(Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]));
    const { Workspace } = await import('../../../server/src/workspace/analyze');
    const { MemoryHost } = await import('../../../server/src/workspace/memory-host');
    const host = new MemoryHost(Object.fromEntries(texts), { folders: [ROOT] });
    const workspace = new Workspace({
      folders: [ROOT],
      environment: {},
      readText: async (uri) => texts.get(uri),
      exists: async (uri) => texts.has(uri),
      list: (uri) => host.list(uri),
      listFolders: (uri) => host.listFolders(uri),
    });
    const batch = async () => (await workspace.analyze(`${ROOT}/train.py`))?.resolved.values['batch.micro'];
    assert.equal(await batch(), 8);
    texts.set(`${ROOT}/config.py`, 'BATCH = 2\n');
    assert.deepEqual(workspace.dependents(`${ROOT}/config.py`), [`${ROOT}/train.py`]);
    workspace.edited(`${ROOT}/config.py`);
    assert.equal(await batch(), 2);
    texts.set(`${ROOT}/config.py`, 'def batch(): pass\n');
    workspace.edited(`${ROOT}/config.py`);
    assert.equal(await batch(), undefined);
    texts.set(`${ROOT}/config.py`, 'BATCH = 4\n');
    workspace.edited(`${ROOT}/config.py`);
    assert.equal(await batch(), 4);
  });

  it('are not known, and reported as such, where the module is missing, computes them or ends in a circle', async () => {
    const cases: [imports: string, batch: string, files: Readonly<Record<string, string>>][] = [
      ['from config import BATCH', 'BATCH', {}],
      ['from config import BATCH', 'BATCH', { 'site-packages/config.py': CONFIG }],
      ['from config import batch', 'batch', { 'config.py': 'import load\nbatch = load.it()\n' }],
      ['import config', 'config.batch', { 'config.py': 'import load\nbatch = load.it()\n' }],
      ['from config import BATCH', 'BATCH', { 'config.py': 'from train import SIZE as BATCH\n' }],
      [
        'from config import BATCH',
        'BATCH',
        { 'config.py': 'from other import BATCH', 'other.py': 'from config import BATCH' },
      ],
      ['from config import BATCH', 'BATCH', { 'config.py': 'BATCH = 8\nexec(open("more.py").read())\n' }],
      ['from config import BATCH', 'BATCH', { 'config.py': 'BATCH = 8\nfrom elsewhere import *\n' }],
      [
        'from config import BATCH',
        'BATCH',
        { 'config.py': 'BATCH = 8\ndef f():\n    global BATCH\n    BATCH = 2\n' },
      ],
      ['from config import BATCH', 'BATCH', { 'config.py': 'BATCH = (8\n' }],
      ['import config\nconfig.ARGS.update(more)', 'config.ARGS["a"]', { 'config.py': 'ARGS = {"a": 8}\n' }],
      ['from config import ARGS\nARGS.update(more)', 'ARGS["a"]', { 'config.py': 'ARGS = {"a": 8}\n' }],
      ['import config\nfrom absl import fill\nfill(config)', 'config.BATCH', { 'config.py': CONFIG }],
      ['import config\nif input():\n    config.BATCH = 2', 'config.BATCH', { 'config.py': CONFIG }],
      ['from ...config import BATCH', 'BATCH', { 'config.py': CONFIG }],
    ];
    for (const [imports, batch, files] of cases) {
      const { analysis } = await analysed({ 'train.py': script(imports, batch), ...files });
      const message = JSON.stringify([imports, files]);
      assert.equal(analysis.resolved.values['batch.micro'], undefined, message);
      assert.ok(
        analysis.reading.unread?.some(({ fields }) => fields?.includes('batch.micro')),
        message,
      );
      assert.deepEqual(
        analysis.problems.filter(({ code }) => code === 'wrong-type'),
        [],
        message,
      );
    }
  });

  it('are what the script sets in their place, and not what the module does only when it is run', async () => {
    const set = script('import config\nconfig.BATCH = 2', 'config.BATCH');
    assert.equal(await batchOf({ 'train.py': set, 'config.py': CONFIG }), 2);
    const item = script('import config\nconfig.ARGS["a"] = 2', 'config.ARGS["a"]');
    assert.equal(await batchOf({ 'train.py': item, 'config.py': 'ARGS = {"a": 8}\n' }), 2);
    const main = 'BATCH = 8\nif __name__ == "__main__":\n    BATCH = 1\n';
    assert.equal(
      await batchOf({ 'train.py': script('from config import BATCH', 'BATCH'), 'config.py': main }),
      8,
    );
  });

  it('that no argument takes are reported where the script passes them', async () => {
    const forms: [argument: string, line: number, from: number][] = [
      ['optim=OPTIM', 6, 23],
      ['**MORE', 6, 16],
    ];
    for (const [argument, line, character] of forms) {
      const train = script('from config import MORE, OPTIM', '1').replace(
        'per_device_train_batch_size=1',
        argument,
      );
      const module = `OPTIM = "adamw_torhc"\nMORE = {"optim": "adamw_torhc"}\n`;
      const { analysis } = await analysed({ 'train.py': train, 'config.py': module });
      const own = await analysed({ 'train.py': train.replace('from config import MORE, OPTIM', module) });
      const wrong = (problems: typeof analysis.problems) =>
        problems.filter(
          ({ code, message }) => code !== 'feature-not-modelled' && message.includes('adamw_torhc'),
        );
      assert.equal(wrong(own.analysis.problems).length, 1);
      const [problem, ...others] = wrong(analysis.problems);
      assert.deepEqual(
        [problem?.severity, problem?.range.start, problem?.data],
        [wrong(own.analysis.problems)[0]?.severity, { line, character }, undefined],
      );
      assert.deepEqual(others, []);
    }
  });

  it('are mended where the module states them, or not at all', async () => {
    const train = script('from config import MICRO, LOW', 'MICRO').replace('bf16=True', 'bf16=LOW');
    const module = 'import os\nMICRO = 8  # per GPU\nLOW = True\n';
    const { workspace, analysis } = await analysed({ 'train.py': train, 'config.py': module });
    const plan = await planValues(analysis, { 'batch.micro': 4 }, workspace);
    assert.deepEqual(
      plan.files.map(({ uri, after }) => [uri, after]),
      [[`${ROOT}/config.py`, module.replace('8', '4')]],
    );
    const computed = await analysed({
      'train.py': script('from config import BATCH', 'BATCH'),
      'config.py': CONFIG,
    });
    const none = await planValues(computed.analysis, { 'batch.micro': 4 }, computed.workspace);
    assert.deepEqual(none.files, []);
    assert.equal(none.left.length, 1);
    const words = await planValues(analysis, { 'precision.compute': 'fp16' }, workspace);
    assert.deepEqual(
      words.files.filter(({ uri }) => uri.endsWith('config.py')),
      [],
    );
  });
});

describe('functions and classes that a script imports from modules of the workspace', () => {
  const HELPERS = `import yaml
from dataclasses import dataclass
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM
from .defaults import LENGTH
FACTOR = 2
def double(n):
    return n * FACTOR
def load_config(path, **more):
    with Path(path).open() as f:
        cfg = yaml.safe_load(f)
    cfg.update(more)
    return cfg
def load_model(name, bf16=True):
    return AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16 if bf16 else torch.float32)
@dataclass
class Settings:
    batch: int = 4
    length: int = LENGTH
    def half(self):
        return self.batch // FACTOR
`;
  const TRAIN = `${HEAD}from common.helpers import *
from common import helpers
FACTOR = 100
cfg = load_config("configs/c.yaml", seed=1)
settings = Settings(**cfg["train"])
model = helpers.load_model(cfg["model"])
args = SFTConfig(per_device_train_batch_size=double(settings.half()), max_length=settings.length,
    gradient_accumulation_steps=double(3))
SFTTrainer(model, args=args).train()
`;
  const FILES = {
    'train.py': TRAIN,
    'common/__init__.py': '',
    'common/helpers.py': HELPERS,
    'common/defaults.py': 'LENGTH = 1024\n',
    'configs/c.yaml': 'model: Qwen/Qwen2.5-7B\ntrain:\n  batch: 16\n',
  };

  it('are followed with the names of their own module, and what they load and make is known', async () => {
    const { analysis } = await analysed(FILES);
    const { values, origins } = analysis.resolved;
    assert.deepEqual(
      (['model.id', 'batch.micro', 'batch.sequence', 'batch.accumulation', 'precision.weights'] as const).map(
        (field) => values[field],
      ),
      ['Qwen/Qwen2.5-7B', 16, 1024, 6, 'bf16'],
    );
    assert.equal(origins['model.id']?.location?.uri, `${ROOT}/configs/c.yaml`);
    // Places in other files are no places of this one.
    assert.ok(analysis.document.root?.kind === 'map');
    for (const { range } of analysis.problems) assert.equal(range.uri, undefined);
  });

  it('keep the numbers of calls in the script itself, so that a fix finds the one that it means', async () => {
    const { workspace, analysis } = await analysed({
      'train.py': `${HEAD}from make import other
unused = other()
args = SFTConfig(per_device_train_batch_size=16, max_length=512)
SFTTrainer("Qwen/Qwen2.5-7B", args=args).train()
`,
      'make.py':
        'from trl import SFTConfig\ndef other():\n    return SFTConfig(per_device_train_batch_size=1)\n',
    });
    assert.equal(analysis.resolved.values['batch.micro'], 16);
    const plan = await planValues(analysis, { 'batch.accumulation': 4 }, workspace);
    assert.match(plan.files[0]?.after ?? '', /max_length=512, gradient_accumulation_steps=4\)/);
  });

  it('are not followed where the module cannot be, and never without end', async () => {
    const cases: readonly [helpers: string, expected: number | undefined][] = [
      ['def size():\n    return 8\n', 8],
      ['def size():\n    return size()\n', undefined],
      ['from train import SFTConfig\ndef size():\n    return 8\n', 8],
      ['def size():\n    return 8\nexec("def size(): return 9")\n', undefined],
      ['import os\ndef size():\n    return int(os.environ["SIZE"])\n', undefined],
      ['import json\nlog = json.loads("{}")\ndef size():\n    return log["size"]\n', undefined],
    ];
    for (const [helpers, expected] of cases)
      assert.equal(
        await batchOf({ 'train.py': script('from helpers import size', 'size()'), 'helpers.py': helpers }),
        expected,
        helpers,
      );
  });
});
