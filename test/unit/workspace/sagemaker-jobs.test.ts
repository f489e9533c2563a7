import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SCRIPT = `import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
p = argparse.ArgumentParser()
p.add_argument("--model_id", default="gpt2")
p.add_argument("--rows", type=int, default=1)
args = p.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model_id)
Trainer(model, TrainingArguments("out", per_device_train_batch_size=args.rows), train_dataset=rows).train()
`;
const IMPORTS = 'import sagemaker\nfrom sagemaker.huggingface import HuggingFace\n';
const PARAMETERS = `hyperparameters = {
  'model_id': 'gpt2-large',  # as published
  'rows': 24,
}
`;
const estimator = (more: string, kind = 'HuggingFace') => `estimator = ${kind}(
    entry_point='tune.py',
    source_dir='./scripts',
    role=role,
    hyperparameters=hyperparameters,
    ${more})
`;
const VERSIONS = "transformers_version='4.26.0', pytorch_version='1.13.1', py_version='py39'";
const ONE = `instance_type='ml.g5.xlarge', instance_count=1, ${VERSIONS}`;
const FIT = 'estimator.fit({"train": bucket})\n';

const notebook = (...cells: readonly string[]) =>
  JSON.stringify({
    cells: cells.map((cell) => ({ cell_type: 'code', source: cell.split(/(?<=\n)/), outputs: [] })),
    metadata: {},
    nbformat: 4,
  });

async function runOf(cells: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const files = { 'scripts/tune.py': SCRIPT, 'job.ipynb': notebook(...cells), ...more };
  const analysis = await smallWorkspace(files).analyze('scripts/tune.py');
  const { values, origins } = analysis.resolved;
  const left = (analysis.unread ?? []).map(({ text, kind }) => `${kind} ${text}`);
  return { values, origins, left, runs: analysis.runs?.map(({ name }) => name) ?? [] };
}
const job = (more: string, before = PARAMETERS) => [IMPORTS, before, estimator(more), FIT];

