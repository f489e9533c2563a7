import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CodeLens } from 'vscode-languageserver-protocol';
import { CONFIGS_REQUEST, type KnownConfigs } from '../../server/src/features/workspace-protocol';
import { TestServer } from './server-process';

const ZERO = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}}\n';
const RECIPE = `# oomlint: gpu=H100 gpus=8
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 1
max_length: 2048
bf16: true
deepspeed: configs/zero3.json
`;

/** `part/runs/sft.yaml` names `configs/zero3.json` as seen from the root of the repository, of which `part` is open. */
describe('a folder below the root of its repository', function () {
  this.timeout(30_000);
  let root: string;
  let server: TestServer;

  beforeEach(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), 'oomlint-part-'));
    await mkdir(path.join(root, 'part', 'runs'), { recursive: true });
    await mkdir(path.join(root, 'configs'));
    await writeFile(path.join(root, 'configs', 'zero3.json'), ZERO);
  });
  afterEach(async () => {
    await server.stop();
    await rm(root, { recursive: true, force: true });
  });

  const open = async (trusted = true) => {
    server = await TestServer.start({ folder: path.join(root, 'part'), initializationOptions: { trusted } });
    await server.write('runs/sft.yaml', RECIPE);
    const uri = await server.open('runs/sft.yaml', RECIPE);
    await server.published(uri);
    return server.codes(uri).includes('missing-file');
  };

  it('finds what is named from the root', async () => {
    await mkdir(path.join(root, '.git'));
    assert.equal(await open(), false);
    // The configs that are listed are those of the folder that is open.
    const known = await server.request<KnownConfigs>(CONFIGS_REQUEST, {});
    assert.deepEqual(
      known.configs.map(({ name }) => name),
      ['runs/sft.yaml'],
    );
  });

  it('shows a config above the folder in the run that names it', async () => {
    await mkdir(path.join(root, '.git'));
    await mkdir(path.join(root, 'part', 'scripts'));
    await writeFile(path.join(root, 'part', 'scripts', 'sft.yaml'), RECIPE);
    await open();
    const above = await server.open(
      pathToFileURL(path.join(root, 'configs', 'zero3.json')).href,
      ZERO,
      'json',
    );
    const lenses = await server.request<CodeLens[]>('textDocument/codeLens', {
      textDocument: { uri: above },
    });
    assert.match(lenses.map(({ command }) => command?.title).join(' | '), /GiB/);
  });

  it('has the editor watch the folders above in which something was looked for, each by itself', async () => {
    await mkdir(path.join(root, '.git'));
    await open();
    const watchedFolders = () =>
      server.watchers.flatMap(({ globPattern }) =>
        typeof globPattern === 'string' ? [] : [{ ...globPattern, baseUri: String(globPattern.baseUri) }],
      );
    await server.until(
      () => watchedFolders().some(({ baseUri }) => baseUri.endsWith('/configs')),
      'a folder above',
    );
    for (const { baseUri, pattern } of watchedFolders()) {
      assert.doesNotMatch(baseUri, /\/part(?:\/|$)/, 'what is open is watched already');
      assert.doesNotMatch(pattern, /\*\*|\//, 'one level each');
    }

    const config = path.join(root, 'configs', 'zero3.json');
    const peak = () => /([\d.]+) of/.exec(server.statuses.at(-1)?.status?.text ?? '')?.[1];
    await server.until(peak, 'an estimate');
    const before = peak();
    await writeFile(config, ZERO.replace('"stage": 3', '"stage": 0'));
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: pathToFileURL(config).href, type: 2 }],
    });
    await server.until(() => peak() !== undefined && peak() !== before, 'another estimate');
    assert.ok(Number(peak()) > Number(before));
  });

  it('looks above it neither outside of a repository nor where the workspace is not trusted', async () => {
    assert.equal(await open(), true);
    await server.stop();
    await mkdir(path.join(root, '.git'));
    assert.equal(await open(false), true);
    assert.ok(server.watchers.every(({ globPattern }) => typeof globPattern === 'string'));
  });
});
