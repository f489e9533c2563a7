import assert from 'node:assert/strict';
import { sourcesOf } from '../../../server/src/advice/run-sources';
import { writeChanges } from '../../../server/src/advice/write/write';
import { keyAt } from '../../../server/src/features/key-at';
import { Workspace, type WorkspaceOptions } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { ROOT, smallWorkspace } from './small-workspace';

const D = '$';
const PROJECT = 'targets: {gpu: H100, gpus: 8}\n';

const world = (files: Record<string, string>, options: WorkspaceOptions = {}) =>
  smallWorkspace({ 'oomlint.yaml': PROJECT, ...files }, options);
type Found = Awaited<ReturnType<ReturnType<typeof world>['analyze']>>;
const placeOf = ({ resolved }: Found, field: keyof Found['resolved']['origins']) => {
  const location = resolved.origins[field]?.location;
  return location && `${location.uri.slice(ROOT.length + 1)}:${location.range.start.line + 1}`;
};
const codes = ({ problems }: Found) => problems.map(({ code }) => code);

const GPT = {
  'conf/config.yaml': `defaults:
  - _self_
  - model: gpt_1b
  - trainer: node
  - optional cluster: none
exp_manager: {name: x}
`,
  'conf/model/gpt_1b.yaml': `micro_batch_size: 4
global_batch_size: 256
tensor_model_parallel_size: 2
encoder_seq_length: 2048
max_position_embeddings: ${D}{.encoder_seq_length}
num_layers: 24
hidden_size: 2048
num_attention_heads: 16
ffn_hidden_size: 8192
make_vocab_size_divisible_by: 128
megatron_amp_O2: true
precision: ${D}{trainer.precision}
tokenizer: {library: megatron, type: GPT2BPETokenizer}
optim: {name: distributed_fused_adam}
`,
  'conf/trainer/node.yaml': 'devices: 8\nnum_nodes: 2\nprecision: bf16\n',
};

