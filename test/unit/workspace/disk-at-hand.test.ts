import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { DiskAtHand } from '../../../server/src/workspace/disk-at-hand';
import { DiskHost } from '../../../server/src/workspace/disk-host';

const HEADER = '{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}';
const weights = Buffer.concat([Buffer.alloc(8), Buffer.from(HEADER), Buffer.alloc(4)]);
weights.writeBigUInt64LE(BigInt(HEADER.length));

describe('the disk asked at once', function () {
  this.timeout(20_000);
  let folder: string;
  before(function () {
    if (process.platform === 'win32') this.skip();
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-at-hand-'));
    mkdirSync(path.join(folder, 'sub', 'empty'), { recursive: true });
    const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
    write('empty.json', '');
    write('short.json', '{"a": "ä"}');
    write('long.yaml', 'key: ä\n'.repeat(40_000));
    write('sub/data.json', ' '.repeat(4 * 2 ** 20 + 1));
    write('sub/pictures.ipynb', ' '.repeat(4 * 2 ** 20 + 1));
    writeFileSync(path.join(folder, 'small.safetensors'), weights);
    writeFileSync(
      path.join(folder, 'sub', 'large.safetensors'),
      Buffer.concat([weights, Buffer.alloc(4 * 2 ** 20)]),
    );
    symlinkSync(path.join(folder, 'sub', 'large.safetensors'), path.join(folder, 'link.safetensors'));
    symlinkSync(path.join(folder, 'short.json'), path.join(folder, 'link.json'));
    symlinkSync(path.join(folder, 'none'), path.join(folder, 'dangling.json'));
    symlinkSync(path.join(folder, 'sub'), path.join(folder, 'other'));
    execFileSync('mkfifo', [path.join(folder, 'pipe.json')]);
  });
  after(() => folder !== undefined && rmSync(folder, { recursive: true }));

  const asked = () =>
    [
      '',
      'empty.json',
      'short.json',
      'long.yaml',
      'sub',
      'sub/data.json',
      'sub/pictures.ipynb',
      'sub/empty',
      'small.safetensors',
      'sub/large.safetensors',
      'link.safetensors',
      'link.json',
      'dangling.json',
      'other',
      'other/pictures.ipynb',
      'pipe.json',
      'none.json',
      'none/none.json',
      'short.json/none.json',
    ].map((name) => pathToFileURL(path.join(folder, name)).href);
  const strange = [
    'file:///proc/self/pagemap',
    'file:///dev/null',
    'untitled:a',
    'file:///a%00b/c',
    'file:///%2F',
  ];

  it('answers as the disk does, whatever is asked first, once or at the same time', async () => {
    const disk = new DiskHost([]);
    for (const uris of [asked(), asked().reverse()]) {
      const host = new DiskAtHand([]);
      for (const uri of [...uris, ...uris, ...strange]) {
        assert.equal(await host.readText(uri), await disk.readText(uri), uri);
        assert.equal(await host.exists(uri), await disk.exists(uri), uri);
        assert.deepEqual(await host.list(uri), await disk.list(uri), uri);
        assert.deepEqual(await host.listFolders(uri), await disk.listFolders(uri), uri);
      }
    }
    const host = new DiskAtHand([]);
    const together = (one: DiskHost) => Promise.all(asked().map((uri) => one.readText(uri)));
    assert.deepEqual(await together(host), await together(disk));
  });

  it('reads the header of weights, however large they are', async () => {
    const host = new DiskAtHand([]);
    // A folder that answered is asked at once from then on.
    await host.list(pathToFileURL(folder).href);
    for (const name of ['small.safetensors', 'sub/large.safetensors', 'link.safetensors'])
      assert.equal(await host.readText(pathToFileURL(path.join(folder, name)).href), HEADER, name);
  });

  it('sees what comes, changes and goes between two questions', async () => {
    const host = new DiskAtHand([]);
    const place = path.join(folder, 'sub', 'later.json');
    const uri = pathToFileURL(place).href;
    const answers = async () => [
      await host.readText(uri),
      await host.exists(uri),
      (await host.list(pathToFileURL(path.dirname(place)).href))?.includes('later.json'),
    ];
    assert.deepEqual(await answers(), [undefined, false, false]);
    writeFileSync(place, '1');
    assert.deepEqual(await answers(), ['1', true, true]);
    writeFileSync(place, '22');
    assert.deepEqual(await answers(), ['22', true, true]);
    rmSync(place);
    symlinkSync(path.join(folder, 'short.json'), place);
    assert.deepEqual(await answers(), ['{"a": "ä"}', true, true]);
    rmSync(place);
    assert.deepEqual(await answers(), [undefined, false, false]);
  });
});
