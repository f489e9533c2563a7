import assert from 'node:assert/strict';
import { parseProjectFile, projectFacts } from '../../../server/src/workspace/project-file';

const URI = 'file:///repo/oomlint.yaml';
const factsFor = (text: string, file: string) =>
  projectFacts(parseProjectFile(URI, text), file).map(({ field, value }) => [field, value]);

describe('the project file', () => {
  it('states hardware, defaults and facts for some files', () => {
    const text = [
      'targets:',
      '  gpu: H100',
      '  gpus: 8',
      'defaults:',
      '  model: meta-llama/Llama-3.1-8B',
      '  batch:',
      '    sequence: 4096',
      'files:',
      '  - match: "configs/*.json"',
      '    micro-batch: 2',
      '  - match: [big/**, "*.yaml"]',
      '    zero.reduceBucket: 5e8',
      '',
    ].join('\n');
    const common = [
      ['hardware.gpu', 'H100'],
      ['hardware.gpus', 8],
      ['model.id', 'meta-llama/Llama-3.1-8B'],
      ['batch.sequence', 4096],
    ];
    assert.deepEqual(parseProjectFile(URI, text).problems, []);
    assert.deepEqual(factsFor(text, 'file:///repo/other/x.json'), common);
    assert.deepEqual(factsFor(text, 'file:///repo/configs/x.json'), [['batch.micro', 2], ...common]);
    assert.deepEqual(factsFor(text, 'file:///repo/big/a/b/x.json'), [
      ['zero.reduceBucket', 500_000_000],
      ...common,
    ]);
    assert.deepEqual(factsFor(text, 'file:///repo/deep/in/x.yaml'), [
      ['zero.reduceBucket', 500_000_000],
      ...common,
    ]);
    assert.deepEqual(factsFor(text, 'file:///elsewhere/x.yaml'), common);
  });

  it('lets later entries win over earlier ones', () => {
    const text = 'files:\n  - match: "*.json"\n    micro: 1\n  - match: big.json\n    micro: 2\n';
    assert.deepEqual(factsFor(text, 'file:///repo/big.json'), [
      ['batch.micro', 2],
      ['batch.micro', 1],
    ]);
  });

  it('takes facts without a section', () => {
    assert.deepEqual(factsFor('gpu: H100\nmodel: ./mine\n', 'file:///repo/x.json'), [
      ['hardware.gpu', 'H100'],
      ['model.path', './mine'],
    ]);
  });

  it('keeps the place of each fact', () => {
    const [gpus] = parseProjectFile(URI, 'targets:\n  gpus: 8\n').facts;
    assert.deepEqual(gpus?.origin.location, {
      uri: URI,
      range: { start: { line: 1, character: 8 }, end: { line: 1, character: 9 } },
    });
    assert.equal(gpus?.origin.key, 'targets.gpus');
    assert.equal(gpus?.origin.kind, 'project');
  });

  it('reports what it cannot read at its place and keeps the rest', () => {
    const text =
      'targets:\n  gpuss: 8\n  gpus: many\n  gpu: H100\nfiles:\n  - micro: 1\n  - 3\nwhat: 1\ndefaults: 4\n';
    const { problems, facts } = parseProjectFile(URI, text);
    assert.deepEqual(
      problems.map(({ code, range }) => [code, range.start.line]),
      [
        ['unknown-field', 1],
        ['bad-value', 2],
        ['bad-value', 5],
        ['project-file', 6],
        ['unknown-key', 7],
        ['project-file', 8],
      ],
    );
    assert.deepEqual(
      facts.map(({ field }) => field),
      // What was stated in its place cannot be meant, so that nothing else is taken for it.
      ['hardware.gpus', 'hardware.gpu'],
    );
  });

  it('never throws', () => {
    const texts = [
      '',
      '\n',
      '[]',
      '- a',
      '"x"',
      '{',
      'files: x',
      'files: {}',
      'files: [{match: "["}]',
      'files: [{match: ["", "!"]}]',
      'a: &a [*a]',
      'targets: {gpus: 1e30}',
      '\u0000',
    ];
    for (const text of texts) {
      const project = parseProjectFile(URI, text);
      assert.ok(Array.isArray(projectFacts(project, 'file:///repo/a.json')), JSON.stringify(text));
    }
  });
});
