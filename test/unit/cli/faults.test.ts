import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { reportChecked } from '../../../server/src/cli/check';
import { paintFor } from '../../../server/src/cli/output';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { CLI, oomlint } from './oomlint';

const CONFIG = `base_model: meta-llama/Llama-3.1-8B
bf16: true
sequence_len: 8192
micro_batch_size: 64
gradient_accumulation_steps: 1
datasets: []
# oomlint: gpu=H100 gpus=8
`;

describe('the command line in a bad place', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'oomlint-faults-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const put = (name: string, content: string | Buffer) => writeFileSync(path.join(folder, name), content);

  it('leaves the old file whole where the new one cannot be written', function () {
    if (process.platform === 'win32') this.skip();
    const text = `${CONFIG}${'# a comment that fills the file\n'.repeat(400)}`;
    put('a.yaml', text);
    // No file may grow beyond four blocks of 1,024 bytes: what a full disk does in the middle of a write.
    const { status } = spawnSync(
      'bash',
      ['-c', 'ulimit -f 4; exec "$0" "$1" fix a.yaml --take 1', process.execPath, CLI],
      { cwd: folder, env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' } },
    );
    assert.notEqual(status, 0);
    assert.equal(readFileSync(path.join(folder, 'a.yaml'), 'utf8'), text);
    // The same command writes it where there is room.
    const { status: fine } = spawnSync(process.execPath, [CLI, 'fix', 'a.yaml', '--take', '1'], {
      cwd: folder,
    });
    assert.equal(fine, 0);
    assert.notEqual(readFileSync(path.join(folder, 'a.yaml'), 'utf8'), text);
    assert.ok(readdirSync(folder).includes('a.yaml'));
  });

  it('reports of a named file that it was not checked, and does not end with 0', async () => {
    put('empty.yaml', '');
    put('zero.yaml', 'a: \0b\n');
    put('large.yaml', Buffer.alloc(4 * 2 ** 20 + 1, 'a'));
    const cases: [string, number, RegExp][] = [
      ['empty.yaml', 3, /empty\.yaml is no training config/],
      ['zero.yaml', 3, /zero\.yaml is no training config/],
      ['large.yaml', 2, /large\.yaml cannot be read/],
    ];
    if (process.platform !== 'win32') {
      execFileSync('mkfifo', [path.join(folder, 'pipe.yaml')]);
      cases.push(['pipe.yaml', 2, /pipe\.yaml cannot be read/]);
    }
    for (const [file, expected, message] of cases) {
      const { code, err } = await oomlint(['check', file], folder);
      assert.equal(code, expected, `${file}: ${err}`);
      assert.match(err, message);
    }
  });

  it('refuses numbers that are not meant, and figures that every object has', async () => {
    put('a.yaml', CONFIG);
    const cases: [string[], RegExp][] = [
      [['estimate', 'a.yaml', '--gpus', '1e9'], /--gpus: "1e9" is too large to be meant/],
      [['search', 'a.yaml', '--max-gpus', '0'], /--max-gpus: 0 is below 1/],
      [['explain', 'a.yaml', '--part', 'constructor'], /no figure is called "constructor"/],
      [['explain', 'a.yaml', '--part', '__proto__'], /no figure is called "__proto__"/],
    ];
    for (const [args, message] of cases) {
      const { code, err } = await oomlint(args, folder);
      assert.equal(code, 2, `${args.join(' ')}: ${err}`);
      assert.match(err, message);
    }
  });

  it('ends with 2 where a config made Oomlint itself fail, whatever is to fail the check', async () => {
    const place = { line: 0, character: 0 };
    const checked = [
      {
        uri: 'file:///a.yaml',
        path: 'a.yaml',
        lines: new Map<number, string>(),
        runs: [],
        problems: [
          {
            code: 'internal-error' as const,
            severity: 'warning' as const,
            message: 'boom',
            range: { start: place, end: place },
          },
        ],
        unread: [],
        files: [],
      },
    ];
    const context = {
      workspace: new Workspace(new MemoryHost({})),
      targets: [],
      output: { write: () => undefined, writeError: () => undefined, paint: paintFor(false, {}), width: 100 },
      folder,
      options: { format: 'table' as const },
    };
    assert.equal(
      await reportChecked({ checked, failed: false }, { as: 'json', failOn: 'error' }, context),
      2,
    );
    assert.equal(
      await reportChecked(
        { checked: [], failed: false },
        { as: 'json', failOn: 'error', allowNone: true },
        context,
      ),
      0,
    );
  });
});
