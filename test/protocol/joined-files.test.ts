import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import type { CodeLens, CompletionItem, CompletionList, DocumentLink } from 'vscode-languageserver-protocol';
import {
  CHOSEN_RUN_NOTIFICATION,
  FAMILY_NOTIFICATION,
  type FamilyParams,
  FILES_REQUEST,
  type FilesAnswer,
  type FilesParams,
  RUNS_REQUEST,
  type Runs,
  SCHEMAS_NOTIFICATION,
} from '../../server/src/features/workspace-protocol';
import { TestServer } from './server-process';

const ZERO = `{
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3}
}
`;
const recipe = (micro: number) => `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: ${micro}
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
max_grad_norm: 0.5
bf16: true
gradient_checkpointing: true
max_length: 2048
output_dir: out
deepspeed: ../ds/zero3.json
`;
const PROJECT = 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\n';
const SCRIPT = `#!/bin/bash
torchrun --nproc_per_node 8 scripts/sft.py --config recipes/sft.yaml \\
  --per_device_train_batch_size 4
`;
const TITAN = `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 1
seq_len = 4096
steps = 10
`;

describe('files that make up one run, over the protocol', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  const lenses = (uri: string) =>
    server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
  const titles = async (uri: string) => (await lenses(uri)).map(({ command }) => command?.title ?? '');
  const complete = async (uri: string, line: number, character: number) => {
    const found = await server.request<CompletionItem[] | CompletionList>(
      'textDocument/completion',
      server.at(uri, line, character),
    );
    return (Array.isArray(found) ? found : found.items).map(({ label }) => label);
  };

  it('a launch script has lens, hover, status, links and problems', async () => {
    const script = SCRIPT.replace('--config', '--optim adamw_nothing --config');
    server = await TestServer.start({
      files: { 'recipes/sft.yaml': recipe(2), 'ds/zero3.json': ZERO, 'oomlint.yaml': PROJECT },
    });
    const uri = await server.open('run.sh', SCRIPT, 'shellscript');
    await server.published(uri);
    assert.match((await titles(uri))[0] ?? '', /^Fits: [\d.]+ of [\d.]+ GiB · Llama-3\.1-8B · 8×H100/);
    const at = SCRIPT.split('\n')[2]?.indexOf('per_device') ?? 0;
    assert.match((await server.hover(uri, 2, at + 3)) ?? '', /^\*\*`--per_device_train_batch_size`\*\* 4 — /);
    assert.ok(server.statuses.some((status) => status.uri === uri && status.status?.verdict !== 'unknown'));
    const links = await server.request<DocumentLink[]>('textDocument/documentLink', {
      textDocument: { uri },
    });
    assert.deepEqual(
      links.map(({ target }) => target),
      [server.uri('recipes/sft.yaml')],
    );
    assert.ok((await complete(uri, 2, 4)).includes('--gradient_accumulation_steps'));
    assert.ok(script.length > 0);
  });

  it('a TOML config has them, too', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
    const uri = await server.open('train.toml', TITAN, 'toml');
    await server.published(uri);
    assert.match((await titles(uri))[0] ?? '', /^Fits: [\d.]+ of [\d.]+ GiB · .*8×H100/);
    assert.match((await server.hover(uri, 5, 3)) ?? '', /\*\*`training\.local_batch_size`\*\*/);
    await server.change(uri, `${TITAN}glo`);
    assert.ok((await complete(uri, 8, 3)).includes('global_batch_size'));
  });

  it('plain text with the name of a Slurm script is looked at; ordinary scripts and CI files are not', async () => {
    server = await TestServer.start({ files: { 'recipes/sft.yaml': recipe(2), 'ds/zero3.json': ZERO } });
    const slurm = await server.open('job.slurm', SCRIPT, 'plaintext');
    await server.published(slurm);
    const before = server.statuses.length;
    const plain = await server.open('build.sh', '#!/bin/bash\nset -e\nmake all\n', 'shellscript');
    const ci = await server.open('.github/workflows/a.yml', recipe(2), 'yaml');
    assert.deepEqual(await lenses(plain), []);
    assert.deepEqual(await lenses(ci), []);
    assert.deepEqual(await complete(plain, 2, 2), []);
    assert.equal(server.statuses.slice(before).filter((status) => status.status).length, 0);
  });

  it('names the run in the lens, lists all runs, and shows the one that is chosen', async () => {
    server = await TestServer.start({
      files: {
        'recipes/a.yaml': recipe(1),
        'recipes/b.yaml': recipe(64),
        'recipes/c.yaml': recipe(4),
        'oomlint.yaml': PROJECT,
      },
    });
    const families: FamilyParams[] = [];
    server.connection.onNotification(FAMILY_NOTIFICATION, (params: FamilyParams) => {
      families.push(params);
    });
    const uri = await server.open('ds/zero3.json', ZERO);
    await server.published(uri);
    assert.match((await titles(uri))[1] ?? '', /^in the run of recipes\/b\.yaml \(worst of 3 runs\)$/);
    assert.deepEqual(families, [{ uri, family: 'deepspeed' }]);
    const { runs, shown } = await server.request<Runs>(RUNS_REQUEST, { uri });
    assert.deepEqual(
      runs.map(({ name }) => name),
      ['recipes/b.yaml', 'recipes/c.yaml', 'recipes/a.yaml'],
    );
    assert.equal(shown, server.uri('recipes/b.yaml'));
    assert.equal(runs[0]?.verdict, 'exceeds');
    await server.notify(CHOSEN_RUN_NOTIFICATION, { uri, root: server.uri('recipes/a.yaml') });
    assert.match((await titles(uri))[1] ?? '', /^in the run of recipes\/a\.yaml \(of 3 runs\)$/);
    await server.notify(CHOSEN_RUN_NOTIFICATION, { uri });
    assert.match((await titles(uri))[1] ?? '', /recipes\/b\.yaml/);
  });

  it('shows each run of a script that starts several, and publishes to no line of it', async () => {
    const launch = (gpus: number) =>
      `torchrun --nproc_per_node ${gpus} scripts/sft.py --config recipes/sft.yaml`;
    server = await TestServer.start({
      files: {
        'run.sh': `${launch(8)}\n${launch(64)}\n`,
        'README.md': `\`\`\`bash\n${launch(2)}\n\`\`\`\n`,
        'ds/zero3.json': ZERO,
        'oomlint.yaml': PROJECT,
      },
    });
    const uri = await server.open('recipes/sft.yaml', recipe(64));
    await server.published(uri);
    const { runs, shown } = await server.request<Runs>(RUNS_REQUEST, { uri });
    assert.deepEqual(
      runs.map(({ name }) => name),
      ['run.sh:1', 'run.sh:2'],
    );
    assert.equal(shown, `${server.uri('run.sh')}#L1`);
    const root = `${server.uri('run.sh')}#L2`;
    await server.notify(CHOSEN_RUN_NOTIFICATION, { uri, root });
    assert.match((await titles(uri))[1] ?? '', /^in the run of run\.sh:2 \(of 2 runs\)$/);
    await server.write('recipes/sft.yaml', recipe(64));
    await server.save(uri);
    await server.published(server.uri('run.sh'));
    assert.deepEqual(
      server.diagnostics.filter((params) => /#|README/.test(params.uri)),
      [],
    );
  });

  it('shows the run that a README starts, publishes nothing to it, and follows its edits', async () => {
    const readme = (gpus: number) =>
      `\`\`\`bash\ntorchrun --nproc_per_node ${gpus} scripts/sft.py --config recipes/sft.yaml\n\`\`\`\n`;
    server = await TestServer.start({
      files: {
        'README.md': readme(2),
        'ds/zero3.json': ZERO,
        'oomlint.yaml': 'targets:\n  gpu: H100-SXM5-80GB\n',
      },
    });
    const uri = await server.open('recipes/sft.yaml', recipe(1));
    await server.published(uri);
    assert.match((await titles(uri)).join('\n'), /2×H100.*\n.*in the run of README\.md:2/);
    await server.save(uri);
    await server.write('README.md', readme(4));
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: server.uri('README.md'), type: 2 }],
    });
    const isFour = () => server.statuses.some((status) => /4×H100/.test(JSON.stringify(status)));
    await server.until(isFour, 'the run of the edited text');
    assert.match((await titles(uri)).join('\n'), /4×H100.*\n.*in the run of README\.md:2/);
    assert.deepEqual(
      server.diagnostics.filter((params) => /README/.test(params.uri)),
      [],
    );
  });

  it('remembers the choice of the last session', async () => {
    const files = { 'recipes/a.yaml': recipe(1), 'recipes/b.yaml': recipe(64), 'oomlint.yaml': PROJECT };
    server = await TestServer.start({ files });
    const [uri, root] = [server.uri('ds/zero3.json'), server.uri('recipes/a.yaml')];
    await server.request('shutdown', undefined);
    const again = await TestServer.start({
      files,
      initializationOptions: { trusted: false, chosenRuns: { [uri]: root } },
    });
    // Another folder: the choice names files that are not there, which does no harm.
    const other = await again.open('ds/zero3.json', ZERO);
    const { shown } = await again.request<Runs>(RUNS_REQUEST, { uri: other });
    assert.equal(shown, again.uri('recipes/b.yaml'));
    await again.stop();
  });

  it('a save refreshes the problems of all configs that use the file, closed ones too', async () => {
    server = await TestServer.start({
      files: { 'recipes/a.yaml': recipe(1), 'recipes/b.yaml': recipe(2), 'oomlint.yaml': PROJECT },
    });
    await server.write('ds/zero3.json', ZERO);
    const uri = await server.open('ds/zero3.json', ZERO);
    const a = await server.open('recipes/a.yaml', recipe(1));
    const b = server.uri('recipes/b.yaml');
    await server.published(uri);
    await server.published(a);
    const broken = ZERO.replace('"gradient_clipping": "auto"', '"gradient_clipping": 1.0');
    await server.change(uri, broken);
    await server.write('ds/zero3.json', broken);
    await server.save(uri);
    for (const user of [a, b]) {
      const { diagnostics } = await server.published(user, (params) =>
        params.diagnostics.some(({ code }) => code === 'cross-file-conflict'),
      );
      const conflict = diagnostics.find(({ code }) => code === 'cross-file-conflict');
      assert.equal(conflict?.range.start.line, 4);
      assert.equal(conflict?.relatedInformation?.[0]?.location.uri, uri);
    }
    server.forget();
    await server.change(uri, ZERO);
    await server.write('ds/zero3.json', ZERO);
    await server.save(uri);
    const { diagnostics } = await server.published(b);
    assert.deepEqual(diagnostics, []);
  });

  it('reads a config composed from groups, links its options, and follows an edit of a part', async () => {
    const part = `per_device_train_batch_size: 2
gradient_checkpointing: true
bf16: true
max_length: 2048
optim: adamw_torch
`;
    const config = `defaults:
  - _self_
  - trainer: sft
  - optional data: none
model_name_or_path: meta-llama/Llama-3.1-8B
output_dir: out
`;
    server = await TestServer.start({
      files: {
        'conf/trainer/sft.yaml': `# @package _global_\n${part}`,
        'oomlint.yaml': 'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 1\n',
      },
    });
    // The part shows no family by itself: it is nobody's until the config that starts from it is open, too.
    const open = await server.open('conf/trainer/sft.yaml', `# @package _global_\n${part}`, 'yaml');
    const uri = await server.open('conf/config.yaml', config, 'yaml');
    await server.published(uri, ({ diagnostics }) => diagnostics.some(({ code }) => code === 'does-not-fit'));
    const links = await server.request<DocumentLink[]>('textDocument/documentLink', {
      textDocument: { uri },
    });
    assert.deepEqual(
      links.map(({ target, range }) => [target, range.start.line]),
      [[server.uri('conf/trainer/sft.yaml'), 2]],
    );
    await server.published(open, ({ diagnostics }) => diagnostics.length > 0);
    assert.match((await server.hover(open, 1, 3)) ?? '', /per_device_train_batch_size/);
    server.forget();
    const small = `# @package _global_\n${part}lora_r: 8\nuse_peft: true\nlora_target_modules: all-linear\n`;
    await server.change(open, small);
    await server.write('conf/trainer/sft.yaml', small);
    await server.save(open);
    await server.published(uri, ({ diagnostics }) =>
      diagnostics.every(({ code }) => code !== 'does-not-fit'),
    );
  });

  it('clears a closed config that is deleted', async () => {
    server = await TestServer.start({ files: { 'recipes/b.yaml': recipe(2), 'oomlint.yaml': PROJECT } });
    const broken = ZERO.replace('"gradient_clipping": "auto"', '"gradient_clipping": 1.0');
    await server.write('ds/zero3.json', broken);
    const uri = await server.open('ds/zero3.json', broken);
    await server.save(uri);
    const b = server.uri('recipes/b.yaml');
    await server.published(b, ({ diagnostics }) => diagnostics.length > 0);
    await rm(path.join(server.folder, 'recipes/b.yaml'));
    await server.notify('workspace/didChangeWatchedFiles', { changes: [{ uri: b, type: 3 }] });
    await server.published(b, ({ diagnostics }) => diagnostics.length === 0);
  });

  it('a checkout of 1,000 files is one refresh', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT, 'recipes/a.yaml': recipe(1) } });
    const uri = await server.open('ds/zero3.json', ZERO);
    await server.published(uri);
    server.forget();
    await server.write('recipes/a.yaml', recipe(64));
    for (let part = 0; part < 10; part++) {
      const changes = Array.from({ length: 100 }, (_, i) => ({
        uri: server.uri(`recipes/${part === 5 && i === 0 ? 'a' : part * 100 + i}.yaml`),
        type: 2,
      }));
      await server.notify('workspace/didChangeWatchedFiles', { changes });
    }
    await server.published(uri);
    await server.settled();
    assert.equal(server.diagnostics.filter((params) => params.uri === uri).length, 1);
    assert.equal(server.statuses.filter((params) => params.uri === uri).length, 1);
    // The next one brings nothing else.
    server.forget();
    const same = Array.from({ length: 1000 }, (_, i) => ({ uri: server.uri(`recipes/${i}.yaml`), type: 2 }));
    await server.notify('workspace/didChangeWatchedFiles', { changes: same });
    await server.settled();
    assert.equal(server.diagnostics.length, 0);
    assert.equal(server.statuses.length, 0);
  });

  it('reads files of other schemes through the editor', async () => {
    const root = 'vscode-vfs://github/team/repo';
    const files: Record<string, string> = {
      [`${root}/recipes/sft.yaml`]: recipe(2),
      [`${root}/oomlint.yaml`]: PROJECT,
    };
    server = await TestServer.start({ initializationOptions: { trusted: false, readsFiles: true } });
    const under = (folder: string) =>
      Object.keys(files)
        .filter((file) => file.slice(0, file.lastIndexOf('/')) === folder)
        .map((file) => file.slice(file.lastIndexOf('/') + 1));
    const inside = (folder: string) => Object.keys(files).filter((file) => file.startsWith(`${folder}/`));
    server.connection.onRequest<FilesAnswer, void>(FILES_REQUEST, (params: FilesParams) => {
      return {
        texts: params.texts.map((uri) => files[uri] ?? null),
        folders: params.folders.map((uri) => {
          const folder = uri.replace(/\/$/, '');
          const below = inside(folder).map((file) => file.slice(folder.length + 1).split('/')[0] ?? '');
          return below.length === 0
            ? null
            : { files: under(folder), folders: below.filter((name) => !under(folder).includes(name)) };
        }),
      };
    });
    const uri = await server.open(`${root}/recipes/ds.json`, ZERO);
    await server.published(uri);
    const text = recipe(2).replace('../ds/zero3.json', 'ds.json');
    files[`${root}/recipes/sft.yaml`] = text;
    await server.notify('workspace/didChangeWatchedFiles', {
      changes: [{ uri: `${root}/recipes/sft.yaml`, type: 2 }],
    });
    await server.until(
      () => server.statuses.some((status) => status.uri === uri && status.status?.verdict !== 'unknown'),
      'the estimate',
    );
    assert.match((await titles(uri))[1] ?? '', /in the run of .*sft\.yaml$/);
  });

  it('asks an editor in few requests, and for no file that its folder does not hold', async () => {
    const root = 'vscode-vfs://github/team/repo';
    const held: Record<string, string> = {
      'ds.json': ZERO,
      'sft.yaml': recipe(2).replace('../ds/zero3.json', 'ds.json'),
      'oomlint.yaml': PROJECT,
    };
    const initializationOptions = { trusted: false, readsFiles: true };
    server = await TestServer.start({ initializationOptions, folders: [root] });
    const asked: FilesParams[] = [];
    server.connection.onRequest<FilesAnswer, void>(FILES_REQUEST, (params: FilesParams) => {
      asked.push(params);
      return {
        texts: params.texts.map((uri) => held[uri.slice(root.length + 1)] ?? null),
        folders: params.folders.map((uri) =>
          uri.replace(/\/$/, '') === root ? { files: Object.keys(held), folders: [] } : null,
        ),
      };
    });
    const uri = await server.open(`${root}/sft.yaml`, held['sft.yaml'] ?? '');
    await server.until(
      () => server.statuses.some((status) => status.uri === uri && status.status?.verdict !== 'unknown'),
      'the estimate',
    );
    const inside = asked
      .flatMap(({ texts, folders }) => [...texts, ...folders])
      .filter((one) => one.startsWith(`${root}/`));
    assert.deepEqual(
      inside.filter((one) => !(one.slice(root.length + 1).replace(/\/$/, '') in held) && one !== `${root}/`),
      [],
    );
    const listed = asked.flatMap(({ folders }) => folders);
    assert.equal(new Set(listed).size, listed.length, 'no folder is listed twice');
    assert.ok(asked.length <= 8, `${asked.length} requests`);
  });

  it('an untitled document belongs to the workspace', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT, 'ds/zero3.json': ZERO } });
    const uri = await server.open('untitled:Untitled-1', recipe(2).replace('../ds', 'ds'), 'yaml');
    await server.published(uri);
    assert.match((await titles(uri))[0] ?? '', /^Fits: [\d.]+ of [\d.]+ GiB · .*8×H100/);
    assert.ok(!server.codes(uri).includes('missing-file'));
  });

  it('leaves keys to an extension that serves our schemas', async () => {
    server = await TestServer.start({ files: { 'ds/zero3.json': ZERO } });
    const text = `${recipe(2)}grad\noptim: \n`;
    const uri = await server.open('recipes/sft.yaml', text);
    assert.ok((await complete(uri, 10, 4)).includes('gradient_checkpointing_kwargs'));
    await server.notify(SCHEMAS_NOTIFICATION, { served: true });
    assert.deepEqual(await complete(uri, 10, 4), []);
    assert.ok((await complete(uri, 11, 7)).includes('adamw_torch_fused'));
  });

  it('completes the options of a group from its folder', async () => {
    server = await TestServer.start({
      files: {
        'conf/model/llama.yaml': 'a: 1\n',
        'conf/model/gpt/small.yaml': 'a: 1\n',
        'conf/model/qwen.yaml': 'a: 1\n',
        'conf/model/readme.md': '',
      },
    });
    const text = `defaults:\n  - _self_\n  - optional model@net: \n${recipe(2)}`;
    const uri = await server.open('conf/config.yaml', text, 'yaml');
    await server.published(uri);
    assert.deepEqual(await complete(uri, 2, '  - optional model@net: '.length), ['llama', 'qwen']);
  });

  it('completes paths from the folders that there are', async () => {
    server = await TestServer.start({ files: { 'ds/zero3.json': ZERO, 'ds/zero2.json': ZERO } });
    const uri = await server.open('recipes/sft.yaml', recipe(2));
    assert.deepEqual(await complete(uri, 9, 'deepspeed: ../ds/'.length), [
      '../ds/zero2.json',
      '../ds/zero3.json',
    ]);
  });
});
