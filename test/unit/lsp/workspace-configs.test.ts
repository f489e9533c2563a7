import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { NODE_MACHINE } from '../../../server/src/lsp/node-machine';
import { EditorHost } from '../../../server/src/lsp/open-files';
import type { OpenTexts } from '../../../server/src/lsp/open-texts';
import type { LocalMachine } from '../../../server/src/lsp/runtime';
import { WorkspaceConfigs } from '../../../server/src/lsp/workspace-configs';
import { Workspace } from '../../../server/src/workspace/analyze';
import { DiskHost } from '../../../server/src/workspace/disk-host';

const PROJECT =
  'targets:\n  gpu: H100-SXM5-80GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';
const config = (micro: number) =>
  `{ "train_micro_batch_size_per_gpu": ${micro}, "bf16": { "enabled": true }, "zero_optimization": { "stage": 3 } }\n`;
const NO_TEXTS = { get: () => undefined, all: () => [] } as unknown as OpenTexts;

describe('configs of the workspace, looked for again and again', () => {
  let folder = '';
  let read: string[] = [];
  let analysed: string[] = [];
  let configs: WorkspaceConfigs;
  let workspace: Workspace;
  let listed = 0;
  const write = async (name: string, text: string) => {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  const uri = (name: string) => pathToFileURL(path.join(folder, name)).href;
  const look = async (again = false) => {
    read = [];
    analysed = [];
    listed = 0;
    const found = await configs.look(() => false, again);
    return found.configs.map(({ name, verdict }) => `${name} ${verdict}`);
  };

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-look-'));
    await write('oomlint.yaml', PROJECT);
    for (let i = 0; i < 60; i += 1) await write(`data/p${i % 6}/f${i}.json`, `{ "entry": ${i} }\n`);
    // More than the workspace keeps analyses of.
    for (let i = 0; i < 40; i += 1) await write(`configs/run${String(i).padStart(2, '0')}.json`, config(1));
    const disk = new DiskHost([]);
    const host = new EditorHost(NO_TEXTS, {
      environment: disk.environment,
      folders: [],
      readText: (file: string) => {
        read.push(file);
        return disk.readText(file);
      },
      exists: (file: string) => disk.exists(file),
      list: (file: string) => disk.list(file),
      listFolders: (file: string) => disk.listFolders(file),
    });
    await host.open([pathToFileURL(folder).href]);
    const machine: LocalMachine = {
      ...NODE_MACHINE,
      configsBelow: (below) => {
        listed += 1;
        return NODE_MACHINE.configsBelow(below);
      },
      look: async (file) => {
        const found = await NODE_MACHINE.look(file);
        return (
          found && {
            ...found,
            text: () => {
              read.push(file);
              return found.text();
            },
          }
        );
      },
    };
    workspace = new Workspace(host);
    const { analyze } = workspace;
    workspace.analyze = (file) => {
      analysed.push(file);
      return analyze.call(workspace, file);
    };
    configs = new WorkspaceConfigs(workspace, host, machine);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('read no file and estimate none a second time', async () => {
    const first = await look();
    assert.equal(first.length, 40);
    assert.ok(read.length >= 100);
    for (const again of [false, true]) {
      assert.deepEqual(await look(again), first);
      assert.deepEqual([read, analysed], [[], []]);
    }
  });

  it('look at what was written meanwhile, whoever stated it', async () => {
    await look();
    await write('configs/run07.json', config(512));
    const found = await look();
    assert.ok(found.includes('configs/run07.json exceeds'), found.join('\n'));
    assert.deepEqual(analysed, [uri('configs/run07.json')]);
  });

  it('list no config of which the text is another by now, or that is gone', async () => {
    assert.equal((await look()).length, 40);
    await write('configs/run07.json', '{ "entry": 1 }\n');
    await rm(path.join(folder, 'configs/run08.json'));
    for (const name of ['configs/run07.json', 'configs/run08.json']) configs.changed(uri(name));
    const found = await look(true);
    assert.equal(listed, 0);
    assert.equal(found.length, 38);
    assert.equal((await look()).length, 38);
  });

  it('follow a change that an editor heard of while a config was looked at', async () => {
    const { analyze } = workspace;
    let isFirst = true;
    workspace.analyze = async (file) => {
      const found = await analyze.call(workspace, file);
      if (isFirst && file === uri('configs/run07.json')) {
        isFirst = false;
        await write('oomlint.yaml', PROJECT.replace('gpus: 8', 'gpus: 1'));
        workspace.invalidate(uri('oomlint.yaml'));
        configs.changed(uri('oomlint.yaml'));
        // What the editor draws meanwhile.
        await analyze.call(workspace, file);
      }
      return found;
    };
    await look();
    assert.deepEqual(
      (await look(true)).filter((row) => !row.endsWith('exceeds')),
      [],
    );
  });

  it('after an edit look at that config alone, and list no folder', async () => {
    const first = await look();
    await write('configs/run07.json', config(512));
    workspace.invalidate(uri('configs/run07.json'));
    configs.changed(uri('configs/run07.json'));
    const found = await look(true);
    assert.equal(listed, 0);
    assert.deepEqual(analysed, [uri('configs/run07.json')]);
    assert.equal(found.filter((row, i) => row !== first[i]).length, 1);
  });

  it('follow the project file, and files that come and go', async () => {
    await look();
    await write('oomlint.yaml', PROJECT.replace('gpus: 8', 'gpus: 1'));
    const all = await look();
    assert.ok(
      all.every((row) => row.endsWith('exceeds')),
      all[0],
    );
    await write('configs/new.json', config(1));
    await rm(path.join(folder, 'configs/run00.json'));
    configs.changed(uri('configs/new.json'));
    const found = await look(true);
    assert.equal(listed, 1);
    assert.deepEqual([found.length, found[0]], [40, 'configs/new.json exceeds']);
  });

  it('look at what was written meanwhile where settings changed, too', async () => {
    await look();
    await write('oomlint.yaml', PROJECT.replace('gpus: 8', 'gpus: 1'));
    configs.reset();
    const all = await look();
    assert.deepEqual([all.length, all.filter((row) => !row.endsWith('exceeds')).length], [40, 0]);
  });

  it('look at the whole where nobody waited for the first look', async () => {
    let turns = 0;
    await configs.look(() => ++turns > 5);
    assert.equal((await look(true)).length, 40);
  });
});
