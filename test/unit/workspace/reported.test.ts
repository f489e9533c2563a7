import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { Severity } from '../../../server/src/text/problem';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { reported } from '../../../server/src/workspace/reported';

/** Problems of the first file as `code severity`, without what is only missing. */
async function found(text: string, files: Readonly<Record<string, string>> = {}, name = 'configs/run.yaml') {
  const uri = `file:///w/${name}`;
  const all = Object.fromEntries(Object.entries(files).map(([file, words]) => [`file:///w/${file}`, words]));
  const workspace = new Workspace(new MemoryHost({ [uri]: text, ...all }, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(uri);
  assert.ok(analysis);
  return analysis.problems
    .filter(({ code }) => code !== 'unknown-fields' && code !== 'unknown-model')
    .map(({ code, severity, range }) => `${range.start.line + 1} ${code} ${severity}`);
}

const AXOLOTL = (lines: string) =>
  `base_model: NousResearch/Llama-3.2-1B\nadapter: qlora\n${lines}\nmicro_batch_size: 1\nsequence_len: 2048\ndatasets:\n  - path: a\n    type: alpaca\n`;

describe('problems that are reported', () => {
  it('are those of the rules without a comment', async () => {
    assert.deepEqual(await found(AXOLOTL('load_in_4bit: false')), ['2 qlora-without-4bit error']);
  });

  it('leave out what a comment behind the value or above it ignores', async () => {
    const behind = AXOLOTL('load_in_4bit: false').replace(
      'adapter: qlora',
      'adapter: qlora # oomlint: ignore[qlora-without-4bit] read by another tool',
    );
    assert.deepEqual(await found(behind), []);
    const above = AXOLOTL('load_in_4bit: false').replace(
      'adapter: qlora',
      '# oomlint: ignore[tight, qlora-without-4bit]\nadapter: qlora',
    );
    assert.deepEqual(await found(above), ['2 unused-ignore warning']);
    const elsewhere = `${AXOLOTL('load_in_4bit: false')}# oomlint: ignore[qlora-without-4bit]\n`;
    assert.deepEqual(await found(elsewhere), ['2 qlora-without-4bit error', '9 unused-ignore warning']);
  });

  it('leave out what a comment ignores in the whole file', async () => {
    const text = `# oomlint: ignore-file[qlora-without-4bit] why\n${AXOLOTL('load_in_4bit: false')}`;
    assert.deepEqual(await found(text), []);
  });

  it('name a rule that there is not, with the one that is meant', async () => {
    const text = `# oomlint: ignore-file[qlora-without-4bits]\n${AXOLOTL('load_in_4bit: true')}`;
    assert.deepEqual(await found(text), ['1 unknown-rule warning']);
  });

  it('are as bad as the project states, for all files or for some', async () => {
    const project =
      'rules:\n  qlora-without-4bit: warning\nfiles:\n  - match: legacy/**\n    rules:\n      qlora-without-4bit: off\n';
    const files = { 'oomlint.yaml': project };
    const text = AXOLOTL('load_in_4bit: false');
    assert.deepEqual(await found(text, files), ['2 qlora-without-4bit warning']);
    assert.deepEqual(await found(text, files, 'legacy/run.yaml'), []);
  });

  it('stay milder where they are in doubt', () => {
    const document = parseConfig('file:///w/a.yaml', 'a: 1\n');
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
    const at = (severity: Severity, level: Severity) => {
      const problem = { code: 'does-not-fit', severity, message: 'm', range } as const;
      return reported([problem], document, 'a: 1\n', new Map([['does-not-fit', level]]))[0]?.severity;
    };
    assert.equal(at('error', 'warning'), 'warning');
    assert.equal(at('warning', 'error'), 'warning', 'the launch was not seen');
    assert.equal(at('warning', 'hint'), 'hint');
  });
});

describe('rules in a project file', () => {
  const problems = async (text: string) => {
    const uri = 'file:///w/oomlint.yaml';
    const workspace = new Workspace(new MemoryHost({ [uri]: text }, { folders: ['file:///w'] }));
    return (await workspace.checkProjectFile(uri))?.map(({ code, message }) => `${code}: ${message}`);
  };

  it('take levels, and nothing else', async () => {
    assert.deepEqual(await problems('rules:\n  tight: error\n  unknown-key: off\n'), []);
    assert.deepEqual(await problems('rules:\n  tight: loud\n'), [
      'bad-value: tight: one of off, hint, information, warning, error is needed.',
    ]);
    assert.deepEqual(await problems('rules: off\n'), [
      'project-file: rules is a mapping of rules to levels.',
    ]);
  });

  it('are known by name; a rule that a vocabulary teaches may have any', async () => {
    assert.deepEqual(await problems('rules:\n  tigth: error\n'), [
      'unknown-rule: There is no rule `tigth`. Did you mean "tight"?',
    ]);
    assert.deepEqual(await problems('rules:\n  our-cluster-has-no-nvme: off\n'), []);
  });
});
