import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const ADS = `id: ads
name: Ads trainer
keys:
  ads_samples: { type: integer, doc: Samples per GPU., sets: batch.micro }
  ads_tokens: { type: integer, sets: batch.sequence }
defaults:
  model.id: gpt2
  hardware.gpu: H100-SXM5-80GB
  hardware.gpus: 8
`;
const FLAGS = 'ads_samples=4\nads_tokens=1024\n';

function world(files: Readonly<Record<string, string>>) {
  const host = new MemoryHost(
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${ROOT}/${name}`, text])),
    { folders: [ROOT] },
  );
  return { host, workspace: new Workspace(host) };
}

describe('vocabularies of a workspace', () => {
  it('are found in the folders above a file', async () => {
    const { workspace } = world({ 'oomlint-flags.yaml': ADS, 'runs/deep/a.flags': FLAGS });
    const analysis = await workspace.analyze(`${ROOT}/runs/deep/a.flags`);
    assert.equal(analysis?.dialect.name, 'Ads trainer');
    assert.equal(analysis?.resolved.run?.['batch.micro'], 4);
    assert.ok(analysis?.estimate);
  });

  it('may be several, and have a name before their ending', async () => {
    const other = ADS.replaceAll('ads', 'ranking').replace('Ads trainer', 'Ranking trainer');
    const { workspace } = world({
      'ads.oomlint-vocabulary.yaml': ADS,
      'ranking.oomlint-vocabulary.yaml': other,
      'a.yaml': 'ads_samples: 2\n',
      'b.yaml': 'ranking_samples: 2\n',
    });
    assert.equal((await workspace.analyze(`${ROOT}/a.yaml`))?.dialect.id, 'ads');
    assert.equal((await workspace.analyze(`${ROOT}/b.yaml`))?.dialect.id, 'ranking');
  });

  it('may be named by the project file, which reports where there is none', async () => {
    const { workspace } = world({
      'oomlint.yaml': 'vocabularies:\n  - teams/ads.yaml\n  - teams/none.yaml\n',
      'teams/ads.yaml': `${ADS}odd: 1\n`,
      'a.flags': FLAGS,
    });
    assert.equal((await workspace.analyze(`${ROOT}/a.flags`))?.dialect.id, 'ads');
    const problems = await workspace.checkProjectFile(`${ROOT}/oomlint.yaml`);
    assert.deepEqual(
      problems?.map(({ code, range }) => [code, range.start.line]),
      [['missing-file', 2]],
    );
    assert.deepEqual(
      (await workspace.checkProjectFile(`${ROOT}/teams/ads.yaml`))?.map(({ code }) => code),
      ['unknown-key'],
    );
  });

  it('are no configs themselves, and are checked', async () => {
    const { workspace } = world({ 'oomlint-flags.yaml': ADS.replace('batch.micro', 'batch.micr') });
    const uri = `${ROOT}/oomlint-flags.yaml`;
    assert.equal(await workspace.analyze(uri), undefined);
    assert.match((await workspace.checkProjectFile(uri))?.[0]?.message ?? '', /batch\.micr/);
  });

  it('work anew when they change', async () => {
    const { host, workspace } = world({ 'oomlint-flags.yaml': ADS, 'a.flags': FLAGS });
    const uri = `${ROOT}/a.flags`;
    assert.equal((await workspace.analyze(uri))?.resolved.run?.['batch.micro'], 4);
    host.write(
      `${ROOT}/oomlint-flags.yaml`,
      ADS.replace('sets: batch.micro', 'sets: { batch.micro: = 2 * value }'),
    );
    workspace.invalidate(`${ROOT}/oomlint-flags.yaml`);
    assert.equal((await workspace.analyze(uri))?.resolved.run?.['batch.micro'], 8);
    host.remove(`${ROOT}/oomlint-flags.yaml`);
    workspace.invalidate(`${ROOT}/oomlint-flags.yaml`);
    assert.equal(await workspace.analyze(uri), undefined);
  });

  it('do not reach beyond the workspace folder', async () => {
    const host = new MemoryHost(
      { 'file:///oomlint-flags.yaml': ADS, [`${ROOT}/a.flags`]: FLAGS },
      { folders: [ROOT] },
    );
    assert.equal(await new Workspace(host).analyze(`${ROOT}/a.flags`), undefined);
  });
});

describe('in-house flags in a workspace', () => {
  const BASE = 'fp16=true xla=true optimizer=FusedLAMB ln_ytf_impl=1 attn_softmax_ytf_impl=1 ytf_gelu=1\n';

  it('are estimated, and the usable share of 80 GB decides', async () => {
    const { workspace } = world({
      'fits.flags': `l=24,h=2048\nbs=32 seq_len=512\nsplit_opt_state=1 split_grad_accum=1\n${BASE}`,
      'full.flags': `l=48,h=3072\nbs=12 seq_len=512\nsplit_opt_state=1 split_grad_accum=1\n${BASE}`,
    });
    const fits = await workspace.analyze(`${ROOT}/fits.flags`);
    assert.equal(fits?.estimate?.verdict, 'fits');
    assert.equal(fits?.estimate?.capacityBytes, 75e9);
    const full = await workspace.analyze(`${ROOT}/full.flags`);
    assert.equal(full?.estimate?.verdict, 'exceeds');
    assert.ok(full?.problems.some(({ code }) => code === 'does-not-fit'));
  });

  it('of included files hold unless the file states otherwise', async () => {
    const { workspace } = world({
      'base.flags': `${BASE}bs=8 seq_len=512\n`,
      'run.flags': '# large\ninclude base.flags\nl=24,h=1024\nbs=32\ngac=2\nhvd_fp16_compression=1\n',
    });
    const run = (await workspace.analyze(`${ROOT}/run.flags`))?.resolved.run;
    assert.equal(run?.['batch.micro'], 32);
    assert.equal(run?.['batch.sequence'], 512);
    assert.equal(run?.['kernels.fusedGelu'], true);
    assert.equal(run?.['optimizer.name'], 'lamb');
    assert.equal(run?.['precision.compute'], 'fp16');
    assert.equal(run?.['batch.accumulation'], 2);
  });
});
