import assert from 'node:assert/strict';
import { estimate as realEstimate } from '../../../server/src/estimate';
import { breakdownOf } from '../../../server/src/features/breakdown';
import type { Category } from '../../../server/src/results/estimate';
import { fact } from '../../../server/src/run/origin';
import { Workspace, type WorkspaceOptions } from '../../../server/src/workspace/analyze';
import { linkConflicts } from '../../../server/src/workspace/conflicts';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const ZERO = `{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}
}`;
const AUTO = `{
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}
}`;
const ACCELERATE = `# oomlint: model=Qwen/Qwen2.5-7B gpu=H100 sequence=2048 micro-batch=1
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
num_machines: 1
num_processes: 8
deepspeed_config:
  deepspeed_config_file: ds/zero3.json
`;
const PROJECT = `targets: {gpu: H100, gpus: 8}
defaults: {model: meta-llama/Llama-3.1-8B, sequence: 4096, checkpointing: full}
`;

function world(files: Record<string, string>, options: WorkspaceOptions = {}) {
  const texts = Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]);
  const host = new MemoryHost(Object.fromEntries(texts), { folders: [ROOT] });
  const workspace = new Workspace(host, options);
  return { host, workspace, analyze: (path: string) => workspace.analyze(`${ROOT}/${path}`) };
}

async function must(found: Promise<Awaited<ReturnType<Workspace['analyze']>>>) {
  const analysis = await found;
  assert.ok(analysis, 'no analysis');
  return analysis;
}
type Found = Awaited<ReturnType<typeof must>>;
const codes = ({ problems }: Found) => problems.map(({ code }) => code);
const problem = (analysis: Found, code: string) => analysis.problems.find((found) => found.code === code);

