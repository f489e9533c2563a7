import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitIn, oomlint } from './oomlint';

const recipe = (more: string) =>
  `base_model: NousResearch/Llama-3.2-1B\nadapter: lora\nlora_target_linear: true\nlora_r: 16\nmicro_batch_size: 1\nsequence_len: 2048\nmax_steps: 10\ndatasets:\n  - path: a\n    type: alpaca\n${more}`;
const ON_ONE = ['--gpu', 'A100-80GB', '--gpus', '1'];

describe('oomlint check', function () {
  this.timeout(120_000);
  let folder = '';
  const put = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  };
  const check = (...args: string[]) => oomlint(['check', ...args], folder);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-check-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('passes no folder in which it found nothing', async () => {
    await put('notes.yaml', 'a: 1\n');
    assert.deepEqual(await check(), {
      code: 3,
      out: '0 configs checked: 0 errors, 0 warnings\n',
      err: 'oomlint: no training config was found, so nothing was checked.\n',
    });
    assert.equal((await check('--allow-none')).code, 0);
  });

  it('reports it of a named file that is no config', async () => {
    await put('notes.yaml', 'a: 1\n');
    await put('run.yaml', recipe(''));
    const { code, err } = await check('notes.yaml', 'run.yaml', ...ON_ONE);
    assert.equal(code, 0);
    assert.match(err, /notes\.yaml is no training config/);
  });

  it('fails on what it is asked to fail on', async () => {
    await put('run.yaml', recipe('gradient_acumulation_steps: 2\n'));
    assert.equal((await check(...ON_ONE)).code, 0);
    assert.equal((await check(...ON_ONE, '--fail-on', 'warning')).code, 1);
    await put('run.yaml', recipe('load_in_4bit: true\nload_in_8bit: true\nadapter: qlora\n'));
    assert.equal((await check(...ON_ONE, '--fail-on', 'never')).code, 0);
    assert.equal((await check(...ON_ONE)).code, 1);
  });

  it('demands a verdict, a peak and a cost, and lets nothing unknown pass', async () => {
    await put('run.yaml', recipe(''));
    const none = await check('--require-verdict', '--max-peak', '90%', '--max-cost', '5');
    assert.equal(none.code, 1);
    assert.equal(
      none.err,
      'oomlint: run.yaml: there is no verdict, and one is required.\noomlint: run.yaml: its peak is not known.\noomlint: run.yaml: its cost is not known.\n',
    );
    const high = await check(...ON_ONE, '--require-verdict', '--max-peak', '2%', '--max-cost', '0');
    assert.equal(high.code, 1);
    assert.match(high.err, /run\.yaml: its peak of [\d.]+ GiB is \d+\.\d % of the GPU, above 2 %\.\n/);
    assert.match(high.err, /run\.yaml: it costs \$\d+\.\d\d, above \$0\.00\.\n/);
    assert.equal(
      (await check(...ON_ONE, '--require-verdict', '--max-peak', '0.9', '--max-cost', '$50')).code,
      0,
    );
    assert.equal(
      (await check('--max-peak', 'much')).err,
      'oomlint: --max-peak: "much" is no share such as 90%.\n',
    );
  });

  it('takes each run to several GPUs', async () => {
    await put('run.yaml', recipe(''));
    const { out } = await check('--gpu', 'A100-80GB', '--gpu', 'T4', '--gpus', '1', '--format', 'json');
    const [{ runs }] = JSON.parse(out).files;
    assert.deepEqual(
      runs.map(({ asked, gpu }: Record<string, string>) => [asked, gpu]),
      [
        ['A100-80GB', 'A100-SXM4-80GB'],
        ['T4', 'T4'],
      ],
    );
  });

  it('reports what a baseline does not list, wherever it has moved', async () => {
    await put('run.yaml', recipe('gradient_acumulation_steps: 2\n'));
    const written = await check(...ON_ONE, '--baseline', 'known.json', '--update-baseline');
    assert.deepEqual([written.code, written.err], [0, 'oomlint: 1 problem written to known.json.\n']);
    const known = ['--baseline', 'known.json', '--fail-on', 'warning'];
    assert.equal((await check(...ON_ONE, ...known)).code, 0);
    await put('run.yaml', `# moved\n${recipe('gradient_acumulation_steps: 2\n')}`);
    assert.equal((await check(...ON_ONE, ...known)).code, 0);
    await put('run.yaml', recipe('gradient_acumulation_steps: 2\nwarmup_step: 3\n'));
    const fresh = await check(...ON_ONE, ...known, '--format', 'concise');
    assert.equal(fresh.code, 1);
    assert.match(fresh.out, /^run\.yaml:12:1: warning unknown-key [^\n]*warmup_step[^\n]*\n$/);
    await put('known.json', '{}');
    assert.equal((await check(...known)).code, 2);
  });

  it('writes to a file, without colours', async () => {
    await put('run.yaml', recipe('warmup_step: 3\n'));
    const { out } = await oomlint(['check', ...ON_ONE, '-o', 'report.txt'], folder, {
      environment: { FORCE_COLOR: '1' },
    });
    assert.equal(out, '');
    const report = await readFile(path.join(folder, 'report.txt'), 'utf8');
    assert.match(report, /^run\.yaml\n {2}11:1 {2}warning {2}Axolotl knows no key/);
  });

  it('leaves out what patterns leave out', async () => {
    await put('a/run.yaml', recipe(''));
    await put('old/run.yaml', recipe(''));
    const files = async (...args: string[]) =>
      JSON.parse((await check(...ON_ONE, '--format', 'json', ...args)).out).files.map(
        ({ file }: { file: string }) => file,
      );
    assert.deepEqual(await files(), ['a/run.yaml', 'old/run.yaml']);
    assert.deepEqual(await files('--exclude', 'old/'), ['a/run.yaml']);
    assert.deepEqual(await files('--include', 'old/**'), ['old/run.yaml']);
  });

  it('reads standard input as the file that it is named as', async () => {
    await put('deepspeed.json', '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}');
    const { out } = await oomlint(
      ['check', '--stdin', '--stdin-filename', 'new/run.yaml', ...ON_ONE, '--format', 'json'],
      folder,
      { input: recipe('deepspeed: ../deepspeed.json\n') },
    );
    const [file] = JSON.parse(out).files;
    assert.equal(file.file, 'new/run.yaml');
    assert.equal(file.verdict, 'fits');
    assert.equal((await check('--stdin')).code, 2);
  });

  it('looks at runs with a changed file only, the files that they share among them', async () => {
    gitIn(folder, 'init', '-q', '-b', 'main');
    await put(
      'shared/ds.json',
      '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}',
    );
    await put('a.yaml', recipe('deepspeed: shared/ds.json\n'));
    await put('b.yaml', recipe(''));
    gitIn(folder, 'add', '.');
    gitIn(folder, 'commit', '-qm', 'one');
    const files = async (...args: string[]) =>
      JSON.parse((await check(...ON_ONE, '--format', 'json', ...args)).out).files.map(
        ({ file }: { file: string }) => file,
      );
    assert.deepEqual(await files('--changed'), []);
    await put(
      'shared/ds.json',
      '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
    );
    assert.deepEqual(await files('--changed'), ['a.yaml', 'shared/ds.json']);
    gitIn(folder, 'checkout', '-qb', 'topic');
    gitIn(folder, 'commit', '-qam', 'two');
    await put('c.yaml', recipe(''));
    assert.deepEqual(await files('--since', 'main'), ['a.yaml', 'c.yaml', 'shared/ds.json']);
    assert.deepEqual((await check('--since', '--output=x')).code, 2, 'an option is no commit');
  });
});

