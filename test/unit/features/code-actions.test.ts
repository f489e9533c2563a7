import assert from 'node:assert/strict';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { ActionContext, FileEdit } from '../../../server/src/features/action';
import { codeActions } from '../../../server/src/features/code-actions';
import type { Range } from '../../../server/src/text/place';
import type { Problem } from '../../../server/src/text/problem';
import { sample } from './sample';

const TOP: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
const unknown = [
  {
    field: 'hardware.gpu' as const,
    reason: 'Nothing that is read of the files says which GPU the run uses.',
  },
  {
    field: 'hardware.gpus' as const,
    reason: 'Nothing that is read of the files says how many GPUs the run uses.',
  },
  {
    field: 'batch.sequence' as const,
    reason: 'Nothing that is read of the files says how many tokens a sample has.',
  },
];

/** Titles and texts after the change, for a config that lacks three facts. */
function supplied(text: string, given: { uri?: string; project?: ActionContext['project'] } = {}) {
  const analysis = sample(text, { uri: given.uri, resolved: { unknown } });
  return codeActions(analysis, { text, range: TOP, project: given.project }).map((action) => ({
    title: action.title,
    command: action.command,
    text: apply(
      given.project && action.edits[0]?.uri !== analysis.uri ? (given.project.text ?? '') : text,
      action.edits,
    ),
    create: action.edits.some((edit) => edit.create),
  }));
}

function apply(text: string, edits: readonly FileEdit[]): string {
  const document = TextDocument.create('file:///x', 'yaml', 1, text);
  return TextDocument.applyEdits(
    document,
    edits.map(({ range, newText }) => ({
      range: { start: { ...range.start }, end: { ...range.end } },
      newText,
    })),
  );
}

describe('supplying facts', () => {
  it('asks, where the editor can', () => {
    const [ask] = supplied('a: 1\n');
    assert.equal(ask?.title, 'Choose GPU, number of GPUs and sequence length…');
    assert.deepEqual(ask?.command, {
      name: 'oomlint.supply',
      argument: {
        uri: 'file:///project/config.yaml',
        fields: ['hardware.gpu', 'hardware.gpus', 'batch.sequence'],
      },
    });
  });

  it('adds a directive as the first line of YAML', () => {
    const action = supplied('---\na: 1\n')[1];
    assert.equal(action?.title, 'Add the directive # oomlint: gpu=H100-SXM5-80GB gpus=8 sequence=4096');
    assert.equal(action?.text, '# oomlint: gpu=H100-SXM5-80GB gpus=8 sequence=4096\n---\na: 1\n');
  });

  it('adds to a directive that is there', () => {
    const action = supplied('# oomlint: model=a/b\na: 1\n')[1];
    assert.equal(action?.text, '# oomlint: model=a/b gpu=H100-SXM5-80GB gpus=8 sequence=4096\na: 1\n');
  });

  it('writes comments into JSON only where the file has them or its name allows them', () => {
    const titles = (text: string, uri: string) => supplied(text, { uri }).map(({ title }) => title);
    assert.equal(titles('{"a": 1}', 'file:///project/ds.json').length, 1);
    assert.match(
      titles('{"a": 1}', 'file:///project/ds.jsonc')[1] ?? '',
      /^Add the directive \/\/ oomlint: gpu=/,
    );
    assert.match(
      titles('// c\n{"a": 1}', 'file:///project/ds.json')[1] ?? '',
      /^Add the directive \/\/ oomlint: gpu=/,
    );
  });

  it('creates a project file', () => {
    const action = supplied('a: 1\n', { project: { uri: 'file:///project/oomlint.yaml' } })[2];
    assert.equal(
      action?.title,
      'Create oomlint.yaml for this config: gpu: H100-SXM5-80GB, gpus: 8, sequence: 4096',
    );
    assert.equal(action?.create, true);
    assert.equal(
      action?.text,
      'files:\n  - match: /config.yaml\n    gpu: H100-SXM5-80GB\n    gpus: 8\n    sequence: 4096\n',
    );
  });

  it('adds to a project file what holds for this config alone', () => {
    const into = (text: string) =>
      supplied('a: 1\n', { project: { uri: 'file:///project/oomlint.yaml', text } })[2]?.text;
    const facts = '    gpu: H100-SXM5-80GB\n    gpus: 8\n    sequence: 4096\n';
    assert.equal(
      into('defaults:\n  model: a/b # ours\n'),
      `defaults:\n  model: a/b # ours\nfiles:\n  - match: /config.yaml\n${facts}`,
    );
    assert.equal(
      into('files:\n  - match: /config.yaml\n    model: a/b\n  - match: "*.json"\n    gpus: 1\n'),
      `files:\n  - match: /config.yaml\n    model: a/b\n${facts}  - match: "*.json"\n    gpus: 1\n`,
    );
    assert.equal(into(''), `files:\n  - match: /config.yaml\n${facts}`);
  });

  it('does not touch a project file that cannot be read', () => {
    const project = { uri: 'file:///project/oomlint.yaml', text: 'targets: {nodes: 1\n' };
    assert.equal(supplied('a: 1\n', { project }).length, 2);
  });

  it('only asks about a value that is stated but not known', () => {
    const analysis = sample('a: 1\n', {
      resolved: {
        values: { 'hardware.gpu': 'H10' },
        unknown: [{ field: 'hardware.gpu', reason: 'No GPU called "H10" is known.' }],
      },
    });
    const titles = codeActions(analysis, { text: 'a: 1\n', range: TOP }).map(({ title }) => title);
    assert.deepEqual(titles, ['Choose GPU…']);
  });

  it('offers places to fill in to editors that know snippets', () => {
    const analysis = sample('a: 1\n', { resolved: { unknown: unknown.slice(0, 1) } });
    const [, directive] = codeActions(analysis, { text: 'a: 1\n', range: TOP });
    assert.equal(directive?.edits[0]?.snippet, `# oomlint: gpu=\${1:H100-SXM5-80GB}\n`);
  });

  it('offers such places in a project file, and leaves its own signs alone', () => {
    const analysis = sample('a: 1\n', { uri: 'file:///project/$a.yaml', resolved: { unknown } });
    const project = { uri: 'file:///project/oomlint.yaml' };
    const [, , note] = codeActions(analysis, { text: 'a: 1\n', range: TOP, project });
    assert.equal(
      note?.edits[0]?.snippet,
      `files:\n  - match: /\\$a.yaml\n    gpu: \${1:H100-SXM5-80GB}\n    gpus: \${2:8}\n    sequence: \${3:4096}\n`,
    );
  });

  it('is not offered in the middle of the file', () => {
    const text = 'a: 1\nb: 2\n';
    const range = { start: { line: 1, character: 0 }, end: { line: 1, character: 0 } };
    assert.deepEqual(codeActions(sample(text, { resolved: { unknown } }), { text, range }), []);
  });
});

