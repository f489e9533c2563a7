import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { noteForFile, noteForProject } from '../../../server/src/advice/project-note';
import type { RunValues } from '../../../server/src/run/fields';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { parseProjectFile, projectFacts } from '../../../server/src/workspace/project-file';

const URI = 'file:///project/configs/ds.json';
const PROJECT_URI = 'file:///project/oomlint.yaml';
const PROJECT = `targets:
  gpu: H100-SXM5-80GB # ours
  gpus: 8
defaults:
  model: meta-llama/Llama-3.1-8B
  sequence: 2048
`;
const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3, "reduce_bucket_size": 50000000 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
`;

async function read(text = DEEPSPEED, project: string | undefined = PROJECT) {
  const host = new MemoryHost(
    { [URI]: text, ...(project !== undefined && { [PROJECT_URI]: project }) },
    { folders: ['file:///project'] },
  );
  const workspace = new Workspace(host);
  const analysis = await workspace.analyze(URI);
  assert.ok(analysis?.estimate);
  return { analysis, workspace };
}

async function planned(values: RunValues, text = DEEPSPEED) {
  const { analysis, workspace } = await read(text);
  return planValues(analysis, values, workspace);
}

describe('a plan of what is written', () => {
  it('is written in the words of the family, and is what the changed file states', async () => {
    const { files, note, byHand, left, after } = await planned({ 'batch.micro': 8, 'zero.stage': 2 });
    assert.deepEqual([note, byHand, left], [undefined, [], []]);
    assert.equal(files.length, 1);
    assert.match(files[0]?.after ?? '', /"train_micro_batch_size_per_gpu": 8,/);
    assert.match(files[0]?.after ?? '', /"stage": 2,/);
    assert.equal(after?.resolved.run?.['batch.micro'], 8);
  });

  it('leaves an optimizer that the family has no word for, and writes the rest', async () => {
    const plan = await planned({ 'optimizer.name': 'adamw-8bit', 'batch.micro': 1 });
    assert.deepEqual(plan.left, [
      { field: 'optimizer.name', reason: 'ds.json has no word for optimizer adamw-8bit' },
    ]);
    assert.equal(plan.note, undefined);
    assert.match(plan.files[0]?.after ?? '', /"type": "AdamW"/);
    assert.equal(plan.after?.resolved.run?.['batch.micro'], 1);
  });

  it('notes what no file states for this config alone, with the line that changes the training', async () => {
    const plan = await planned({ 'activations.checkpointing': 'full' });
    assert.deepEqual(plan.files, []);
    assert.equal(plan.note?.uri, PROJECT_URI);
    assert.equal(plan.note?.after, `${PROJECT}files:\n  - match: configs/ds.json\n    checkpointing: full\n`);
    assert.deepEqual(plan.byHand, [
      'Pass `--gradient_checkpointing True`, or set `TrainingArguments(gradient_checkpointing=True)`; without the Trainer, call `model.gradient_checkpointing_enable()` before training.',
    ]);
    assert.equal(plan.after?.resolved.run?.['activations.checkpointing'], 'full');
  });

  it('asks nothing by hand for what the run is only checked against', async () => {
    const plan = await planned({ 'hardware.gpu': 'A100-SXM4-80GB' });
    assert.deepEqual(plan.byHand, []);
    assert.match(
      plan.note?.after ?? '',
      /gpu: H100-SXM5-80GB # ours\n[\s\S]*match: configs\/ds\.json\n {4}gpu: A100/,
    );
    assert.equal(plan.after?.accelerator?.name, 'A100-SXM4-80GB');
  });

  it('is empty where nothing changes', async () => {
    assert.deepEqual(await planned({ 'batch.micro': 2 }), { files: [], byHand: [], left: [] });
  });

  it('refuses what would bring a problem into the file', async () => {
    const text = DEEPSPEED.replace('{\n', '{\n  "train_batch_size": 64,\n');
    // The triangle of the batch: 3 x 4 x 8 is not 64.
    const plan = await planned({ 'batch.micro': 3 }, text);
    assert.deepEqual(plan.files, []);
    assert.match(plan.left[0]?.reason ?? '', /train_batch_size/);
  });
});

describe('a note for one config', () => {
  const project = (text?: string) => ({ uri: PROJECT_URI, text });

  it('is a file of its own where there is none, and holds for that name in that folder', () => {
    const text = noteForFile(project(), 'file:///project/ds.json', { 'batch.sequence': 4096 });
    assert.equal(text, 'files:\n  - match: /ds.json\n    sequence: 4096\n');
    const read = parseProjectFile(PROJECT_URI, text ?? '');
    assert.deepEqual(read.problems, []);
    assert.equal(projectFacts(read, 'file:///project/ds.json').length, 1);
    assert.equal(projectFacts(read, 'file:///project/other/ds.json').length, 0);
  });

  it('goes into the entry that names just this config', () => {
    const present =
      'files:\n  - match: configs/ds.json # one\n    sequence: 1024\n  - match: "*.json"\n    micro: 1\n';
    assert.equal(
      noteForFile(project(present), URI, { 'batch.sequence': 4096 }),
      'files:\n  - match: configs/ds.json # one\n    sequence: 4096\n  - match: "*.json"\n    micro: 1\n',
    );
  });

  it('is none where the text cannot be read', () => {
    assert.equal(noteForFile(project('a: [1'), URI, { 'batch.sequence': 4096 }), undefined);
    assert.equal(noteForFile(project('files: 3\n'), URI, { 'batch.sequence': 4096 }), undefined);
  });
});

describe('a note for every config', () => {
  const facts = { 'hardware.gpu': 'A100-SXM4-80GB', 'hardware.gpus': 4 };

  it('sorts hardware under targets and the rest under defaults', () => {
    assert.equal(
      noteForProject(undefined, { ...facts, 'batch.sequence': 4096 }),
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 4\ndefaults:\n  sequence: 4096\n',
    );
  });

  it('keeps comments and order, and fills a section that is named and empty', () => {
    const text = '# ours\ntargets:\n  gpus: 8 # a node\n  gpu: H100\n';
    const after = '# ours\ntargets:\n  gpus: 4 # a node\n  gpu: A100-SXM4-80GB\n';
    assert.equal(noteForProject(text, facts), after);
    assert.equal(noteForProject('defaults:\n', { 'batch.micro': 2 }), 'defaults:\n  micro-batch: 2\n');
  });

  it('is none where the text cannot be read', () => {
    for (const text of ['a: [1', '- 1\n', 'targets: 3\n'])
      assert.equal(noteForProject(text, facts), undefined, text);
  });
});

describe('checkpointing of a DeepSpeed file', () => {
  it('is a fix with the line for the Trainer, though the file has no word for it', async () => {
    const text = DEEPSPEED.replace('gpu": 2', 'gpu": 8');
    const { analysis, workspace } = await read(text);
    assert.ok(isEstimated(analysis) && analysis.estimate.verdict === 'exceeds');
    const fixes = await fixesFor(analysis, workspace);
    const fix = fixes.find(({ kind }) => kind === 'checkpointing');
    assert.ok(fix, fixes.map(({ title }) => title).join('\n'));
    assert.match(fix.byHand.join(' '), /--gradient_checkpointing True/);
    assert.deepEqual(
      fix.files.map(({ uri, note }) => [uri, note]),
      [[PROJECT_URI, true]],
    );
  });
});
