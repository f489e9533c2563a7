import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const PROJECT = { 'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\n' };
const SCRIPT = `from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Arguments:
    rows: int = field(default=1)
    model: str = field(default="Qwen/Qwen2.5-0.5B")
args = HfArgumentParser(Arguments).parse_args_into_dataclasses()[0]
model = AutoModelForCausalLM.from_pretrained(args.model)
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=args.rows), train_dataset=ds).train()
`;
const LAUNCH = 'torchrun --nproc_per_node=4 scripts/tune.py --rows=24';

/** A notebook as Jupyter saves it: each line of a cell is a string of the file. */
const jupyter = (...cells: readonly string[]) =>
  JSON.stringify(
    {
      cells: cells.map((cell) => ({
        cell_type: 'code',
        source: cell.split(/(?<=\n)/),
        outputs: [{ output_type: 'stream', text: ['!torchrun --nproc_per_node=2 scripts/tune.py\n'] }],
      })),
      metadata: {},
      nbformat: 4,
    },
    undefined,
    1,
  );
/** Source of a notebook as Databricks exports it. */
const databricks = (...cells: readonly string[]) =>
  `# Databricks notebook source\n${cells.join('\n\n# COMMAND ----------\n\n')}\n`;

async function runOf(files: Readonly<Record<string, string>>, name = 'scripts/tune.py') {
  const { analyze } = smallWorkspace({ ...PROJECT, 'scripts/tune.py': SCRIPT, ...files });
  const analysis = await analyze(name);
  const { values } = analysis.resolved;
  return {
    gpus: values['hardware.gpus'],
    micro: values['batch.micro'],
    transformers: values['version.transformers'],
    runs: analysis.runs?.map(({ name: run }) => run) ?? [],
    analysis,
  };
}

