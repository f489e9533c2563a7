import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { type Fix, fixesFor } from '../../../server/src/advice/fixes';
import { fileEdits } from '../../../server/src/features/file-edits';
import { fixActions } from '../../../server/src/features/fix-actions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

type Files = Readonly<Record<string, string>>;

const LOOP = `import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

accelerator = Accelerator(mixed_precision="bf16")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf")
loader = DataLoader(dataset, batch_size=2, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
`;
const PLAIN = LOOP.replace('from accelerate import Accelerator\n', '')
  .replace('accelerator = Accelerator(mixed_precision="bf16")\n', '')
  .replace(/^model, optimizer.*\n/m, '')
  .replace('accelerator.backward(loss)', 'loss.backward()');
const script = (command: string, gpus = '') =>
  `#!/bin/bash\n# oomlint: gpu=A100-SXM4-80GB sequence=2048${gpus}\n${command}\n`;
const FLAGS =
  '--model_name_or_path meta-llama/Llama-2-13b-hf --dataset_name wikitext --per_device_train_batch_size 2 --block_size 2048';

const at = (name: string) => `file:///p/${name}`;

async function fixesOf(files: Files) {
  const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [at(name), text]));
  const host = new MemoryHost(texts, { folders: ['file:///p'] });
  const workspace = new Workspace(host);
  const [first = ''] = Object.keys(texts);
  const analysis = await workspace.analyze(first);
  assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
  return { host, workspace, analysis, fixes: await fixesFor(analysis, workspace) };
}

const madeBy = ({ files }: Fix) => files.find(({ create, note }) => create && !note);
const making = (fixes: readonly Fix[]) =>
  fixes.find((fix) => /\/accelerate_\w+\.yaml$/.test(madeBy(fix)?.uri ?? ''));