describe('analysing a config', () => {
  it('estimates a run that a project file completes', async () => {
    const analysis = await must(world({ 'a.json': ZERO, 'oomlint.yaml': PROJECT }).analyze('a.json'));
    assert.ok(analysis.estimate);
    assert.equal(analysis.estimate.verdict, 'fits');
    assert.equal(analysis.model?.parameters.total, 8_030_261_248);
    assert.deepEqual(analysis.files, [`${ROOT}/a.json`, `${ROOT}/oomlint.yaml`]);
    assert.deepEqual(codes(analysis), []);
  });

  it('takes the nearest project file', async () => {
    const files = {
      'x/y/a.json': ZERO,
      'oomlint.yaml': PROJECT,
      'x/oomlint.yaml': `${PROJECT}  \nnodes: 4\n`,
    };
    const analysis = await must(world(files).analyze('x/y/a.json'));
    assert.equal(analysis.resolved.values['hardware.nodes'], 4);
  });

  it('leaves other files alone', async () => {
    const { analyze } = world({
      'package.json': '{"name": "x"}',
      'a.yaml': 'a: 1\n',
      'empty.json': '',
      'oomlint.yaml': PROJECT,
    });
    for (const path of ['package.json', 'a.yaml', 'empty.json', 'oomlint.yaml', 'gone.json']) {
      assert.equal(await analyze(path), undefined, path);
    }
  });

  it('is switched off by a directive', async () => {
    assert.equal(await world({ 'a.yaml': `# oomlint: off\n${ACCELERATE}` }).analyze('a.yaml'), undefined);
  });

  it('reports once what is missing, at the first key, with examples', async () => {
    const analysis = await must(world({ 'a.json': ZERO }).analyze('a.json'));
    const found = problem(analysis, 'unknown-fields');
    assert.equal(found?.severity, 'information');
    assert.equal(found?.range.start.line, 1);
    assert.deepEqual(found?.data?.fields, ['model.id', 'batch.sequence', 'hardware.gpu', 'hardware.gpus']);
    assert.deepEqual(found?.data?.examples, [
      'model=meta-llama/Llama-3.1-8B',
      'sequence=4096',
      'gpu=H100-SXM5-80GB',
      'gpus=8',
    ]);
    assert.equal(analysis.estimate, undefined);
    assert.equal(breakdownOf(analysis).verdict, 'unknown');
  });

  it('reports once that a run is of no kind that is estimated, and asks for nothing', async () => {
    const script = `from transformers import AutoModelForDepthEstimation, Trainer, TrainingArguments
model = AutoModelForDepthEstimation.from_pretrained("Intel/dpt-large")
Trainer(model, TrainingArguments("out")).train()
`;
    const analysis = await must(world({ 'train.py': script, 'oomlint.yaml': PROJECT }).analyze('train.py'));
    assert.deepEqual(codes(analysis), ['unknown-fields']);
    assert.equal(
      problem(analysis, 'unknown-fields')?.message,
      'Unknown, so there is no verdict: Runs of `AutoModelForDepthEstimation.from_pretrained` are not estimated.',
    );
    assert.equal(analysis.estimate, undefined);
  });

  it('reports which model is not known', async () => {
    const project = PROJECT.replace('meta-llama/Llama-3.1-8B', 'meta-llama/Lama-3.1-8B');
    const analysis = await must(world({ 'a.json': ZERO, 'oomlint.yaml': project }).analyze('a.json'));
    assert.match(problem(analysis, 'unknown-fields')?.message ?? '', /Lama-3\.1-8B.*Did you mean/);
  });

  it('reports a GPU or model that nobody knows where the file names it, with the nearest name', async () => {
    const text = ACCELERATE.replace('gpu=H100', 'gpu=H1000').replace('Qwen2.5-7B', 'Qwen2.5-7BB');
    const analysis = await must(world({ 'acc.yaml': text, 'ds/zero3.json': AUTO }).analyze('acc.yaml'));
    const gpu = problem(analysis, 'unknown-gpu');
    const { start, end } = gpu?.range ?? assert.fail();
    assert.equal(text.slice(start.character, end.character), 'gpu=H1000');
    assert.match(String(gpu?.data?.replacement), /^gpu=H100-/);
    assert.match(String(problem(analysis, 'unknown-model')?.data?.replacement), /^model=Qwen\/Qwen2\.5-7B/);
    assert.equal(problem(analysis, 'unknown-model')?.severity, 'warning');
    assert.equal(problem(analysis, 'unknown-fields'), undefined);
  });

  for (const [id, type] of [
    ['microsoft/Phi-4-multimodal-instruct', 'phi4_multimodal'],
    ['baidu/ERNIE-4.5-VL-28B-A3B-PT', 'ernie4_5_vl_moe'],
  ] as const)
    it(`estimates ${id}, whose tower it cannot play, where samples hold no images, and reports it elsewhere`, async () => {
      const recipe = (images: string) =>
        `# oomlint: gpu=H100 gpus=1${images}\nmodel_name_or_path: ${id}\nlearning_rate: 1.0e-4\nmax_length: 2048\nuse_peft: true\nlora_r: 16\nlora_target_modules: all-linear\nper_device_train_batch_size: 1\n`;
      const shown = await must(world({ 'sft.yaml': recipe('') }).analyze('sft.yaml'));
      assert.equal(shown.estimate, undefined);
      const reason = new RegExp(`What the vision tower of ${type} computes is not known`);
      assert.match(problem(shown, 'unknown-fields')?.message ?? '', reason);
      const texts = await must(world({ 'sft.yaml': recipe(' images=0') }).analyze('sft.yaml'));
      assert.ok(texts.estimate);
    });

  it('asks for the modules of an adapter where PEFT lists none for the type', async () => {
    const recipe = (model: string, more = '') =>
      `# oomlint: gpu=H100 gpus=1\nmodel_name_or_path: ${model}\nlearning_rate: 1.0e-4\nmax_length: 2048\nuse_peft: true\nlora_r: 16\nper_device_train_batch_size: 1\n${more}`;
    const without = await must(world({ 'sft.yaml': recipe('HuggingFaceTB/SmolLM3-3B') }).analyze('sft.yaml'));
    const found = problem(without, 'no-lora-targets');
    assert.equal(found?.severity, 'warning');
    assert.match(found?.message ?? '', /PEFT lists no modules for model_type "smollm3"/);
    assert.equal(found?.range.start.line, 5);
    assert.equal(without.estimate, undefined);
    assert.equal(problem(without, 'unknown-fields'), undefined);
    const named = recipe('HuggingFaceTB/SmolLM3-3B', 'lora_target_modules: all-linear\n');
    const listed = recipe('Qwen/Qwen3-4B');
    for (const text of [named, listed]) {
      const analysis = await must(world({ 'sft.yaml': text }).analyze('sft.yaml'));
      assert.equal(problem(analysis, 'no-lora-targets'), undefined);
      assert.ok((analysis.estimate?.model.trainableParameters ?? 0) > 1e6);
    }
  });

  it('asks for no modules where the run states them with a value that is not known', async () => {
    const recipe = (modules: string) => `# oomlint: gpu=H100 gpus=1
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM3-3B")
model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"${modules}))
Trainer(model, TrainingArguments("out", per_device_train_batch_size=1)).train()
`;
    const codes = async (modules: string) =>
      problem(await must(world({ 'run.py': recipe(modules) }).analyze('run.py')), 'no-lora-targets')
        ?.severity;
    assert.equal(await codes(''), 'warning');
    assert.equal(await codes(', target_modules=layers_of(model)'), undefined);
  });

  it('asks for no modules where parameters have the adapter, and counts those alone', async () => {
    const recipe = (model: string, more: string) =>
      `# oomlint: gpu=H100 gpus=8\nbase_model: ${model}\ndatasets: []\nadapter: lora\nlora_r: 16\nsequence_len: 2048\nmicro_batch_size: 1\nlora_target_parameters:\n  - mlp.experts.down_proj\n${more}`;
    const trained = async (model: string, more = '') => {
      const analysis = await must(world({ 'moe.yaml': recipe(model, more) }).analyze('moe.yaml'));
      assert.equal(problem(analysis, 'no-lora-targets'), undefined);
      return analysis.estimate?.model.trainableParameters ?? 0;
    };
    // One adapter of rank 16 for each of 48 layers' 128 stacked experts of 768 x 2048.
    const alone = await trained('Qwen/Qwen3-30B-A3B');
    assert.equal(alone, 48 * 128 * 16 * (768 + 2048));
    assert.ok((await trained('Qwen/Qwen3-30B-A3B', 'lora_target_modules: [q_proj]\n')) > alone);
    // PEFT lists no modules of this type.
    assert.ok((await trained('MiniMaxAI/MiniMax-M2')) > 1e6);
  });

  it('takes the length of a sample from a model that fixes it', async () => {
    const lengths = { 'google/vit-base-patch16-224': 197, 'openai/whisper-small': 448 };
    for (const [model, tokens] of Object.entries(lengths)) {
      const text = `# oomlint: gpu=H100 gpus=1 model=${model}\nper_device_train_batch_size: 8\nlearning_rate: 1.0e-4\noutput_dir: out\nnum_train_epochs: 1\ngradient_accumulation_steps: 1\n`;
      const analysis = await must(world({ 'args.yaml': text }).analyze('args.yaml'));
      assert.equal(analysis.resolved.values['batch.sequence'], tokens, model);
      assert.equal(analysis.resolved.origins['batch.sequence']?.kind, 'inferred');
      assert.ok(analysis.estimate, model);
    }
  });

  it('only informs of a model that may well exist', async () => {
    for (const name of ['somebody/finetune-of-Qwen-9B', '$2', 'MY_COOL_MODEL']) {
      const text = ACCELERATE.replace('Qwen/Qwen2.5-7B', name);
      const analysis = await must(world({ 'acc.yaml': text, 'ds/zero3.json': AUTO }).analyze('acc.yaml'));
      const found = problem(analysis, 'unknown-model');
      assert.equal(found?.severity, 'information', name);
      assert.deepEqual(found?.data, { fields: ['model.id'] }, name);
    }
  });

  it('reports a run that does not fit at the key behind the heaviest part', async () => {
    const project = PROJECT.replace('8B', '70B').replace('H100', 'A100-40GB');
    const heaviest: Record<string, number> = {
      'optimizer-states': 5,
      'logits-and-loss': 1,
    };
    for (const [category, line] of Object.entries(heaviest)) {
      const estimate: WorkspaceOptions['estimate'] = (input) => {
        const real = realEstimate(input);
        const rest = real.parts.filter((part) => part.category === 'gradients');
        return { ...real, parts: [...rest, { category: category as Category, bytes: 200 * 2 ** 30 }] };
      };
      const analysis = await must(
        world({ 'a.json': ZERO, 'oomlint.yaml': project }, { estimate }).analyze('a.json'),
      );
      const found = problem(analysis, 'does-not-fit');
      assert.equal(found?.severity, 'error');
      assert.match(
        found?.message ?? '',
        /^Does not fit: needs \d+\.\d GiB, A100-SXM4-40GB has 39\.5 GiB \(\d+\.\d GiB over\)\. Largest: .+, 200\.0 GiB\.$/,
      );
      assert.equal(found?.range.start.line, line, category);
      assert.ok(found.range.end.character > found.range.start.character);
    }
  });

  it('does not name what nobody chose as the heaviest part', async () => {
    const project = PROJECT.replace('8B', '70B').replace('H100', 'A100-40GB');
    const estimate: WorkspaceOptions['estimate'] = (input) => {
      const real = realEstimate(input);
      const rest = real.parts.filter((part) => part.category === 'gradients');
      return { ...real, parts: [...rest, { category: 'cuda-context', bytes: 200 * 2 ** 30 }] };
    };
    const world70 = world({ 'a.json': ZERO, 'oomlint.yaml': project }, { estimate });
    const found = problem(await must(world70.analyze('a.json')), 'does-not-fit');
    assert.match(found?.message ?? '', /Largest: gradients, /);
    assert.equal(found?.range.start.line, 4);
  });

  it('warns at a directive that contradicts the file', async () => {
    const text = `# oomlint: gpus=4 model=Qwen/Qwen2.5-7B\n${ACCELERATE.slice(ACCELERATE.indexOf('\n') + 1)}`;
    const analysis = await must(world({ 'a.yaml': text, 'ds/zero3.json': ZERO }).analyze('a.yaml'));
    const found = problem(analysis, 'directive-overruled');
    assert.equal(found?.severity, 'warning');
    assert.match(found?.message ?? '', /file itself says 8/);
    assert.deepEqual(found?.range.start, { line: 0, character: 11 });
    assert.equal(found?.related?.[0]?.range.start.line, 4);
    assert.equal(analysis.resolved.values['hardware.gpus'], 8);
  });

  it('lets the command line override the file, and settings nothing but gaps', async () => {
    const origin = { kind: 'command-line' } as const;
    const options: WorkspaceOptions = {
      commandLine: [fact('batch.micro', 1, origin)],
      settings: () => ({ 'hardware.gpus': 2, 'batch.accumulation': 9 }),
    };
    const { values } = (await must(world({ 'a.json': ZERO }, options).analyze('a.json'))).resolved;
    assert.equal(values['batch.micro'], 1);
    assert.equal(values['hardware.gpus'], 2);
    assert.equal(values['batch.accumulation'], 4);
  });

  it('asks for the GPUs of this machine only where nobody names one', async () => {
    let asked = 0;
    const detect = async () => {
      asked += 1;
      return { gpu: 'T4', count: 2, totalBytes: 15360 * 2 ** 20 };
    };
    const alone = await must(world({ 'a.json': ZERO }, { detect }).analyze('a.json'));
    assert.equal(alone.resolved.values['hardware.gpus'], 2);
    assert.equal(alone.accelerator?.name, 'T4');
    await world({ 'a.json': ZERO, 'oomlint.yaml': PROJECT }, { detect }).analyze('a.json');
    assert.equal(asked, 1);
  });

  it('keeps absurd values from the estimate and reports them', async () => {
    for (const micro of ['0', '-1', '1e30', '1.5', '"x"', 'null', '[]', 'true']) {
      const text = ZERO.replace(
        '"train_micro_batch_size_per_gpu": 2',
        `"train_micro_batch_size_per_gpu": ${micro}`,
      );
      const analysis = await must(world({ 'a.json': text, 'oomlint.yaml': PROJECT }).analyze('a.json'));
      assert.equal(analysis.estimate, undefined, micro);
      assert.ok(analysis.problems.length > 0, micro);
      assert.ok(!codes(analysis).includes('internal-error'), micro);
    }
  });

  it('survives an estimator that fails', async () => {
    const estimate = () => {
      throw new Error('boom');
    };
    const analysis = await must(
      world({ 'a.json': ZERO, 'oomlint.yaml': PROJECT }, { estimate }).analyze('a.json'),
    );
    assert.deepEqual(codes(analysis), ['internal-error']);
    assert.match(analysis.problems[0]?.message ?? '', /boom/);
  });

  it('survives settings and detection that fail', async () => {
    const settings = () => Promise.reject(new Error('no settings'));
    const analysis = await must(world({ 'a.json': ZERO }, { settings }).analyze('a.json'));
    assert.ok(codes(analysis).includes('internal-error'));
  });

  it('gives no verdict while the syntax is broken', async () => {
    const analysis = await world({
      'a.json': ZERO.replace('"stage": 3}', '"stage": 3'),
      'oomlint.yaml': PROJECT,
    }).analyze('a.json');
    for (const code of analysis ? codes(analysis) : []) {
      assert.ok(!['does-not-fit', 'tight', 'unknown-fields'].includes(code), code);
    }
  });
});