describe('a run composed from groups', () => {
  it('is read as one config, every value with its place', async () => {
    const run = await world(GPT).analyze('conf/config.yaml');
    assert.equal(run.dialect.id, 'nemo');
    assert.equal(run.resolved.values['batch.micro'], 4);
    assert.equal(placeOf(run, 'batch.micro'), 'conf/model/gpt_1b.yaml:1');
    assert.equal(run.resolved.values['hardware.gpus'], 16);
    assert.equal(placeOf(run, 'hardware.gpus'), 'conf/trainer/node.yaml:1');
    assert.equal(run.resolved.values['precision.compute'], 'bf16');
    assert.ok(run.estimate);
    const one = `exp_manager: {name: x}\nmodel:\n${GPT['conf/model/gpt_1b.yaml'].replace(/^/gm, '  ')}\ntrainer:\n${GPT['conf/trainer/node.yaml'].replace(/^/gm, '  ')}`;
    const alone = await world({ 'conf/config.yaml': one }).analyze('conf/config.yaml');
    assert.equal(run.estimate.peak.processBytes, alone.estimate?.peak.processBytes);
  });

  it('reports where its own values stand in the spelling that the editor has of its address', async () => {
    const uri = `${ROOT}/a%20%28b%29/config.yaml`;
    const host = new MemoryHost(
      {
        [uri]: `defaults: [{model: gpt_1b}, _self_]\nexp_manager: {}\ntrainer: {devices: 4, num_nodes: 1}\n`,
        [`${ROOT}/a (b)/model/gpt_1b.yaml`]: GPT['conf/model/gpt_1b.yaml'],
        [`${ROOT}/oomlint.yaml`]: PROJECT,
      },
      { folders: [ROOT] },
    );
    const run = await new Workspace(host).analyze(uri);
    assert.equal(run?.resolved.origins['hardware.gpus']?.location?.uri, uri);
    assert.equal(run.resolved.values['batch.micro'], 4);
  });

  it('links each option to its file', async () => {
    const run = await world(GPT).analyze('conf/config.yaml');
    assert.deepEqual(
      run.links.map(({ uri, range }) => [uri?.slice(ROOT.length + 1), range.start.line]),
      [
        [undefined, 4],
        ['conf/trainer/node.yaml', 3],
        ['conf/model/gpt_1b.yaml', 2],
      ],
    );
    assert.deepEqual(codes(run), []);
  });

  it('shows a part in the run that starts from it', async () => {
    const { analyze, workspace } = world(GPT);
    const run = await analyze('conf/config.yaml');
    const part = await analyze('conf/model/gpt_1b.yaml');
    assert.equal(part.estimate?.peak.processBytes, run.estimate?.peak.processBytes);
    assert.equal(part.resolved.origins['batch.micro']?.kind, 'file');
    assert.equal(part.run, `${ROOT}/conf/config.yaml`);
    assert.equal(part.usedBy?.[0]?.range.start.line, 2);
    assert.ok(await workspace.isCandidate(`${ROOT}/conf/model/gpt_1b.yaml`, GPT['conf/model/gpt_1b.yaml']));
    const key = keyAt(part, { line: 0, character: 3 });
    assert.deepEqual(key?.spec?.fields, ['batch.micro']);
  });

  it('writes a change where the value stands, and a new key into the block that the family has it in', async () => {
    const { analyze, workspace } = world(GPT);
    const run = await analyze('conf/config.yaml');
    assert.ok(run.resolved.run);
    const written = writeChanges({
      files: await sourcesOf(run, workspace),
      run: run.resolved.run,
      origins: run.resolved.origins,
      changes: { 'batch.micro': 2, 'parallel.tensor': 4, 'activations.checkpointing': 'full' },
      fields: ['batch.micro', 'parallel.tensor', 'activations.checkpointing'],
    });
    const texts = new Map(written?.map(({ uri, after }) => [uri.slice(ROOT.length + 1), after]));
    assert.match(
      texts.get('conf/model/gpt_1b.yaml') ?? '',
      /^micro_batch_size: 2\n[\s\S]*tensor_model_parallel_size: 4\n/,
    );
    const after = await workspace.preview(
      run.uri,
      new Map(written?.map(({ uri, after: text }) => [uri, text])),
    );
    assert.equal(after?.resolved.values['batch.micro'], 2);
    assert.equal(after?.resolved.values['parallel.tensor'], 4);
    assert.equal(after?.resolved.values['activations.checkpointing'], 'full');
  });

  it('has one option of a group put in the place of another by the config itself', async () => {
    const { analyze } = world({
      ...GPT,
      'conf/big.yaml': 'defaults:\n  - config\n  - override model: gpt_2b\n',
      'conf/model/gpt_2b.yaml': GPT['conf/model/gpt_1b.yaml'].replace('num_layers: 24', 'num_layers: 48'),
    });
    const big = await analyze('conf/big.yaml');
    assert.equal(big.model?.layers, 48);
  });

  it('reads a config that lies in a block, as launchers keep it', async () => {
    const model = GPT['conf/model/gpt_1b.yaml'].replace(/^/gm, '  ').trimEnd();
    const { analyze } = world({
      'conf/config.yaml': 'defaults:\n  - _self_\n  - training: gpt3/1b\nstages: [training]\nseed: 1\n',
      'conf/training/gpt3/1b.yaml': `run: {name: x}\ntrainer: {devices: 8, num_nodes: 1, precision: bf16}\nexp_manager: {}\nmodel:\n${model}\n`,
    });
    const run = await analyze('conf/config.yaml');
    assert.equal(run.dialect.id, 'nemo');
    assert.equal(run.resolved.values['batch.global'], 256);
    assert.equal(placeOf(run, 'batch.global'), 'conf/training/gpt3/1b.yaml:6');
    assert.ok(run.estimate);
    const part = await analyze('conf/training/gpt3/1b.yaml');
    assert.equal(part.estimate?.peak.processBytes, run.estimate.peak.processBytes);
  });

  it('takes arguments of the Trainer out of groups that are put at the top', async () => {
    const { analyze } = world({
      'config.yaml': `defaults: [{trainer: sft}, {model: llama}, _self_]\nper_device_train_batch_size: 2\n`,
      'trainer/sft.yaml':
        '# @package _global_\nper_device_train_batch_size: 8\ngradient_checkpointing: true\nbf16: true\nmax_length: 4096\ndeepspeed: ds.json\n',
      'model/llama.yaml': '# @package _global_\nmodel_name_or_path: meta-llama/Llama-3.1-8B\n',
      'trainer/ds.json':
        '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}',
    });
    const run = await analyze('config.yaml');
    assert.equal(run.resolved.values['batch.micro'], 2);
    assert.equal(run.resolved.values['zero.stage'], 3);
    assert.equal(placeOf(run, 'model.id'), 'model/llama.yaml:2');
  });

  it('does not report in one file what is wrong in another', async () => {
    const { analyze } = world({
      'child.yaml': 'defaults: [base]\nper_device_train_batch_size: 2\n',
      'base.yaml':
        'model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 4\nwarmup_stepss: 4\nbf16: true\ngradient_checkpointing: true\nmax_length: 2048\noutput_dir: x\n',
    });
    const base = await analyze('base.yaml');
    assert.ok(codes(base).includes('unknown-key'), codes(base).join());
    assert.ok(!codes(await analyze('child.yaml')).includes('unknown-key'));
  });

  it('follows a change of a part', async () => {
    const texts = Object.fromEntries(
      Object.entries({ ...GPT, 'oomlint.yaml': PROJECT }).map(([path, text]) => [`${ROOT}/${path}`, text]),
    );
    const host = new MemoryHost(texts, { folders: [ROOT] });
    const workspace = new Workspace(host);
    const uri = `${ROOT}/conf/config.yaml`;
    const part = `${ROOT}/conf/model/gpt_1b.yaml`;
    const micro = async () => (await workspace.analyze(uri))?.resolved.values['batch.micro'];
    assert.equal(await micro(), 4);
    assert.ok(workspace.dependents(part).includes(uri));
    host.write(part, GPT['conf/model/gpt_1b.yaml'].replace('micro_batch_size: 4', 'micro_batch_size: 8'));
    workspace.invalidate(part);
    assert.equal(await micro(), 8);
  });
});