/** A launch is given a config of Accelerate that does not exist yet: proved like any other change. */
describe('a fix that makes a config of Accelerate', () => {
  const cases: readonly (readonly [string, Files, string])[] = [
    [
      'a launch by Accelerate',
      {
        'scripts/train.sh': script('accelerate launch --num_processes 8 scripts/train.py'),
        'scripts/train.py': LOOP,
      },
      'accelerate launch --config_file scripts/accelerate_fsdp2.yaml --num_processes 8 scripts/train.py',
    ],
    [
      'a launch without flags',
      { 'train.sh': script('accelerate launch train.py', ' gpus=8'), 'train.py': LOOP },
      'accelerate launch --config_file accelerate_fsdp2.yaml train.py',
    ],
    [
      'a launch that asks for replicas by a flag, which would keep Accelerate from its config',
      {
        'train.sh': script(
          'accelerate launch \\\n    --multi_gpu \\\n    --num_processes 8 \\\n    train.py',
        ),
        'train.py': LOOP,
      },
      'accelerate launch --config_file accelerate_fsdp2.yaml \\\n    --num_processes 8 \\\n    train.py',
    ],
    [
      'a launch of the module',
      {
        'train.sh': script('python -m accelerate.commands.launch --num_processes 8 train.py'),
        'train.py': LOOP,
      },
      'python -m accelerate.commands.launch --config_file accelerate_fsdp2.yaml --num_processes 8 train.py',
    ],
    [
      'a launch by torchrun of a script around an Accelerator',
      { 'train.sh': script('torchrun --standalone --nproc_per_node 8 train.py --seed 1'), 'train.py': LOOP },
      'accelerate launch --config_file accelerate_fsdp2.yaml train.py --seed 1',
    ],
    [
      'the launch of a script that is at hand',
      { 'train.py': LOOP, 'train.sh': script('accelerate launch --num_processes 8 train.py') },
      'accelerate launch --config_file accelerate_fsdp2.yaml --num_processes 8 train.py',
    ],
    [
      "transformers' example without a Trainer, whose flags are few",
      { 'train.sh': script(`accelerate launch --num_processes 8 run_clm_no_trainer.py ${FLAGS}`) },
      `accelerate launch --config_file accelerate_fsdp2.yaml --num_processes 8 run_clm_no_trainer.py ${FLAGS}`,
    ],
  ];
  for (const [what, files, launch] of cases)
    it(`names it in ${what}, and all read again are a run that fits`, async () => {
      const { host, workspace, analysis, fixes } = await fixesOf(files);
      assert.equal(analysis.estimate.verdict, 'exceeds');
      const fix = making(fixes);
      assert.ok(fix, fixes.map(({ title }) => title).join('\n') || 'none');
      assert.equal(fix.files.length, 2);
      const [changed, made] = fix.files;
      assert.ok(changed?.after.includes(`\n${launch}\n`), changed?.after);
      assert.equal(made, madeBy(fix));
      assert.ok(fileEdits(fix.files).some(({ uri, create }) => uri === made?.uri && create));
      for (const file of fix.files) host.write(file.uri, file.after);
      workspace.invalidateAll();
      for (const uri of [analysis.uri, ...fix.files.map((file) => file.uri)]) {
        const after = await workspace.analyze(uri);
        assert.equal(after?.estimate?.verdict, 'fits', uri);
        assert.equal(after?.estimate?.peak.processBytes, fix.afterBytes, uri);
        assert.equal(after?.resolved.values['parallel.data'], 'fsdp2');
        assert.equal(after?.resolved.values['hardware.gpus'], 8);
        assert.deepEqual(
          after?.problems.filter(({ severity }) => severity === 'error' || severity === 'warning'),
          [],
          uri,
        );
      }
    });

  it('reports it in its title, and is the preferred one where it takes nothing away', async () => {
    const { analysis, workspace } = await fixesOf({
      'train.sh': script('accelerate launch --num_processes 8 train.py'),
      'train.py': LOOP,
    });
    const verdict = analysis.problems.find(({ code }) => code === 'does-not-fit');
    assert.ok(verdict);
    const actions = await fixActions(analysis, verdict.range, workspace);
    const action = actions.find(({ title }) => title.endsWith('with a new file accelerate_fsdp2.yaml'));
    assert.ok(action, actions.map(({ title }) => title).join('\n'));
    assert.equal(action.preferred, true);
    assert.deepEqual(
      action.edits.map(({ uri, create }) => [uri, create ?? false]),
      [
        [at('train.sh'), false],
        [at('accelerate_fsdp2.yaml'), true],
      ],
    );
  });

  it('holds FSDP with offload, and checkpoints activations where the script has no word for it', async () => {
    const { fixes } = await fixesOf({
      'train.sh': script('accelerate launch --num_processes 2 train.py', ' hostMemory=500GB'),
      'train.py': LOOP,
    });
    const fix = making(fixes);
    assert.ok(fix, fixes.map(({ title }) => title).join('\n') || 'none');
    const text = madeBy(fix)?.after ?? '';
    assert.match(madeBy(fix)?.uri ?? '', /accelerate_fsdp2?_offload\.yaml$/);
    assert.match(text, /^ {2}fsdp_offload_params: true$/m);
    assert.match(text, /^num_processes: 2$/m);
    const small = await fixesOf({
      'train.sh': script('accelerate launch --num_processes 8 train.py').replace('2048', '8192'),
      'train.py': LOOP,
    });
    const checkpointed = small.fixes.find(({ kind }) => kind.includes('checkpointing'));
    assert.ok(checkpointed, small.fixes.map(({ title }) => title).join('\n') || 'none');
    assert.match(madeBy(checkpointed)?.after ?? '', /^ {2}fsdp_activation_checkpointing: true$/m);
  });

  it('is of FSDP 1 where Accelerate knows no other', async () => {
    const { fixes } = await fixesOf({
      'train.sh': script('accelerate launch --num_processes 8 train.py'),
      'train.py': LOOP,
      'requirements.txt': 'accelerate==1.2.1\n',
    });
    const fix = making(fixes) ?? assert.fail('none');
    assert.equal(madeBy(fix)?.uri, at('accelerate_fsdp.yaml'));
    assert.match(madeBy(fix)?.after ?? '', /^ {2}fsdp_sharding_strategy: FULL_SHARD$/m);
    assert.doesNotMatch(madeBy(fix)?.after ?? '', /fsdp_version/);
  });

  it('is made of what is applied in the panel, too', async () => {
    const { analysis, workspace } = await fixesOf({
      'train.sh': script('accelerate launch --num_processes 8 train.py'),
      'train.py': LOOP,
    });
    const plan = await planValues(analysis, { 'parallel.data': 'fsdp2', 'fsdp.strategy': 'full' }, workspace);
    assert.deepEqual(plan.left, []);
    assert.deepEqual(
      plan.files.map(({ uri, create }) => [uri, create ?? false]),
      [
        [at('train.sh'), false],
        [at('accelerate_fsdp2.yaml'), true],
      ],
    );
    assert.equal(plan.after?.estimate?.verdict, 'fits');
  });

  it('leaves nothing over where a fix is tried and applied then', async () => {
    const runs: readonly Files[] = [
      { 'train.sh': script('accelerate launch --num_processes 8 train.py'), 'train.py': LOOP },
      { 'train.sh': script(`torchrun --nproc_per_node 8 run_clm.py ${FLAGS} --bf16 True`, ' gpus=8') },
    ];
    for (const files of runs) {
      const { analysis, workspace, fixes } = await fixesOf(files);
      const fix = fixes.find(({ kind }) => kind === 'sharding') ?? assert.fail('none');
      const plan = await planValues(analysis, fix.changes, workspace);
      assert.deepEqual(plan.left, []);
      assert.deepEqual(
        plan.files.map(({ uri, after }) => [uri, after]),
        fix.files.map(({ uri, after }) => [uri, after]),
      );
    }
  });

  const without: readonly (readonly [string, Files])[] = [
    [
      'where the launch names a config already',
      {
        'train.sh': script('accelerate launch --config_file mine.yaml --num_processes 8 train.py'),
        'train.py': LOOP,
      },
    ],
    [
      'where flags say what kind of run it is',
      {
        'train.sh': script(
          'accelerate launch --use_fsdp --fsdp_sharding_strategy NO_SHARD --num_processes 8 train.py',
        ),
        'train.py': LOOP,
      },
    ],
    [
      'where a name is taken',
      {
        'train.sh': script('accelerate launch --num_processes 8 train.py'),
        'train.py': LOOP,
        ...Object.fromEntries(
          ['accelerate_fsdp', 'accelerate_fsdp_offload', 'accelerate_fsdp2', 'accelerate_fsdp2_offload'].map(
            (name) => [`${name}.yaml`, 'mine: true\n'],
          ),
        ),
      },
    ],
    [
      'where the script is not known to run under Accelerate',
      { 'train.sh': script('torchrun --nproc_per_node 8 train.py'), 'train.py': PLAIN },
    ],
    [
      'where several machines start it by torchrun',
      {
        'train.sh': script('torchrun --nnodes 2 --nproc_per_node 8 --rdzv_endpoint host:29500 train.py'),
        'train.py': LOOP,
      },
    ],
    [
      'where a variable holds the launcher of other commands',
      {
        'train.sh': script('RUN="torchrun --nproc_per_node 8"\n$RUN train.py\n$RUN other.py'),
        'train.py': LOOP,
      },
    ],
  ];
  for (const [where, files] of without)
    it(`is not offered ${where}`, async () => {
      const { fixes } = await fixesOf(files);
      assert.equal(making(fixes)?.title, undefined);
    });
});