describe('training jobs of SageMaker', () => {
  it('give a script its flags, the GPUs of the instance, and the releases of the container', async () => {
    const { values, origins, left, runs } = await runOf(job(ONE));
    assert.deepEqual(
      [values['model.id'], values['batch.micro'], values['hardware.gpu'], values['hardware.gpus']],
      ['gpt2-large', 24, 'A10G', 1],
    );
    assert.deepEqual([values['version.transformers'], values['version.torch']], ['4.26.0', '1.13.1']);
    assert.match(origins['batch.micro']?.location?.uri ?? '', /job\.ipynb$/);
    assert.deepEqual(left, []);
    assert.equal(runs.length, 1);
  });

  it('give it the variables of its environment, and words for a `bool` as Python takes them', async () => {
    const environment = `${ONE}, environment={'PYTORCH_CUDA_ALLOC_CONF': 'expandable_segments:True', 'SEED': str(seed)}`;
    const { values, left } = await runOf(job(environment));
    assert.deepEqual([values['allocator.expandableSegments'], values['batch.micro']], [true, 24]);
    assert.deepEqual(left, []);
    // Hyperparameters are text, of which only the empty one is false.
    const script = SCRIPT.replace(
      'args = p',
      'p.add_argument("--again", type=bool, default=False)\nargs = p',
    ).replace('per_device', 'gradient_checkpointing=args.again, per_device');
    const again = (value: string) =>
      runOf(job(ONE, PARAMETERS.replace("'rows'", `'again': ${value}, 'rows'`)), {
        'scripts/tune.py': script,
      });
    for (const [value, on] of [
      ['False', 'full'],
      ['True', 'full'],
      ["''", 'none'],
    ] as const)
      assert.equal((await again(value)).values['activations.checkpointing'], on, value);
  });

  it('run the releases of their container, whatever is installed beside the files', async () => {
    const installed = { '.venv/lib/python3.11/site-packages/torch-2.5.1.dist-info/METADATA': '' };
    const { values } = await runOf(job(ONE), installed);
    assert.equal(values['version.torch'], '1.13.1');
    // What the job installs itself is there.
    const pinned = await runOf(job(ONE), { ...installed, 'scripts/requirements.txt': 'torch==2.1.2\n' });
    assert.equal(pinned.values['version.torch'], '2.1.2');
  });

  it('take off the quotes that a shell does, and start a script of the name that an example of transformers has', async () => {
    const script = SCRIPT.replace(
      'args = p',
      'p.add_argument("--fsdp", default="")\np.add_argument("--wrap")\nargs = p',
    ).replace(
      'per_device',
      'bf16=True, fsdp=args.fsdp, fsdp_transformer_layer_cls_to_wrap=args.wrap, per_device',
    );
    const of = async (release: string) => {
      const asked = "distribution={'torch_distributed': {'enabled': True}}, instance_count=2";
      const more = `instance_type='ml.p4d.24xlarge', ${asked}, transformers_version='${release}', pytorch_version='1.13.1'`;
      const quoted = PARAMETERS.replace(
        "'rows'",
        `'fsdp': '"full_shard auto_wrap"', 'wrap': 'GPT2Block', 'rows'`,
      );
      const cells = job(more, quoted).map((cell) => cell.replace('tune.py', 'run_clm.py'));
      const files = { 'scripts/run_clm.py': script, 'job.ipynb': notebook(...cells) };
      const analysis = await smallWorkspace(files).analyze('scripts/run_clm.py');
      const { values, origins } = analysis.resolved;
      assert.deepEqual(
        [values['model.id'], values['batch.micro'], values['parallel.data']],
        ['gpt2-large', 24, 'fsdp1'],
      );
      assert.deepEqual(analysis.unread ?? [], []);
      assert.match(origins['fsdp.wrap']?.note ?? '', /the file names the layer classes$/);
      const autocast = origins['precision.autocast']?.note;
      const upcast = /^Accelerate/.test(origins['precision.masterWeights']?.note ?? '');
      return [upcast, values['fsdp.useOriginalParameters'], autocast];
    };
    // Before transformers 4.30 the Trainer wraps the model itself.
    assert.deepEqual(await of('4.26.0'), [false, false, 'the Trainer runs autocast around the forward pass']);
    const accelerated = 'Accelerate runs autocast around the forward pass of FSDP 1';
    assert.deepEqual(await of('4.30.0'), [true, false, accelerated]);
    assert.deepEqual(await of('4.36.0'), [true, true, accelerated]);
  });

  it('start a process for each GPU of each machine where that is asked for', async () => {
    const asked = `distribution={'torch_distributed': {'enabled': True}}, ${VERSIONS}`;
    const { values, left } = await runOf(job(`instance_type='ml.p4d.24xlarge', instance_count=2, ${asked}`));
    assert.deepEqual(
      [values['hardware.gpu'], values['hardware.gpus'], values['hardware.nodes']],
      ['A100-SXM4-40GB', 16, 2],
    );
    assert.deepEqual(left, []);
    const bound = "distribution = {'pytorchddp': {'enabled': True}}\ninstance_type = 'ml.p3.16xlarge'\n";
    const named = await runOf(
      job('instance_type=instance_type, instance_count=1, distribution=distribution', PARAMETERS + bound),
    );
    assert.deepEqual([named.values['hardware.gpu'], named.values['hardware.gpus']], ['V100-SXM2-16GB', 8]);
    assert.deepEqual(named.left, []);
  });

  it('are not estimated where their processes are not', async () => {
    const four = "instance_type='ml.g5.12xlarge', instance_count=1";
    for (const [more, left] of [
      [four, 'value HuggingFace'],
      ["instance_type='ml.g5.xlarge', instance_count=2", 'value HuggingFace'],
      [`${four}, distribution={'smdistributed': {'dataparallel': {'enabled': True}}}`, 'value distribution'],
      [
        `${four}, distribution={'smdistributed': {'modelparallel': {'enabled': True}}}`,
        'refused distribution',
      ],
      [`${four}, distribution=chosen()`, 'value distribution'],
      [`${ONE}, compiler_config=TrainingCompilerConfig()`, 'refused compiler_config'],
      ['instance_type=chosen()', 'value HuggingFace'],
    ] as const)
      assert.ok((await runOf(job(more))).left.includes(left), more);
  });

  it('leave open what the notebook does not settle', async () => {
    const changed = `${PARAMETERS}hyperparameters["rows"] = 4\n`;
    assert.ok((await runOf(job(ONE, changed))).left.length > 0);
    const value = PARAMETERS.replace('24', 'rows_of()');
    const { values, left } = await runOf(job(ONE, value));
    assert.equal(values['model.id'], 'gpt2-large');
    assert.ok(left.length > 0);
  });

  it('are none where nothing fits them, or TensorFlow trains', async () => {
    const plain = [IMPORTS, PARAMETERS, estimator(ONE)];
    assert.deepEqual((await runOf(plain)).runs, []);
    assert.deepEqual((await runOf(job("instance_type='ml.g5.xlarge', tensorflow_version='2.5'"))).runs, []);
    const other = [IMPORTS.replace('sagemaker.huggingface', 'own'), PARAMETERS, estimator(ONE), FIT];
    assert.deepEqual((await runOf(other)).runs, []);
  });

  it('of a repository start nothing of the workspace', async () => {
    const git = "git_config={'repo': 'https://github.com/huggingface/transformers.git', 'branch': 'v4.26.0'}";
    const { values } = await runOf(job(`${ONE}, ${git}`));
    assert.equal(values['batch.micro'], 1);
  });
});
