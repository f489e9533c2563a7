import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { sourcesOf } from '../../../server/src/advice/run-sources';
import { fieldsOf, writeChanges } from '../../../server/src/advice/write/write';
import type { RunValues } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const FLAGS =
  '--model_name_or_path meta-llama/Llama-2-13b-hf --dataset_name wikitext --per_device_train_batch_size 2 --block_size 2048 --bf16 True';
const launch = (more = '') =>
  `# oomlint: gpu=A100-SXM4-80GB\ntorchrun --nproc_per_node 8 run_clm.py ${FLAGS}${more}\n`;
const script = (more = '') =>
  `# oomlint: gpu=A100-SXM4-80GB gpus=8 sequence=2048\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf")\nargs = TrainingArguments(output_dir="out", per_device_train_batch_size=2, bf16=True${more})\ntrainer = Trainer(model=model, args=args)\ntrainer.train()\n`;

async function analyzed(files: Readonly<Record<string, string>>) {
  const texts = Object.fromEntries(Object.entries(files).map(([file, text]) => [`file:///p/${file}`, text]));
  const workspace = new Workspace(new MemoryHost(texts, { folders: ['file:///p'] }));
  const analysis = await workspace.analyze(Object.keys(texts)[0] ?? '');
  assert.ok(analysis && isEstimated(analysis));
  return { analysis, workspace };
}

async function written(files: Readonly<Record<string, string>>, values: RunValues) {
  const { analysis, workspace } = await analyzed(files);
  const plan = await planValues(analysis, values, workspace);
  return { text: plan.files.map(({ after }) => after).join('\n'), left: plan.left };
}

/** The first file with the changes in its own words, whether they are new there or not. */
async function spoken(files: Readonly<Record<string, string>>, changes: RunValues): Promise<string> {
  const { analysis, workspace } = await analyzed(files);
  const run = analysis.resolved.run;
  assert.ok(run);
  const sources = await sourcesOf(analysis, workspace);
  const origins = analysis.resolved.origins;
  const fields = fieldsOf(changes);
  const after = writeChanges({ files: sources, run, origins, changes, fields });
  return after ? (after[0]?.after ?? sources[0]?.text ?? '') : 'no words';
}

const FSDP = (version: 1 | 2): RunValues => ({
  'parallel.data': `fsdp${version}`,
  'fsdp.strategy': 'full',
});
const PINNED = (release: string) => ({ 'requirements.txt': `transformers==${release}\n` });

describe('words for FSDP', () => {
  it('an argument of a launched script has no dots in its name, which argparse would refuse', async () => {
    const late = await written({ 'train.sh': launch(), ...PINNED('5.12.0') }, FSDP(2));
    assert.match(late.text, / --fsdp "full_shard auto_wrap"\n/);
    const early = await written({ 'train.sh': launch(), ...PINNED('5.2.0') }, FSDP(2));
    assert.match(early.text, / --fsdp_config '\{"fsdp_version": ?2\}'/);
    const first = await written({ 'train.sh': launch(), ...PINNED('5.12.0') }, FSDP(1));
    assert.match(first.text, / --fsdp_config '\{"fsdp_version": ?1\}'/);
  });

  it('FSDP 2 is not written for a Trainer that would take no notice', async () => {
    const files = { 'train.sh': launch(), ...PINNED('4.57.1') };
    const { analysis, workspace } = await analyzed(files);
    const fixes = await fixesFor(analysis, workspace);
    const sharded = fixes.filter(({ kind }) => kind.includes('sharding'));
    assert.ok(sharded.length > 0, fixes.map(({ title }) => title).join('\n'));
    for (const { title, changes } of sharded) assert.equal(changes['parallel.data'], 'fsdp1', title);
  });

  it('the version counts as it does in the release', async () => {
    const text = launch(` --fsdp "full_shard auto_wrap" --fsdp_config '{"fsdp_version": 2}'`);
    for (const [release, scheme] of [
      ['4.57.1', 'fsdp1'],
      ['5.2.0', 'fsdp2'],
    ] as const) {
      const { analysis } = await analyzed({ 'train.sh': text, ...PINNED(release) });
      assert.equal(analysis.resolved.run?.['parallel.data'], scheme, release);
      // The text is the block, and no file that is missing.
      assert.deepEqual(
        analysis.problems.filter(({ code }) => code === 'file-not-found').map(({ message }) => message),
        [],
      );
    }
  });

  it('a call takes the settings as one dictionary', async () => {
    const late = await written({ 'train.py': script(), ...PINNED('5.12.0') }, FSDP(2));
    assert.match(late.text, /bf16=True, fsdp="full_shard auto_wrap"\)/);
    const early = await written({ 'train.py': script(), ...PINNED('5.2.0') }, FSDP(2));
    assert.match(early.text, /fsdp_config=\{"fsdp_version": 2\}/);
  });

  it("Accelerate's config becomes one of FSDP with all that `accelerate config` asks for", async () => {
    const files = {
      'train.sh': `# oomlint: gpu=A100-SXM4-80GB\naccelerate launch --config_file accelerate.yaml run_clm.py ${FLAGS}\n`,
      'accelerate.yaml':
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n',
    };
    const { text } = await written(files, {
      ...FSDP(2),
      'offload.parameters': 'cpu',
      'offload.optimizer': 'cpu',
    });
    assert.match(text, /^distributed_type: FSDP$/m);
    assert.match(text, /^fsdp_config:\n {2}fsdp_version: 2\n {2}fsdp_reshard_after_forward: true\n/m);
    assert.match(text, /^ {2}fsdp_offload_params: true$/m);
  });

  it("what Accelerate's config states already is not written again, and what differs is written into its block", async () => {
    const launched = (accelerate: string) => ({
      'accelerate.yaml': `# oomlint: gpu=A100-SXM4-80GB model=meta-llama/Llama-2-13b-hf sequence=2048 micro=2\n${accelerate}`,
    });
    const plain =
      'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n';
    const changes: RunValues = {
      ...FSDP(2),
      'activations.checkpointing': 'full',
      'offload.parameters': 'cpu',
    };
    const once = await spoken(launched(plain), changes);
    assert.match(once, /^ {2}fsdp_activation_checkpointing: true$/m);
    assert.equal(await spoken({ 'accelerate.yaml': once }, changes), once);
    const other = await spoken({ 'accelerate.yaml': once }, { ...changes, 'fsdp.strategy': 'grad-op' });
    assert.equal(other, once.replace('reshard_after_forward: true', 'reshard_after_forward: false'));
    // FSDP 1 is another block: it is not turned key by key.
    assert.equal(await spoken({ 'accelerate.yaml': once }, FSDP(1)), 'no words');
  });

  it('one GPU is not sharded: nothing would be wrapped there', async () => {
    const files = {
      'config.yaml':
        '# oomlint: gpu=RTX-4090 gpus=1\nbase_model: EleutherAI/gpt-neox-20b\nsequence_len: 512\nmicro_batch_size: 4\nadapter: lora\nlora_r: 16\nlora_target_linear: true\noptimizer: adamw_torch\nbf16: true\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n',
    };
    const { analysis, workspace } = await analyzed(files);
    for (const { title, kind } of await fixesFor(analysis, workspace))
      assert.doesNotMatch(kind, /sharding/, title);
  });
});
