import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { McpAgent } from '../protocol/mcp-client';
import { type PackedNpm, packedNpm } from './packed-npm';

const run = promisify(execFile);

/** What `npx oomlint` gets: packed, installed into a clean folder without a network, and used from there. */
describe('the npm package', function () {
  this.timeout(180_000);
  let packed: PackedNpm;
  let folder = '';
  const bin = (name: string) => path.join(folder, 'node_modules', '.bin', name);

  before(async () => {
    packed = await packedNpm();
    folder = packed.folder;
  });
  after(() => packed?.remove());

  it('is under 2 MB, without maps and without dependencies', async () => {
    assert.ok((await stat(packed.tarball)).size < 2e6);
    const own = path.join(folder, 'node_modules', 'oomlint');
    const files = await readdir(own, { recursive: true });
    assert.deepEqual(
      files.filter((name) => name.endsWith('.map')),
      [],
    );
    assert.equal(JSON.parse(await readFile(path.join(own, 'package.json'), 'utf8')).dependencies, undefined);
    assert.match(await readFile(path.join(own, 'THIRD-PARTY-NOTICES.txt'), 'utf8'), /\ncommander /);
  });

  it('checks configs and scripts', async () => {
    await writeFile(
      path.join(folder, 'ds.json'),
      '{"bf16": {"enabled": true}, "fp16": {"enabled": true}, "train_batch_size": 8, "zero_optimization": {"stage": 3}}',
    );
    await writeFile(
      path.join(folder, 'train.py'),
      'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("gpt2")\nargs = TrainingArguments(output_dir="o", per_device_train_batch_size=4, bf16=True)\nTrainer(model=model, args=args, train_dataset=data).train()\n',
    );
    const checked = await run(
      bin('oomlint'),
      ['check', 'ds.json', 'train.py', '--format', 'json', '--fail-on', 'never'],
      {
        cwd: folder,
      },
    );
    const { files } = JSON.parse(checked.stdout);
    assert.deepEqual(
      files.map(({ file }: { file: string }) => file),
      ['ds.json', 'train.py'],
    );
    assert.ok(files[0].diagnostics.some(({ code }: { code: string }) => code === 'two-precisions'));
  });

  it('speaks the protocol', async () => {
    const { stdout } = await run(bin('oomlint-language-server'), ['--version'], { cwd: folder });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it('is run by pre-commit and GitLab as the documentation has it', async () => {
    const blocks = [
      ...(await readFile('docs/continuous-integration.md', 'utf8')).matchAll(/```yaml\n([^`]*)```/g),
    ];
    const yaml = blocks.map(([, text = '']) => parse(text));
    const hook = yaml.find(({ repos }) => repos?.[0].repo === 'local')?.repos[0].hooks[0];
    assert.deepEqual([hook.language, hook.additional_dependencies], ['node', ['oomlint']]);
    const repository = path.join(folder, 'repository');
    await mkdir(repository);
    const bins = path.join(folder, 'node_modules', '.bin');
    const env = { ...process.env, PATH: `${bins}${path.delimiter}${process.env.PATH}` };
    await writeFile(path.join(repository, 'other.json'), '{"a": 1}');
    // As pre-commit has it: the words of the entry, then the names of the staged files.
    const [program = '', ...words] = String(hook.entry).split(' ');
    const staged = async (...files: string[]) =>
      run(program, [...words, ...files], { cwd: repository, env }).then(
        () => 0,
        ({ code }: { code: number }) => code,
      );
    assert.equal(await staged('other.json'), 0);
    const json = (gpus: number) =>
      `{\n  // oomlint: model=Qwen/Qwen2.5-7B gpu=RTX-4090 gpus=${gpus} sequence=1024\n  "bf16": { "enabled": true },\n  "zero_optimization": { "stage": 3 },\n  "train_micro_batch_size_per_gpu": 1\n}\n`;
    await writeFile(path.join(repository, 'ds.json'), json(1));
    assert.equal(await staged('ds.json', 'other.json'), 1);
    await writeFile(path.join(repository, 'ds.json'), json(16));
    assert.equal(await staged('ds.json', 'other.json'), 0);
    const { script, artifacts } = yaml.find(({ oomlint }) => oomlint)?.oomlint ?? {};
    await writeFile(path.join(repository, 'ds.json'), json(1));
    const line = String(script[0]).replace(/^npx --yes /, '');
    await run('sh', ['-c', line], { cwd: repository, env }).catch(() => undefined);
    const report = JSON.parse(await readFile(path.join(repository, artifacts.reports.codequality), 'utf8'));
    assert.ok(report.some((one: { check_name: string }) => one.check_name.includes('does-not-fit')));
  });

  it('serves agents', async () => {
    const agent = await McpAgent.start(folder, { command: [bin('oomlint')] });
    const { data } = await agent.call('find_runs');
    await agent.close();
    const runs = data.runs as readonly { file: string }[];
    assert.ok(
      runs.some(({ file }) => file === 'ds.json'),
      JSON.stringify(runs),
    );
  });

  it('is a library', async () => {
    const text =
      "import('oomlint').then(({ matchAccelerator }) => console.log(matchAccelerator('H100').accelerator.name))";
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text], { cwd: folder });
    assert.equal(stdout, 'H100-SXM5-80GB\n');
  });
});