describe('the precision of a script under a config of Accelerate', () => {
  const config = (kind: string) =>
    `compute_environment: LOCAL_MACHINE\ndistributed_type: ${kind}\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n`;
  const FSDP = 'fsdp_config:\n  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n';
  const ZERO = 'deepspeed_config:\n  zero_stage: 3\n';
  for (const [what, yaml] of [
    ['FSDP', config('FSDP') + FSDP],
    ['DeepSpeed', config('DEEPSPEED') + ZERO],
    ['replicas', config('MULTI_GPU')],
  ] as const)
    it(`is the same from each of its files: ${what}`, async () => {
      const files: Files = {
        'train.sh': script('accelerate launch --config_file a.yaml train.py'),
        'train.py': LOOP,
        'a.yaml': yaml,
      };
      const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [at(name), text]));
      const workspace = new Workspace(new MemoryHost(texts, { folders: ['file:///p'] }));
      const peaks = new Set<number>();
      for (const uri of Object.keys(texts)) {
        const analysis = await workspace.analyze(uri);
        assert.ok(analysis?.estimate, uri);
        peaks.add(analysis.estimate.peak.processBytes);
        assert.deepEqual(
          analysis.problems.filter(({ code }) => code === 'cross-file-conflict'),
          [],
          uri,
        );
      }
      assert.equal(peaks.size, 1, [...peaks].join(' '));
    });
});