describe('launches that stand in notebooks', () => {
  for (const [what, files] of [
    ['a line for the shell', { 'run.ipynb': jupyter(`!${LAUNCH}`) }],
    [
      'lines that go on',
      { 'run.ipynb': jupyter(`x = 1\n!torchrun \\\n  --nproc_per_node=4 \\\n  scripts/tune.py --rows=24`) },
    ],
    ['a cell for the shell', { 'run.ipynb': jupyter(`%%bash\nexport X=1\n${LAUNCH}`) }],
    ['a cell for the shell of Colab', { 'run.ipynb': jupyter(`# Start it\n%%shell\n${LAUNCH}`) }],
    ['a call of Python', { 'run.ipynb': jupyter(`import os\nos.system("${LAUNCH}")`) }],
    [
      'a notebook beside the script',
      { 'scripts/run.ipynb': jupyter('!torchrun --nproc_per_node=4 tune.py --rows=24') },
    ],
    [
      'a folder that it enters',
      { 'run.ipynb': jupyter('%cd scripts', '!torchrun --nproc_per_node=4 tune.py --rows=24') },
    ],
    ['a line of Databricks', { 'run.py': databricks('x = 1', `!${LAUNCH.replaceAll(' ', ' \\\n')}`) }],
    ['a marked line of Databricks', { 'run.py': databricks(`# MAGIC !${LAUNCH}`) }],
    ['a cell for the shell of Databricks', { 'run.py': databricks(`# MAGIC %sh\n# MAGIC ${LAUNCH}`) }],
    [
      'names that the notebook binds',
      {
        'run.ipynb': jupyter(
          'ROWS = 24\nGPUS = "4"',
          '!torchrun --nproc_per_node=$GPUS scripts/tune.py --rows={ROWS}',
        ),
      },
    ],
  ] as const)
    it(`start a script: ${what}`, async () => {
      const { gpus, micro } = await runOf(files);
      assert.deepEqual({ gpus, micro }, { gpus: 4, micro: 24 });
    });

  it('choose values that the script has defaults of, under the names of the Trainer, too', async () => {
    const script = SCRIPT.replaceAll('rows', 'per_device_train_batch_size');
    const launch = LAUNCH.replace('rows', 'per_device_train_batch_size');
    for (const [name, text] of [
      ['run.ipynb', jupyter(`!${launch}`)],
      ['README.md', `\`\`\`bash\n${launch}\n\`\`\`\n`],
    ] as const) {
      const { gpus, micro } = await runOf({ 'scripts/tune.py': script, [name]: text });
      assert.deepEqual({ gpus, micro }, { gpus: 4, micro: 24 });
    }
  });

  it('start it with the packages that their notebook installs, whatever lies around', async () => {
    const around = { 'requirements.txt': 'transformers==4.50.0\n' };
    const install = '%pip install -U transformers==4.34.0';
    const { transformers } = await runOf({ ...around, 'run.ipynb': jupyter(install, `!${LAUNCH}`) });
    assert.equal(transformers, '4.34.0');
    const source = databricks(`# MAGIC ${install}`, `!${LAUNCH}`);
    assert.equal((await runOf({ ...around, 'run.py': source })).transformers, '4.34.0');
    const other = jupyter(install, '!torchrun scripts/other.py');
    assert.equal((await runOf({ ...around, 'run.ipynb': other })).transformers, '4.50.0');
  });

  it('are found at the line of the file', async () => {
    const text = jupyter('x = 1', `print(x)\n!${LAUNCH}`);
    const { runs, analysis } = await runOf({ 'run.ipynb': text });
    const line = text.split('\n').findIndex((each) => each.includes(`!${LAUNCH}`));
    assert.deepEqual(runs, [`run.ipynb:${line + 1}`]);
    const origin = analysis.resolved.origins['hardware.gpus'];
    assert.equal(origin?.location?.range.start.line, line);
  });

  it('have the variables that magics set, however the value is written', async () => {
    for (const magic of [
      '%env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
      '%env PYTORCH_CUDA_ALLOC_CONF expandable_segments:True',
      '%set_env PYTORCH_CUDA_ALLOC_CONF = expandable_segments:True',
    ]) {
      const { analysis, gpus } = await runOf({ 'run.ipynb': jupyter(magic, `!${LAUNCH}`) });
      assert.deepEqual([analysis.resolved.values['allocator.expandableSegments'], gpus], [true, 4], magic);
    }
    // What Python puts in is not known, and the rest of the command is.
    const put = await runOf({ 'run.ipynb': jupyter('%env PYTORCH_CUDA_ALLOC_CONF={conf}', `!${LAUNCH}`) });
    assert.deepEqual([put.analysis.resolved.values['allocator.expandableSegments'], put.gpus], [false, 4]);
    const rows = await runOf({ 'run.ipynb': jupyter('%env ROWS 24', `!${LAUNCH.replace('24', '$ROWS')}`) });
    assert.equal(rows.micro, 24);
    // A name that no shell takes leaves the commands behind it as they are.
    for (const name of ['FOO(x)', 'A.B', '9', 'FOO;', "F'"]) {
      const { gpus, micro } = await runOf({ 'run.ipynb': jupyter(`%env ${name}=1`, `!${LAUNCH}`) });
      assert.deepEqual([gpus, micro], [4, 24], name);
    }
  });

  it('leave unknown what Python puts in', async () => {
    for (const put of ['{rows}', '{config["rows"]}', '$rows']) {
      const cells = [
        'rows = 24',
        'rows = rows * 2',
        `!torchrun --nproc_per_node=4 scripts/tune.py --rows ${put}`,
      ];
      const { micro, gpus, analysis } = await runOf({ 'run.ipynb': jupyter(...cells) });
      assert.equal(gpus, 4);
      assert.equal(micro, undefined, put);
      assert.equal(analysis.estimate, undefined);
    }
  });

  it('are those of other trees behind a change of the folder', async () => {
    for (const away of [
      '%cd /content/other',
      '%cd {home}',
      'os.chdir(home)',
      '!git clone https://x.org/a/other.git\n%cd other',
    ])
      assert.deepEqual((await runOf({ 'run.ipynb': jupyter(away, `!${LAUNCH}`) })).runs, [], away);
    // The name under which the repository itself is cloned.
    const own = jupyter('!git clone https://x.org/a/repo.git\n%cd repo', `!${LAUNCH}`);
    assert.equal((await runOf({ 'run.ipynb': own })).gpus, 4);
  });

  it('are no text, no output, and no cell of another language', async () => {
    for (const cell of [`# !${LAUNCH}`, `%%writefile run.sh\n!${LAUNCH}`, `text = "!${LAUNCH}"`])
      assert.deepEqual((await runOf({ 'run.ipynb': jupyter(cell) })).runs, [], cell);
    for (const cell of [`# MAGIC %md\n# MAGIC !${LAUNCH}`, `# !${LAUNCH}`])
      assert.deepEqual((await runOf({ 'run.py': databricks(cell) })).runs, [], cell);
    assert.deepEqual((await runOf({ 'run.py': `x = 1\n# MAGIC !${LAUNCH}\n` })).runs, []);
  });

  it('are those of a job of SageMaker, whose packages are not those of the notebook', async () => {
    const job = (command: string) => `source = SourceCode(
    source_dir="scripts/",
    # command="torchrun --nproc_per_node=2 other.py",
    command="${command}",
)`;
    const install = '%pip install transformers==4.34.0';
    for (const path of ['/opt/ml/input/data/code/tune.py', 'tune.py']) {
      const cells = jupyter(install, job(`torchrun --nproc_per_node=4 ${path} --rows=24`));
      const { gpus, micro, transformers } = await runOf({ 'run.ipynb': cells });
      assert.deepEqual({ gpus, micro }, { gpus: 4, micro: 24 }, path);
      assert.notEqual(transformers, '4.34.0');
    }
    const commented = job('torchrun --nproc_per_node=4 tune.py').replace(/^/gm, '# ');
    assert.deepEqual((await runOf({ 'run.ipynb': jupyter(commented) })).runs, []);
  });

  it('name the config of a launcher', async () => {
    const accelerate =
      'mixed_precision: bf16\nnum_processes: 8\nnum_machines: 1\ndistributed_type: MULTI_GPU\ncompute_environment: LOCAL_MACHINE\n';
    const launch = jupyter('!accelerate launch --config_file scripts/default.yaml scripts/tune.py');
    const { gpus, analysis } = await runOf({ 'run.ipynb': launch, 'scripts/default.yaml': accelerate });
    assert.equal(gpus, 8);
    assert.equal(analysis.resolved.values['precision.compute'], 'bf16');
  });
});
