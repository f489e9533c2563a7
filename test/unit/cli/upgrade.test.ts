import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Ajv from 'ajv';
import { oomlint } from './oomlint';

const RECIPE = `model_name_or_path: Qwen/Qwen2.5-1.5B
dataset_name: a/b
learning_rate: 2.0e-5
max_length: 4096
per_device_train_batch_size: 4
bf16: true
gradient_checkpointing: true
output_dir: out
`;

/** What is looked at of the report. */
interface Report {
  readonly base: string | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly runs: readonly {
    readonly file: string;
    readonly before: { readonly processBytes: number };
    readonly after: { readonly processBytes: number };
  }[];
}

describe('oomlint upgrade', function () {
  this.timeout(120_000);
  let folder = '';
  const upgrade = (...args: string[]) => oomlint(['upgrade', ...args], folder);

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-upgrade-'));
    const files = {
      'oomlint.yaml': 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 1\n',
      'requirements.txt': 'transformers==4.46.3\ntrl==0.12.2\ntorch==2.5.1\naccelerate==1.1.0\n',
      'sft.yaml': RECIPE,
      'ds.json': '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1, "stagee": 1}',
    };
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('holds the locked versions of a run to those that are asked for, and reports what each change costs', async () => {
    const { code, out } = await upgrade('sft.yaml', '--to', 'trl=1.16', '--to', 'transformers==5.23.0');
    assert.equal(code, 0);
    assert.match(out, /^Under trl 1\.16, transformers 5\.23\.0:\n/);
    // TRL takes the loss in tiles since 1.15: 4 x 4096 x 151,936 logits are never there at once.
    assert.match(out, /~ sft\.yaml {2}fits\n {4}[\d.]+ GiB → [\d.]+ of [\d.]+ GiB \(−[\d.]+ GiB\)/);
    assert.match(out, /loss implementation full → log-probabilities-chunked: −\d/);
    assert.match(out, /\n1 run changes, none for the worse\.\n$/);
  });

  it('finds no change in the versions that the run has', async () => {
    const { out } = await upgrade('sft.yaml', '--to', 'trl=0.12.2', '--to', 'transformers=4.46.3');
    assert.match(out, /No run changes\.\n\n1 run unchanged\n$/);
  });

  it('takes the newest release of every package where none is asked for, and all configs below the folder', async () => {
    const { out } = await upgrade('--format', 'json');
    const report = JSON.parse(out) as Report;
    const schema = JSON.parse(readFileSync('server/schemas/diff-output.schema.json', 'utf8'));
    const valid = new Ajv({ strict: false }).compile(schema);
    assert.ok(valid(report), JSON.stringify(valid.errors));
    assert.equal(report.base, null);
    assert.match(report.versions.torch ?? '', /^2\.\d+/);
    assert.ok(report.versions['liger-kernel']);
    const [run] = report.runs.filter(({ file }) => file === 'sft.yaml');
    assert.ok(run && run.after.processBytes < run.before.processBytes / 2);
  });

  it('reports no problem as new that is only surer of its version now', async () => {
    const { out } = await upgrade('ds.json', '--to', 'deepspeed=0.19.8');
    assert.doesNotMatch(out, /unknown-key/);
    assert.match(out, /No run changes\./);
  });

  it('reports what it does not understand', async () => {
    for (const [word, reason] of [
      ['trl', /--to: "trl" is not PACKAGE=VERSION\./],
      ['foo=1', /--to: foo is not among the packages whose versions count: torch, transformers,/],
    ] as const) {
      const { code, err } = await upgrade('sft.yaml', '--to', word);
      assert.equal(code, 2);
      assert.match(err, reason);
    }
    assert.match((await upgrade('none.yaml')).err, /none\.yaml cannot be read\./);
  });
});