describe('fixes', () => {
  const fix = (text: string, uri: string, from: number, to: number, replacement: unknown) => {
    const range = { start: { line: 0, character: from }, end: { line: 0, character: to } };
    const problem: Problem = {
      code: 'unknown-key',
      severity: 'warning',
      message: 'Did you mean …?',
      range,
      data: { replacement },
    };
    const analysis = sample(text, { uri, problems: [problem] });
    const [action] = codeActions(analysis, { text, range });
    return action?.problem === problem && action.edits.length > 0 ? apply(text, action.edits) : undefined;
  };

  it('put a name right and keep its quotes', () => {
    assert.equal(fix('{"stagee": 3}', 'file:///project/ds.json', 1, 9, 'stage'), '{"stage": 3}');
    assert.equal(fix('{"stagee": 3}', 'file:///project/ds.json', 2, 8, 'stage'), '{"stage": 3}');
    assert.equal(fix('stagee: 3', 'file:///project/ds.yaml', 0, 6, 'stage'), 'stage: 3');
    const escaped = '{"st\\u0061gee": 3}';
    assert.equal(fix(escaped, 'file:///project/ds.json', 1, 14, 'stage'), '{"stage": 3}');
  });

  it('offer every near name, and none that lies somewhere else', () => {
    const range = { start: { line: 0, character: 2 }, end: { line: 0, character: 3 } };
    const titles = (data: Record<string, unknown>) =>
      codeActions(
        sample('{"a": 1}', {
          uri: 'file:///project/ds.json',
          problems: [{ code: 'bad-value', severity: 'warning', message: 'm', range, data }],
        }),
        { text: '{"a": 1}', range },
      ).map(({ title }) => title);
    assert.deepEqual(titles({ replacement: 'b', suggestions: ['b', 'c'] }), [
      'Change to "b"',
      'Change to "c"',
    ]);
    assert.deepEqual(titles({ replacement: 'zero_optimization.stage' }), []);
  });

  it('switch a file off where it takes comments', () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
    const problem: Problem = { code: 'bad-value', severity: 'warning', message: 'm', range };
    const titles = (text: string, uri: string) =>
      codeActions(sample(text, { uri, problems: [problem] }), { text, range }).map(({ title }) => title);
    assert.deepEqual(titles('a: 1', 'file:///project/a.yaml'), ['Switch Oomlint off for this file']);
    assert.deepEqual(titles('{"a": 1}', 'file:///project/a.json'), []);
    const text = 'a: 1';
    const [off] = codeActions(sample(text, { problems: [problem] }), { text, range });
    assert.equal(apply(text, off?.edits ?? []), '# oomlint: off\na: 1');
  });

  it('write comments as the format has them, below what only counts on the first line', () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
    const problem: Problem = { code: 'bad-value', severity: 'warning', message: 'm', range };
    const switchedOff = (text: string, uri: string) => {
      const [off] = codeActions(sample(text, { uri, problems: [problem] }), { text, range });
      return apply(text, off?.edits ?? []);
    };
    const script = '#!/bin/bash\ntorchrun a.py\n';
    assert.equal(switchedOff(script, 'file:///a.sh'), '#!/bin/bash\n# oomlint: off\ntorchrun a.py\n');
    assert.equal(switchedOff('[a]\nb = 1\n', 'file:///a.toml'), '# oomlint: off\n[a]\nb = 1\n');
    assert.equal(switchedOff('bs=1\n', 'file:///a.flags'), '# oomlint: off\nbs=1\n');
    assert.equal(switchedOff('{"a": 1}', 'file:///a.jsonc'), '// oomlint: off\n{"a": 1}');
  });
});
