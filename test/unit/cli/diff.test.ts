import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Ajv from 'ajv';
import { gitIn, oomlint } from './oomlint';

const recipe = (model: string, finetuning: string, more: string) =>
  `model_name_or_path: meta-llama/${model}\nstage: sft\ndo_train: true\nfinetuning_type: ${finetuning}\ndataset: a\ntemplate: llama3\ncutoff_len: 4096\noutput_dir: out\nper_device_train_batch_size: 1\nmax_steps: 100\nbf16: true\n${more}`;
const zero = (stage: number) =>
  `{"zero_optimization": {"stage": ${stage}}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}}`;

/** What is looked at of a run. */
interface Reported {
  readonly kind: string;
  readonly file: string;
  readonly from: string | null;
  readonly before: { readonly verdict: string } | null;
  readonly after: { readonly verdict: string } | null;
}

describe('oomlint diff', function () {
  this.timeout(120_000);
  let folder = '';
  const put = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  };
  const diff = (...args: string[]) => oomlint(['diff', ...args], folder);
  const git = (...args: string[]) => gitIn(folder, ...args);
  const report = async (...args: string[]) => JSON.parse((await diff(...args, '--format', 'json')).out);

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-diff-'));
    git('init', '-q', '-b', 'main');
    await put('oomlint.yaml', 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\n');
    await put('ds/zero.json', zero(3));
    await put('a.yaml', recipe('Llama-3.1-8B', 'full', 'deepspeed: ds/zero.json\n'));
    await put('b.yaml', recipe('Llama-3.2-3B', 'full', 'deepspeed: ds/zero.json\n'));
    await put('c.yaml', recipe('Llama-3.2-1B', 'lora', ''));
    await put('d.yaml', recipe('Llama-3.2-1B', 'lora', ''));
    await put('é notes/odd.yaml', recipe('Llama-3.2-1B', 'lora', ''));
    git('add', '.');
    git('commit', '-qm', 'one');
    git('tag', 'one');
    await put('ds/zero.json', zero(2));
    git('mv', 'c.yaml', 'moved-c.yaml');
    await put(
      'moved-c.yaml',
      recipe('Llama-3.2-1B', 'lora', 'gradient_accumulation_steps: 1\n').replace('4096', '8192'),
    );
    await put(
      'new.yaml',
      'base_model: NousResearch/Meta-Llama-3.1-70B\nmicro_batch_size: 1\nsequence_len: 2048\ndatasets:\n  - path: a\n    type: alpaca\n',
    );
    git('rm', '-q', 'd.yaml');
    git('add', '.');
    git('commit', '-qm', 'two');
    git('tag', 'two');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('shows every run that a shared file changes, renamed, new and removed ones, the worst first', async () => {
    const { runs } = await report('one..two');
    assert.deepEqual(
      runs.map(({ kind, file, from, before, after }: Reported) => [
        kind,
        file,
        from,
        before?.verdict,
        after?.verdict,
      ]),
      [
        ['new', 'new.yaml', null, undefined, 'exceeds'],
        ['removed', 'd.yaml', null, 'fits', undefined],
        ['changed', 'a.yaml', null, 'fits', 'fits'],
        ['changed', 'moved-c.yaml', 'c.yaml', 'fits', 'fits'],
        ['changed', 'b.yaml', null, 'fits', 'fits'],
      ],
    );
  });

  it('names the key that causes it, and adds up', async () => {
    const { runs } = await report('one..two');
    const a = runs.find(({ file }: { file: string }) => file === 'a.yaml');
    const gained = a.after.processBytes - a.before.processBytes;
    const sum = (all: { bytes: number }[]) => all.reduce((total, { bytes }) => total + bytes, 0);
    assert.ok(gained > 2 ** 30);
    assert.equal(sum(a.parts), gained);
    assert.equal(sum(a.causes), gained);
    assert.deepEqual(a.causes[0].fields, ['zero.stage']);
    assert.deepEqual(a.causes[0].key, { name: 'zero_optimization.stage', file: 'ds/zero.json', line: 1 });
    assert.equal(a.causes[0].assumed, false);
  });

  it('has the band of peak, time and cost', async () => {
    const { runs } = await report('one..two');
    const { after } = runs.find(({ file }: { file: string }) => file === 'a.yaml');
    assert.ok(after.lowerBytes < after.processBytes && after.processBytes < after.upperBytes);
    assert.ok(after.lowerStepSeconds < after.stepSeconds && after.stepSeconds < after.upperStepSeconds);
    assert.ok(after.lowerCostUsd < after.costUsd && after.costUsd < after.upperCostUsd);
    const { out } = await diff('one..two');
    assert.match(
      out,
      /GiB \(\+[\d.]+ GiB\), [\d.]+ GiB to [\d.]+ GiB · step [\d.]+ m?s → [\d.]+ m?s \([\d.]+ to [\d.]+\)/,
    );
    assert.match(out, /cost \$[\d.,]+ → \$[\d.,]+ \(\$[\d.,]+ to \$[\d.,]+\)/);
  });

  it('is what its schema describes', async () => {
    const schema = JSON.parse(readFileSync('server/schemas/diff-output.schema.json', 'utf8'));
    const validate = new Ajv().compile(schema);
    assert.ok(validate(await report('one..two')), JSON.stringify(validate.errors));
    assert.ok(validate(await report('two')), JSON.stringify(validate.errors));
  });

  it('is text for a terminal, and a comment with a hidden tag', async () => {
    const { out, code } = await diff('one..two');
    assert.equal(code, 0);
    assert.match(out, /^\+ new\.yaml {2}does not fit\n/);
    assert.match(
      out,
      /\n~ moved-c\.yaml \(was c\.yaml\) {2}fits\n {4}[\d.]+ GiB → [\d.]+ of 79\.1 GiB \(\+[\d.]+ GiB\)/,
    );
    assert.match(
      out,
      /\n {4}ZeRO stage 3 → 2: \+[\d.]+ GiB, step −[\d.]+ ms {2}zero_optimization\.stage, ds\/zero\.json:1\n/,
    );
    const comment = await diff('one..two', '--format', 'markdown', '--tag', 'h100) evil');
    const head = git('rev-parse', 'two').trim();
    const date = new Date(Number(git('show', '-s', '--format=%ct', 'two')) * 1000).toISOString();
    assert.equal(
      comment.out.split('\n')[0],
      `[//]: <> (oomlint-diff, tag=h100--evil, valid-at=${date}, commit=${head})`,
    );
    assert.match(comment.out, /\| ❌ does not fit \| new\.yaml \(new\) \|/);
  });

  it('compares with the files on the disk, from where a branch began, and fails where it is asked to', async () => {
    assert.equal((await diff('two')).out, 'No run changes.\n');
    assert.equal((await diff('one...two', '--fail-on-worse')).code, 1);
    assert.equal((await diff('two..one', '--fail-on-worse')).code, 0);
    const there = path.join(folder, 'b.yaml');
    try {
      await writeFile(there, recipe('Llama-3.2-3B', 'full', 'deepspeed: ds/zero.json\nflash_atn: fa2\n'));
      const [run, ...rest] = (await report('two')).runs;
      assert.equal(rest.length, 0);
      assert.deepEqual([run.file, run.newProblems[0].code], ['b.yaml', 'unknown-key']);
    } finally {
      git('checkout', '-q', 'b.yaml');
    }
  });

  it('takes no option of git for a commit, and reports what git reports', async () => {
    const option = await diff('--', '--output=x..HEAD');
    assert.deepEqual([option.code, option.err], [2, 'oomlint: "--output=x" is no commit.\n']);
    const missing = await diff('nowhere..HEAD');
    assert.equal(missing.code, 2);
    assert.equal(missing.err, 'oomlint: "nowhere" is no commit.\n');
    const outside = await oomlint(['diff'], tmpdir());
    assert.match(outside.err, /not a git repository/);
  });
});
