import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { standingOf } from '../../../server/src/dialects/release';
import { DEEPSPEED, fileIn, GPT_NEOX } from '../../../server/src/sources/repositories';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ZERO = `{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": { "enabled": true, "loss_scale": 0 },
  "zero_optimization": { "stage": 2, "grad_hooks": true, "allgather_bucket_size": -4 }
}
`;

async function problems(files: Record<string, string>, of: string): Promise<string[]> {
  const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(of);
  return (analysis?.problems ?? [])
    .filter(({ severity }) => severity === 'error' || severity === 'warning')
    .map(({ severity, code, message }) => `${severity} ${code}: ${message}`);
}

const codes = (found: readonly string[]) => found.map((line) => line.split(':')[0]);
const CONFIG = 'file:///w/ds.json';

describe('what a framework refuses', () => {
  it('is a warning that names the version, where nobody states which one runs', async () => {
    const found = await problems({ [CONFIG]: ZERO }, CONFIG);
    assert.deepEqual(codes(found), ['warning unknown-key', 'warning unknown-key', 'warning out-of-range']);
    for (const line of found) assert.match(line, /DeepSpeed 0\.\d+ is assumed: no file names the version\.$/);
  });

  it('is an error where the version is locked or stated', async () => {
    const known: readonly Record<string, string>[] = [
      { 'file:///w/uv.lock': '[[package]]\nname = "deepspeed"\nversion = "0.18.2"\n' },
      { 'file:///w/requirements.txt': 'deepspeed==0.18.2\n' },
      { 'file:///w/oomlint.yaml': 'defaults:\n  version:\n    deepspeed: 0.18.2\n' },
    ];
    for (const around of known)
      assert.deepEqual(codes(await problems({ [CONFIG]: ZERO, ...around }, CONFIG)), [
        'error unknown-key',
        'error unknown-key',
        'error out-of-range',
      ]);
  });

  it('is so whoever hands DeepSpeed its file: a script of the project changes none of its keys', async () => {
    const around = {
      'file:///w/uv.lock': '[[package]]\nname = "deepspeed"\nversion = "0.18.2"\n',
      'file:///w/train.sh': 'deepspeed --num_gpus 8 tune.py --deepspeed ds.json --our_flag 1\n',
    };
    assert.deepEqual(codes(await problems({ [CONFIG]: ZERO, ...around }, CONFIG)), [
      'error unknown-key',
      'error unknown-key',
      'error out-of-range',
    ]);
  });

  it('is nothing where the version that is known takes it', async () => {
    const locked = { 'file:///w/uv.lock': '[[package]]\nname = "deepspeed"\nversion = "0.15.4"\n' };
    assert.deepEqual(codes(await problems({ [CONFIG]: ZERO, ...locked }, CONFIG)), [
      'error unknown-key',
      'error out-of-range',
    ]);
  });

  it('is a warning where a range holds releases that take it', async () => {
    const range = { 'file:///w/requirements.txt': 'deepspeed>=0.14.0,<0.19\n' };
    const found = await problems({ [CONFIG]: ZERO, ...range }, CONFIG);
    assert.match(
      found[0] ?? '',
      /^warning unknown-key: .*The version is anything from DeepSpeed 0\.14\.\d to 0\.18\.\d\.$/,
    );
  });

  it('is an error of any release where a file contradicts itself', async () => {
    const both = '{"train_batch_size": 8, "bf16": {"enabled": true}, "fp16": {"enabled": true}}';
    assert.deepEqual(codes(await problems({ [CONFIG]: both }, CONFIG)), ['error two-precisions']);
  });

  it('hangs on the version of a framework that no field of a run holds', async () => {
    const recipe =
      'base_model: Qwen/Qwen2.5-7B\nsequence_len: 1024\nmicro_batch_size: 1\ndatasets: []\nunsloth_lora_mlp: true\n';
    const of = 'file:///w/a.yaml';
    assert.match(
      (await problems({ [of]: recipe }, of))[0] ?? '',
      /^warning removed-key: .*Axolotl 0\.19\.0 is assumed/,
    );
    const locked = { 'file:///w/uv.lock': '[[package]]\nname = "axolotl"\nversion = "0.19.0"\n' };
    assert.match((await problems({ [of]: recipe, ...locked }, of))[0] ?? '', /^error removed-key: [^.]*\.$/);
  });

  it('is that of the releases that have the rule', () => {
    const source = fileIn(DEEPSPEED, 'deepspeed/runtime/config.py');
    const at = (version: string, oldest?: string) => ({
      deepspeed: { version, oldest, source: oldest === undefined ? ('locked' as const) : ('range' as const) },
    });
    const rule = { from: '0.10', until: '0.17.1' };
    const severity = (versions: Parameters<typeof standingOf>[2]) =>
      standingOf(source, rule, versions)?.severity;
    assert.equal(severity(at('0.9.5')), undefined);
    assert.equal(severity(at('0.10.0')), 'error');
    assert.equal(severity(at('0.17.0')), 'error');
    assert.equal(severity(at('0.17.1')), undefined);
    assert.equal(severity(at('0.17')), 'warning');
    assert.equal(severity(at('0.18.0', '0.16.0')), 'warning');
    assert.equal(severity(at('0.16.0', '0.12.0')), 'error');
    // The assumed one is the release that was read, which is over.
    assert.equal(severity({}), undefined);
    assert.equal(standingOf(fileIn(GPT_NEOX, 'x.py'), {}, {})?.severity, 'error');
  });

  it('goes through one door in every family', () => {
    const folder = 'server/src/dialects';
    const apart = new Set(['oomlint-run.ts', 'draft.ts', 'key-check.ts']);
    const past = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => {
      // A vocabulary is the team's own language.
      if (!file.endsWith('.ts') || file.startsWith('vocabulary/') || apart.has(file)) return false;
      return /report\(\s*[^,]+,\s*(?:[^,]*\?\s*)?'error'/.test(readFileSync(join(folder, file), 'utf8'));
    });
    assert.deepEqual(past, []);
  });
});