describe('files that make up one run', () => {
  const files = { 'acc.yaml': ACCELERATE, 'ds/zero3.json': AUTO };

  it('follows a link to a DeepSpeed file', async () => {
    const analysis = await must(world(files).analyze('acc.yaml'));
    assert.equal(analysis.links[0]?.uri, `${ROOT}/ds/zero3.json`);
    assert.equal(analysis.resolved.values['zero.stage'], 3);
    assert.equal(analysis.resolved.origins['zero.stage']?.kind, 'linked-file');
    assert.ok(analysis.estimate);
  });

  it('joins a DeepSpeed file with the config that names it', async () => {
    const analysis = await must(world(files).analyze('ds/zero3.json'));
    assert.deepEqual(analysis.files, [`${ROOT}/ds/zero3.json`, `${ROOT}/acc.yaml`]);
    assert.equal(analysis.resolved.values['hardware.gpus'], 8);
    assert.equal(analysis.resolved.values['model.id'], 'Qwen/Qwen2.5-7B');
    assert.ok(analysis.estimate);
  });

  it('finds files that are named from the root of the repository', async () => {
    const deep = { 'recipes/x/acc.yaml': ACCELERATE, 'ds/zero3.json': AUTO };
    const analysis = await must(world(deep).analyze('recipes/x/acc.yaml'));
    assert.equal(analysis.links[0]?.uri, `${ROOT}/ds/zero3.json`);
  });

  it('joins a DeepSpeed file with the nearest of several configs that name it', async () => {
    const many = {
      'ds/zero3.json': AUTO,
      'ds/b.yaml': ACCELERATE.replace('ds/zero3.json', 'zero3.json').replace(
        'num_processes: 8',
        'num_processes: 4',
      ),
      'a.yaml': ACCELERATE,
      'ds/other.yaml': ACCELERATE.replace('ds/zero3.json', 'not-zero3.json'),
    };
    const analysis = await must(world(many).analyze('ds/zero3.json'));
    assert.equal(analysis.resolved.values['hardware.gpus'], 4);
    assert.deepEqual(analysis.files, [`${ROOT}/ds/zero3.json`, `${ROOT}/ds/b.yaml`]);
  });

  it('points at the keys of other files that weigh', async () => {
    const big = {
      'acc.yaml': ACCELERATE.replace('Qwen/Qwen2.5-7B', 'meta-llama/Llama-3.1-70B'),
      'ds/zero3.json': AUTO,
    };
    const found = problem(await must(world(big).analyze('acc.yaml')), 'does-not-fit');
    assert.ok(found?.related?.some(({ uri }) => uri === `${ROOT}/ds/zero3.json`));
  });

  it('gives both files of a run the same peak', async () => {
    const { analyze } = world(files);
    const [a, b] = [await must(analyze('acc.yaml')), await must(analyze('ds/zero3.json'))];
    assert.equal(a.estimate?.peak.processBytes, b.estimate?.peak.processBytes);
  });

  it('fills automatic values from the model', async () => {
    const { resolved } = await must(world(files).analyze('ds/zero3.json'));
    assert.equal(resolved.values['zero.reduceBucket'], 3584 * 3584);
    assert.match(resolved.origins['zero.reduceBucket']?.note ?? '', /auto/);
  });

  it('reports a missing file at the link', async () => {
    const analysis = await must(world({ 'acc.yaml': ACCELERATE, 'ds/other.json': '{}' }).analyze('acc.yaml'));
    const found = problem(analysis, 'missing-file');
    assert.equal(found?.severity, 'warning');
    assert.equal(found?.range.start.line, 6);
  });

  it('does not call a file missing that lies on another machine', async () => {
    const text = ACCELERATE.replace('ds/zero3.json', '/cluster/zero3.json');
    const analysis = await must(world({ 'acc.yaml': text }).analyze('acc.yaml'));
    assert.equal(problem(analysis, 'missing-file')?.severity, 'information');
  });

  it('gives no verdict that a file which is not here may change by what it shards', async () => {
    const run = (model: string, more: string) =>
      `torchrun --nproc_per_node 8 train.py --model_name_or_path ${model} --per_device_train_batch_size 1 --max_length 512 --bf16 True ${more}\n`;
    const found = async (text: string) => {
      const host = new MemoryHost(
        { 'file:///w/run.sh': text, 'file:///w/oomlint.yaml': 'defaults: {gpu: A100-SXM4-80GB}\n' },
        { folders: ['file:///w'] },
      );
      const { estimate, problems } = await must(new Workspace(host).analyze('file:///w/run.sh'));
      return [estimate?.verdict, problems.find(({ code }) => /not-fit|modelled/.test(code))?.message];
    };
    const large = 'huggyllama/llama-30b';
    assert.equal((await found(run(large, '')))[0], 'exceeds');
    const [verdict, message] = await found(run(large, '--deepspeed /cluster/zero2.json'));
    assert.equal(verdict, 'unknown');
    assert.match(message ?? '', /^Needs at most about .*: `\/cluster\/zero2\.json` is not here/);
    assert.equal((await found(run('gpt2', '--deepspeed /cluster/zero2.json')))[0], 'fits');
  });

  it('reports a circle once and stops', async () => {
    const text = ACCELERATE.replace('ds/zero3.json', 'acc.yaml');
    const analysis = await must(world({ 'acc.yaml': text }).analyze('acc.yaml'));
    assert.equal(codes(analysis).filter((code) => code === 'link-cycle').length, 1);
  });

  it('reports files that disagree, once per key', () => {
    const at = (uri: string, line: number) => ({
      uri,
      range: { start: { line, character: 0 }, end: { line, character: 5 } },
    });
    const own = { kind: 'file', location: at('file:///a.yaml', 3), key: 'bf16' } as const;
    const other = { kind: 'linked-file', location: at('file:///b.json', 9), key: 'fp16.enabled' } as const;
    const facts = [
      fact('precision.compute', 'bf16', own),
      fact('precision.weights', 'bf16', own),
      fact('batch.micro', 1, { kind: 'file', location: at('file:///a.yaml', 4) }),
      fact('precision.compute', 'fp16', other),
      fact('precision.weights', 'fp16', other),
      fact('batch.micro', 1, other),
    ];
    const problems = linkConflicts(facts, 'file:///a.yaml');
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? '', /bf16 = bf16 here, fp16\.enabled = fp16 in b\.json/);
    assert.equal(problems[0]?.related?.[0]?.range.start.line, 9);
    assert.deepEqual(linkConflicts(facts, 'file:///c.yaml'), []);
    // The Trainer's arguments take the place of what Accelerate hands over: the run starts.
    const launched = { ...other, key: 'mixed_precision' };
    const overridden = [fact('precision.compute', 'bf16', own), fact('precision.compute', 'fp16', launched)];
    assert.equal(problems[0]?.severity, 'error');
    assert.equal(linkConflicts(overridden, 'file:///a.yaml')[0]?.severity, 'warning');
    // The same from the side of the file that hands it over.
    const mine = { kind: 'file', location: at('file:///b.json', 9), key: 'mixed_precision' } as const;
    const theirs = { kind: 'linked-file', location: at('file:///a.yaml', 3), key: 'bf16' } as const;
    const handed = [fact('precision.compute', 'fp16', mine), fact('precision.compute', 'bf16', theirs)];
    assert.equal(linkConflicts(handed, 'file:///b.json')[0]?.severity, 'warning');
  });

  it('does not hold a value that is one of several against another file, nor against a product', async () => {
    const script = (steps: string) => `import os
import fire
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
def train(steps: int = 4):
    world = int(os.environ.get("WORLD_SIZE", 1))
    if world != 1:
        steps = ${steps}
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    Trainer(model, TrainingArguments(per_device_train_batch_size=1, gradient_accumulation_steps=steps, deepspeed="ds.json")).train()
if __name__ == "__main__":
    fire.Fire(train)
`;
    const problems = async (steps: string) => {
      const files = {
        'file:///w/run.sh': 'mpirun -n 2 python train.py --steps 4\n',
        'file:///w/train.py': script(steps),
        'file:///w/ds.json':
          '{"train_batch_size": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2}}',
      };
      const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
      const found = await Promise.all(
        ['ds.json', 'run.sh'].map((name) => workspace.analyze(`file:///w/${name}`)),
      );
      return found.flatMap((analysis) => (analysis?.problems ?? []).map(({ code }) => code)).sort();
    };
    const contradicts = (codes: readonly string[]) =>
      codes.filter((code) => /cross-file-conflict|batch-triangle/.test(code));
    assert.deepEqual(contradicts(await problems('steps // world')), []);
    assert.notDeepEqual(contradicts(await problems('steps')), []);
  });

  it('a script asks for mixed precision under an Accelerate config without it, and gets it', async () => {
    const files = {
      'acc.yaml':
        "distributed_type: FSDP\nmixed_precision: 'no'\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_version: 1\n",
      'recipe.yaml':
        'model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\nlearning_rate: 1e-5\ndataset_name: a/b\n',
      'run.sh':
        '# oomlint: gpu=A100-80GB\naccelerate launch --config_file acc.yaml sft.py --config recipe.yaml\n',
    };
    for (const file of ['run.sh', 'recipe.yaml'] as const) {
      const { resolved, problems } = await must(world(files).analyze(file));
      assert.equal(resolved.values['precision.scheme'], 'fsdp', file);
      assert.equal(resolved.values['precision.compute'], 'bf16', file);
      assert.ok(!problems.some(({ code }) => code === 'cross-file-conflict'), file);
    }
  });

  it('reports a batch that does not add up', async () => {
    const text = ZERO.replace('{', '{\n  "train_batch_size": 63,');
    const analysis = await must(world({ 'a.json': text, 'oomlint.yaml': PROJECT }).analyze('a.json'));
    assert.equal(codes(analysis).filter((code) => code === 'batch-triangle').length, 1);
  });
});