describe('oomlint rule', () => {
  const rule = (...args: string[]) => oomlint(['rule', ...args], process.cwd());

  it('reports what a rule is about', async () => {
    const { code, out } = await rule('does-not-fit');
    assert.equal(code, 0);
    assert.match(out, /^does-not-fit {2}error\n\nThe run needs more memory than the GPU has\.\n/);
    assert.match(out, /docs\/rules\.md#does-not-fit\n$/);
    assert.equal(JSON.parse((await rule('tight', '--json')).out).severity, 'warning');
  });

  it('shows the files that break it, and where it is written down', async () => {
    const { out } = await rule('qlora-8bit');
    assert.match(out, /\nconfig\.yml\n {4}base_model: .*\n(?: {4}.*\n)* {4}load_in_8bit: true\n/);
    assert.match(out, /\nhttps:\/\/github\.com\/axolotl-ai-cloud\/axolotl\/blob\/v[\d.]+\/src\/.*peft\.py\n/);
    const { example, source } = JSON.parse((await rule('pissa-zero3', '--json')).out);
    assert.deepEqual(Object.keys(example), ['sft.yaml', 'ds.json']);
    assert.match(source, /LLaMA-Factory/);
    assert.match((await rule('binary')).out, /\\0/, 'no control character reaches a terminal');
  });

  it('lists all of them, and suggests one', async () => {
    assert.match((await rule()).out, /^Every run\n {2}does-not-fit {2,}The run needs more memory/);
    const { code, err } = await rule('tigth');
    assert.deepEqual([code, err], [2, 'oomlint: There is no rule `tigth`. Did you mean "tight"?\n']);
  });
});
