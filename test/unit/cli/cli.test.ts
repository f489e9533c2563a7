import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Ajv from 'ajv';
import { CLI, type Finished, oomlint as run } from './oomlint';

const ROOT = process.cwd();

/** As people run it, in this process; `environment` beside that of the test. */
const oomlint = (
  args: readonly string[],
  cwd: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Finished> => run(args, cwd, { environment });

const ZERO = JSON.stringify({
  train_micro_batch_size_per_gpu: 1,
  bf16: { enabled: true },
  zero_optimization: { stage: 3 },
  optimizer: { type: 'AdamW', params: { lr: 1e-5 } },
});
const SMALL = [
  '--model',
  'meta-llama/Llama-3.1-8B',
  '--gpu',
  'H100',
  '--gpus',
  '8',
  '--set',
  'sequence=2048',
];

/** The Trainer lowers the micro batch until it fits. */
const FOUND = `base_model: meta-llama/Llama-3.1-8B
sequence_len: 4096
sample_packing: true
micro_batch_size: 64
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
optimizer: adamw_torch
bf16: true
gradient_checkpointing: true
auto_find_batch_size: true
`;

describe('the command line', function () {
  this.timeout(60_000);
  let folder = '';

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-cli-'));
    const write = async (name: string, text: string) => {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
    };
    await write('zero3.json', ZERO);
    await write('out/found.yaml', FOUND);
    await write('package.json', '{"name": "x"}');
    await write('broken/zero3.json', ZERO.replace('"stage":3', '"stage":7'));
    await write('.git/HEAD', 'ref: refs/heads/main\n');
    await write('.gitignore', 'out/\n');
    await write('out/zero3.json', ZERO.replace('"stage":3', '"stage":7'));
    await write('node_modules/p/zero3.json', ZERO);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('prints a breakdown and ends with 0 where the run fits', async () => {
    const { code, out, err } = await oomlint(['estimate', 'zero3.json', ...SMALL], folder);
    assert.equal(err, '');
    assert.equal(code, 0, out);
    assert.match(out, /^zero3\.json {2}DeepSpeed\n/);
    assert.match(out, /Model +meta-llama\/Llama-3\.1-8B, 8\.03B parameters, all trained/);
    assert.match(out, /Verdict: fits: \d+\.\d of \d+\.\d GiB/);
    assert.match(out, /optimizer states +\d+\.\d GiB +█/);
    assert.match(out, /hardware\.gpus +8 +command line: --gpus/);
    assert.ok(!out.includes('\u001b['), 'no colour without a terminal');
  });

  it('reports what was not understood right under the verdict, and its reason further down', async () => {
    const edited = ZERO.replace('"stage":3', '"stage":3,"overlap_comm":"sometimes"');
    await writeFile(path.join(folder, 'half-read.json'), edited);
    const { out } = await oomlint(['estimate', 'half-read.json', ...SMALL], folder);
    await rm(path.join(folder, 'half-read.json'));
    assert.match(out, /Verdict: .*\n {2}Not understood: `zero_optimization\.overlap_comm: sometimes`\.\n/);
    assert.match(
      out,
      /\nNot understood\n {2}`zero_optimization\.overlap_comm` takes `sometimes`, which is not known\.\n/,
    );
  });

  it('ends with 1 where the run does not fit', async () => {
    const small = ['estimate', 'zero3.json', ...SMALL, '--gpu', 'T4'];
    const { code, out } = await oomlint([...small, '--set', 'activations.checkpointing=none'], folder);
    assert.equal(code, 1);
    assert.match(out, /does not fit/);
    // Whether a script checkpoints activations is not stated: a warning, and what it would need then.
    const larger = ['--gpu', 'A100-40GB', '--set', 'batch.micro=2'];
    const open = await oomlint(['estimate', 'zero3.json', ...SMALL, ...larger], folder);
    assert.equal(open.code, 0);
    assert.match(open.out, /With activation checkpointing it would need \d+\.\d GiB\./);
  });

  it('reports the micro batch that the framework finds, and where it starts', async () => {
    const found = ['out/found.yaml', '--gpu', 'A100-SXM4-80GB', '--gpus', '1'];
    const { code, out } = await oomlint(['estimate', ...found], folder);
    assert.equal(code, 0, out);
    const [, micro] = /^Verdict: fits \(micro batch (\d+), starts at 64\): \d/m.exec(out) ?? [];
    assert.ok(Number(micro) > 1, out);
    assert.match(out, new RegExp(`batch\\.micro +${micro} +found while it runs: 64 is tried first`));
    assert.match(out, /The micro batch is found while it runs: 64 is tried first/);
    const check = await oomlint(['check', ...found], folder);
    assert.equal(check.code, 0, check.out);
    assert.match(check.out, /0 errors, 0 warnings/);
  });

  it('reports once what is wrong with a run of several files, where what weighs most is stated', async () => {
    const place = path.join(folder, 'run+1');
    await mkdir(place, { recursive: true });
    await writeFile(
      path.join(place, 'run.sh'),
      'accelerate launch --num_processes 2 -m axolotl.cli.train ax.yaml\n',
    );
    const large = FOUND.replace(/^(?:adapter|lora_.*|auto_find.*):.*\n/gm, '');
    await writeFile(path.join(place, 'ax.yaml'), `${large}deepspeed: z2.json\n`);
    const stage = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}';
    await writeFile(path.join(place, 'z2.json'), stage);
    const hardware = ['--gpu', 'A100-SXM4-80GB', '--gpus', '2'];
    const { code, out } = await oomlint(['check', '.', ...hardware], place);
    assert.equal(code, 1, out);
    assert.deepEqual(out.match(/Does not fit/g), ['Does not fit'], out);
    assert.match(out, /^ax\.yaml\n.*does-not-fit$/m);
    for (const file of ['run.sh', 'z2.json'])
      assert.match((await oomlint(['check', file, ...hardware], place)).out, /Does not fit/, file);
    await rm(place, { recursive: true });
  });

  it('reports what is unknown and how to supply it, and ends with 0', async () => {
    const { code, out } = await oomlint(['estimate', 'zero3.json'], folder);
    assert.equal(code, 0);
    assert.match(out, /Unknown, so there is no verdict/);
    assert.match(out, /--model \S+ --set sequence=4096 --gpu H100-SXM5-80GB --gpus 8/);
  });

  it('names the command line alone for a model that the file names, which no comment outweighs', async () => {
    const file = path.join(folder, 'named.yml');
    await writeFile(file, FOUND.replace('meta-llama/Llama-3.1-8B', 'someone/of-her-own'));
    const { out } = await oomlint(['estimate', file, '--gpus', '1'], folder);
    const taken = await oomlint(['estimate', file, ...SMALL], folder);
    await rm(file);
    assert.match(out, /Another model is taken with --model \.\.\. on the command line\./);
    assert.match(out, /Set it with --gpu H100-SXM5-80GB, in a comment/);
    assert.doesNotMatch(out, /model=/);
    assert.match(taken.out, /^Model +meta-llama\/Llama-3\.1-8B/m);
  });

  it('prints JSON that its schema describes', async () => {
    const schema = JSON.parse(
      await readFile(path.join(ROOT, 'server/schemas/estimate-output.schema.json'), 'utf8'),
    );
    const validate = new Ajv({ allErrors: true }).compile(schema);
    const runs = [
      ['zero3.json', ...SMALL],
      ['zero3.json'],
      ['zero3.json', '--model', 'gpt2'],
      ['zero3.json', ...SMALL, '--gpu', 'T4'],
      ['broken/zero3.json', ...SMALL],
      ['out/found.yaml', '--gpu', 'A100-SXM4-80GB', '--gpus', '1'],
    ];
    for (const args of runs) {
      const { out } = await oomlint(['estimate', '--format', 'json', ...args], folder);
      const output: unknown = JSON.parse(out);
      assert.ok(validate(output), JSON.stringify(validate.errors));
      const [run] = JSON.parse(out).runs;
      assert.equal(run.file, args[0]);
      const sum = run.parts.reduce((bytes: number, part: { bytes: number }) => bytes + part.bytes, 0);
      assert.equal(sum, run.peak?.processBytes ?? 0);
    }
  });

  it('explains every figure, with formulas and sources', async () => {
    const { code, out, err } = await oomlint(['explain', 'zero3.json', ...SMALL], folder);
    assert.equal(err, '');
    assert.equal(code, 0);
    assert.match(out, /^zero3\.json {2}DeepSpeed\n\n +\d+\.\d GiB {2}peak memory\n/);
    assert.match(out, / mlp\.gate_proj \[1, 2048, 14336\] bf16\n +kept for backward of act_fn\n/);
    assert.match(out, / 2 B × 1 sample × 2048 tokens × 14336 = 56 MiB × 32\n/);
    assert.match(out, /derivatives\.yaml, silu https:\/\/github\.com\/pytorch\/pytorch\/blob\/v2\.8\.0\//);
    assert.match(out, /\n +8\.03B {2}parameters\n/);
    assert.match(out, /\n +16,384 {2}tokens per step\n/);
  });

  it('explains one figure, and names them all where it knows no such', async () => {
    const one = await oomlint(
      ['explain', 'zero3.json', ...SMALL, '--part', 'Optimizer States', '--depth', '1'],
      folder,
    );
    assert.equal(one.code, 0);
    assert.match(
      one.out,
      /DeepSpeed\n\n +7\.5 GiB {2}optimizer states\n +8\.03B trainable parameters × 8 bytes \/ 8 GPUs/,
    );
    assert.match(one.out, /\n +5\.3 GiB {4}MLP\n/);
    assert.ok(!one.out.includes('gate_proj.weight\n'));
    const none = await oomlint(['explain', 'zero3.json', ...SMALL, '--part', 'nothing'], folder);
    assert.equal(none.code, 2);
    assert.match(none.err, /no figure is called "nothing"\. There are: peak memory, process/);
  });

  it('explains as JSON that its schema describes, in sums that hold', async () => {
    const stated = ['--set', 'activations.checkpointing=none'];
    const { out, code } = await oomlint(
      ['explain', 'zero3.json', '--json', ...SMALL, '--gpu', 'T4', ...stated],
      folder,
    );
    assert.equal(code, 1);
    const schema = JSON.parse(
      await readFile(path.join(ROOT, 'server/schemas/explain-output.schema.json'), 'utf8'),
    );
    const validate = new Ajv({ allErrors: true }).compile(schema);
    assert.ok(validate(JSON.parse(out)), JSON.stringify(validate.errors));
    interface Figure {
      readonly name: string;
      readonly value: number;
      readonly children?: readonly Figure[];
    }
    const [peak]: Figure[] = JSON.parse(out).figures;
    const sum = peak?.children?.reduce((bytes, part) => bytes + part.value, 0);
    assert.equal(sum, peak?.value);
  });

  it('reports what an explanation needs, and ends with 2', async () => {
    const { code, err } = await oomlint(['explain', 'zero3.json'], folder);
    assert.equal(code, 2);
    assert.match(err, /zero3\.json needs model, .*; there is nothing to explain yet/);
    const missing = await oomlint(['explain', 'missing.json'], folder);
    assert.equal(missing.code, 2);
    assert.match(missing.err, /missing\.json cannot be read/);
  });

  it('fixes a run that does not fit: lists, then writes one', async () => {
    const large = JSON.stringify({ ...JSON.parse(ZERO), zero_optimization: { stage: 1 } }, null, 2);
    const own = await mkdtemp(path.join(tmpdir(), 'oomlint-fix-'));
    const file = path.join(own, 'large.json');
    await writeFile(file, large);
    const arguments_ = ['large.json', ...SMALL.map((word) => (word === 'H100' ? 'A100-40GB' : word))];
    const listed = await oomlint(['fix', ...arguments_], own);
    assert.equal(listed.code, 1, listed.err);
    assert.match(listed.out, /1\. .+: [\d.]+ → [\d.]+ GiB, fits/);
    assert.equal(await readFile(file, 'utf8'), large);
    const asJson = JSON.parse((await oomlint(['fix', ...arguments_, '--json'], own)).out);
    assert.equal(asJson.fixes[0].verdict, 'fits');
    assert.equal((await oomlint(['fix', ...arguments_, '--take', '99'], own)).code, 2);
    assert.equal((await oomlint(['fix', ...arguments_, '--take', '1'], own)).code, 0);
    assert.notEqual(await readFile(file, 'utf8'), large);
    assert.equal((await oomlint(['fix', ...arguments_], own)).code, 0);
    await rm(own, { recursive: true, force: true });
  });

  it('searches what fits', async () => {
    const found = await oomlint(['search', 'zero3.json', ...SMALL, '--json'], folder);
    assert.equal(found.code, 0, found.err);
    const { front, tried, fitting } = JSON.parse(found.out);
    assert.ok(front.length > 0 && fitting >= front.length && tried >= fitting);
    const table = await oomlint(['search', 'zero3.json', ...SMALL], folder);
    assert.match(table.out, /of \d+ tried runs fit\n[\d.]+ GiB of [\d.]+ GiB/);
  });

  it('checks a tree without what git ignores', async () => {
    const { code, out } = await oomlint(['check', '--format', 'json'], folder);
    assert.equal(code, 1);
    const schema = JSON.parse(
      await readFile(path.join(ROOT, 'server/schemas/check-output.schema.json'), 'utf8'),
    );
    const validate = new Ajv({ allErrors: true }).compile(schema);
    assert.ok(validate(JSON.parse(out)), JSON.stringify(validate.errors));
    const { files, errors } = JSON.parse(out);
    assert.deepEqual(
      files.map(({ file }: { file: string }) => file),
      ['broken/zero3.json', 'zero3.json'],
    );
    assert.ok(errors > 0);
  });

  it('prints problems in lines and counts them', async () => {
    const { code, out } = await oomlint(['check', '.', '--quiet'], folder);
    assert.equal(code, 1);
    assert.match(out, /^broken\/zero3\.json\n +1:\d+ {2}error +.+\n/m);
    assert.match(out, /2 configs checked: \d+ errors?, 0 warnings\n$/);
    assert.ok(!out.includes('unknown-fields'));
  });

  it('ends with 0 where nothing is wrong', async () => {
    assert.equal((await oomlint(['check', 'zero3.json', ...SMALL], folder)).code, 0);
    assert.equal((await oomlint(['check', 'package.json', '--allow-none'], folder)).code, 0);
  });

  it('ends with 2 where it could not run', async () => {
    const cases: [string[], RegExp][] = [
      [[], /Usage/],
      [['estimate'], /file is missing/],
      [['frobnicate'], /no command frobnicate/],
      [['zero3.json'], /zero3\.json is no command\. Did you mean oomlint estimate zero3\.json\?/],
      [['broken'], /Did you mean oomlint check broken\?/],
      [['estimate', 'broken'], /broken is a folder: `oomlint check broken`/],
      [['estimate', '-'], /not read from standard input/],
      [['estimate', 'gone.json'], /gone\.json cannot be read/],
      [['estimate', 'package.json'], /no training config/],
      [['check', 'gone'], /gone cannot be read/],
      [['estimate', 'zero3.json', '--gpu', 'H1000'], /Did you mean H100/],
      [['estimate', 'zero3.json', '--gpus', '0'], /--gpus: .*below 1/],
      [['estimate', 'zero3.json', '--gpus', '1e30'], /too large/],
      [['estimate', 'zero3.json', '--set', 'seqence=1'], /Did you mean "sequence"/],
      [['estimate', 'zero3.json', '--set', 'sequence'], /FIELD=VALUE/],
      [['estimate', 'zero3.json', '--format', 'xml'], /takes one of table, json/],
    ];
    for (const [args, message] of cases) {
      const { code, err } = await oomlint(args, folder);
      assert.equal(code, 2, `${args.join(' ')}: ${err}`);
      assert.match(err, message);
      assert.doesNotMatch(err, /\n\s+at /, 'no stack trace');
    }
  });

  it('lets arguments override the file', async () => {
    const { out } = await oomlint(
      ['estimate', 'zero3.json', ...SMALL, '--set', 'batch.micro=3', '--format', 'json'],
      folder,
    );
    const { compute } = JSON.parse(out).runs[0];
    assert.equal(compute.tokensPerStep, 3 * 8 * 2048);
  });

  it('takes GPUs and their number from a cloud machine', async () => {
    const args = [
      'estimate',
      'zero3.json',
      '--model',
      'gpt2',
      '--gpu',
      'p4d.24xlarge',
      '--nodes',
      '2',
      '--set',
      'sequence=512',
    ];
    const { out } = await oomlint([...args, '--format', 'json'], folder);
    const { hardware } = JSON.parse(out).runs[0];
    assert.deepEqual([hardware.gpu, hardware.gpus, hardware.nodes], ['A100-SXM4-40GB', 16, 2]);
  });

  it('colours only where it is asked to', async () => {
    const coloured = await oomlint(['check', 'broken'], folder, { FORCE_COLOR: '1' });
    assert.ok(coloured.out.includes('\u001b[31m'));
    const plain = await oomlint(['check', 'broken'], folder, { FORCE_COLOR: '1', NO_COLOR: '1' });
    assert.ok(!plain.out.includes('\u001b['));
  });

  it('explains itself', async () => {
    for (const args of [['--help'], ['estimate', '--help'], ['check', '--help']]) {
      const { code, out } = await oomlint(args, folder);
      assert.equal(code, 0);
      assert.match(out, /Usage: oomlint/);
    }
    assert.match((await oomlint(['estimate', '--help'], folder)).out, /Exit codes: 0/);
    assert.match((await oomlint(['--version'], folder)).out, /^\d+\.\d+\.\d+\n$/);
  });

  it('speaks the language of the terminal, and English where a script runs it', async () => {
    const russian = { LC_ALL: '', LC_MESSAGES: 'ru_RU.UTF-8', LANG: 'C' };
    const checked = await oomlint(['check', 'examples'], ROOT, russian);
    assert.match(checked.out, /Не помещается: нужно/);
    assert.match(checked.out, /Проверено: 7 конфигов; 1 ошибка, 0 предупреждений/);
    const help = await oomlint(['check', '--help'], ROOT, russian);
    assert.match(help.out, /^Использование: oomlint check/);
    assert.match(help.out, /сообщать только об ошибках/);
    const part = await oomlint(
      ['explain', 'examples/zero2.json', '--part', 'weights', '--depth', '0'],
      ROOT,
      russian,
    );
    assert.match(part.out, /веса/);
    const { out } = await oomlint(['check', 'examples', '--format', 'json'], ROOT, russian);
    const { files } = JSON.parse(out);
    const { code, message } = files.flatMap((file: { diagnostics: unknown[] }) => file.diagnostics)[0];
    assert.equal(code, 'does-not-fit');
    assert.match(message, /^Does not fit: needs/, 'programs read the same words everywhere');
    for (const locale of ['C', 'C.UTF-8', 'POSIX', 'de_DE.UTF-8', '']) {
      const english = await oomlint(['check', '--help'], ROOT, { LC_ALL: locale, LC_MESSAGES: '', LANG: '' });
      assert.match(english.out, /^Usage: oomlint check/);
    }
  });

  it('reports what is wrong with its arguments in the language of the terminal', async () => {
    const russian = { LC_ALL: 'ru_RU.UTF-8' };
    for (const [args, message] of [
      [['estmate'], 'команды estmate нет. Имелось в виду estimate?'],
      [['estimate'], 'не указано: file.'],
      [['estimate', 'zero3.json', '--gpsu', '8'], 'ключа --gpsu нет. Имелось в виду --gpu, --gpus?'],
      [['estimate', 'zero3.json', '--gpu'], 'для --gpu <name> не указано значение.'],
      [['estimate', 'zero3.json', '--format', 'xml'], '--format <format> принимает одно из: table, json.'],
      [['explain', 'zero3.json', 'package.json'], 'слишком много аргументов.'],
    ] as const) {
      const { code, err } = await oomlint(args, folder, russian);
      assert.deepEqual([code, err], [2, `oomlint: ${message}\n`]);
    }
  });

  it('reports in JSON the same in every terminal', async () => {
    const russian = { LC_ALL: 'ru_RU.UTF-8' };
    for (const args of [
      ['estimate', 'zero3.json', 'broken/zero3.json', ...SMALL, '--gpu', 'T4'],
      ['estimate', 'zero3.json'],
      ['explain', 'zero3.json', ...SMALL],
      ['fix', 'zero3.json', ...SMALL, '--gpu', 'T4'],
      ['search', 'zero3.json', ...SMALL],
      ['check'],
    ]) {
      const english = await oomlint([...args, '--format', 'json'], folder);
      assert.ok(english.out.length > 0, english.err);
      assert.deepEqual(await oomlint([...args, '--format', 'json'], folder, russian), english, args[0]);
    }
  });

  it('ends as it would have where nobody reads on', async () => {
    const env = { ...process.env, LC_ALL: 'C' };
    const child = spawn(process.execPath, [CLI, 'check', 'broken', 'zero3.json'], { cwd: folder, env });
    child.stdout.destroy();
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    assert.deepEqual([code, err], [1, '']);
  });

  it('does not say what is trained before the run is known', async () => {
    const args = ['estimate', 'zero3.json', '--model', 'meta-llama/Llama-3.1-8B'];
    assert.match((await oomlint(args, folder)).out, /Model +\S+, 8\.03B parameters\n/);
    const { runs } = JSON.parse((await oomlint([...args, '--format', 'json'], folder)).out);
    assert.equal(runs[0].model.trainable, null);
  });

  it('finds the examples as they are described', async () => {
    const { out } = await oomlint(['check', 'examples', '--format', 'json'], ROOT);
    const { files } = JSON.parse(out);
    const verdicts = Object.fromEntries(
      files.map(({ file, verdict }: { file: string; verdict: string }) => [path.basename(file), verdict]),
    );
    assert.deepEqual(verdicts, {
      'accelerate-deepspeed.yaml': 'fits',
      'accelerate-fsdp2.yaml': 'fits',
      'does-not-fit.json': 'exceeds',
      'oomlint.yaml': 'unknown',
      'qlora-70b.oomlint.yaml': 'fits',
      'zero2.json': 'fits',
      'zero3-llama-8b.json': 'fits',
    });
  });
});