describe('keeping analyses fresh', () => {
  const files = { 'acc.yaml': ACCELERATE, 'ds/zero3.json': AUTO };

  it('gives the same answer for the same text', async () => {
    const { analyze } = world(files);
    assert.equal(await analyze('acc.yaml'), await analyze('acc.yaml'));
  });

  it('reads again what changed', async () => {
    const { host, workspace, analyze } = world(files);
    const before = await must(analyze('acc.yaml'));
    host.write(`${ROOT}/ds/zero3.json`, AUTO.replace('"stage": 3', '"stage": 2'));
    workspace.invalidate(`${ROOT}/ds/zero3.json`);
    const after = await must(analyze('acc.yaml'));
    assert.equal(before.resolved.values['zero.stage'], 3);
    assert.equal(after.resolved.values['zero.stage'], 2);
  });

  it('names the files that depend on another, also on one that is not there yet', async () => {
    const { workspace, analyze } = world({ 'acc.yaml': ACCELERATE, 'other/b.json': ZERO });
    await analyze('acc.yaml');
    await analyze('other/b.json');
    // The second looks into the folders beside its own, of which this would be a new one.
    const both = [`${ROOT}/acc.yaml`, `${ROOT}/other/b.json`];
    assert.deepEqual(workspace.dependents(`${ROOT}/ds/zero3.json`).sort(), both);
    assert.deepEqual(workspace.dependents(`${ROOT}/oomlint.yaml`).sort(), [
      `${ROOT}/acc.yaml`,
      `${ROOT}/other/b.json`,
    ]);
    workspace.invalidate(`${ROOT}/ds/zero3.json`);
    assert.deepEqual(workspace.dependents(`${ROOT}/ds/zero3.json`).sort(), both);
  });

  it('sees a config that comes to name this one', async () => {
    const { host, workspace, analyze } = world({ 'ds/zero3.json': AUTO });
    assert.equal((await must(analyze('ds/zero3.json'))).estimate, undefined);
    host.write(`${ROOT}/acc.yaml`, ACCELERATE);
    assert.deepEqual(workspace.dependents(`${ROOT}/acc.yaml`), [`${ROOT}/ds/zero3.json`]);
    workspace.invalidate(`${ROOT}/acc.yaml`);
    assert.ok((await must(analyze('ds/zero3.json'))).estimate);
  });

  it('treats two spellings of one file as one', async () => {
    const { workspace, analyze } = world(files);
    await analyze('acc.yaml');
    assert.deepEqual(workspace.dependents('file:///repo/x/../ds/zero3.json'), [`${ROOT}/acc.yaml`]);
  });

  it('reports problems of a project file', async () => {
    const { workspace } = world({ 'oomlint.yaml': 'targets:\n  gpuz: 3\n', 'a.json': ZERO });
    assert.equal((await workspace.checkProjectFile(`${ROOT}/oomlint.yaml`))?.[0]?.code, 'unknown-field');
    assert.equal(await workspace.checkProjectFile(`${ROOT}/a.json`), undefined);
  });
});

describe('the breakdown', () => {
  it('lists who states what the file does not', async () => {
    const analysis = await must(world({ 'a.json': ZERO, 'oomlint.yaml': PROJECT }).analyze('a.json'));
    const { assumptions, parts, peak, hardware } = breakdownOf(analysis, 7);
    assert.deepEqual(
      assumptions.find(({ field }) => field === 'model.id'),
      {
        field: 'model.id',
        value: 'meta-llama/Llama-3.1-8B',
        source: 'oomlint.yaml',
        link: undefined,
        kind: 'project',
      },
    );
    assert.ok(!assumptions.some(({ field }) => field === 'zero.stage' || field.startsWith('lora.')));
    assert.equal(
      parts.reduce((sum, { bytes }) => sum + bytes, 0),
      peak?.processBytes,
    );
    assert.equal(hardware?.gpus, 8);
  });
});
