import assert from 'node:assert/strict';
import { readDirective } from '../../../server/src/run/directive';

function read(text: string) {
  return readDirective(text, {
    uri: 'file:///a.yaml',
    range: { start: { line: 3, character: 11 }, end: { line: 3, character: 11 + text.length } },
  });
}

describe('directives', () => {
  it('read name=value pairs into facts with their place', () => {
    const { facts, problems, off } = read(
      'model=meta-llama/Llama-3.1-8B gpu=H100-80GB gpus=8 sequence=4096 micro-batch=2',
    );
    assert.deepEqual(
      facts.map(({ field, value }) => [field, value]),
      [
        ['model.id', 'meta-llama/Llama-3.1-8B'],
        ['hardware.gpu', 'H100-80GB'],
        ['hardware.gpus', 8],
        ['batch.sequence', 4096],
        ['batch.micro', 2],
      ],
    );
    assert.deepEqual(problems, []);
    assert.equal(off, false);
    assert.deepEqual(facts[1]?.origin.location?.range, {
      start: { line: 3, character: 11 + 30 },
      end: { line: 3, character: 11 + 43 },
    });
    assert.equal(facts[0]?.origin.kind, 'directive');
  });

  it('switch a file off', () => {
    assert.equal(read('off').off, true);
    assert.equal(read(' OFF ').off, true);
    assert.equal(read('gpu=off').off, false);
  });

  it('take quoted values and commas between pairs', () => {
    const { facts } = read('gpu="RTX 4090", gpus=2');
    assert.deepEqual(
      facts.map(({ value }) => value),
      ['RTX 4090', 2],
    );
  });

  it('read a path as a path', () => {
    assert.equal(read('model=./models/mine').facts[0]?.field, 'model.path');
    assert.equal(read('model=/data/llama/config.json').facts[0]?.field, 'model.path');
    assert.equal(read('model=org/name').facts[0]?.field, 'model.id');
  });

  it('report bad words and values at their place and keep the rest', () => {
    const { facts, problems } = read('gpus=eight seqence=12 H100 micro=2 micro=3 micro');
    assert.deepEqual(
      facts.map(({ field }) => field),
      // What was stated in its place cannot be meant, so that nothing else is taken for it.
      ['hardware.gpus', 'batch.micro'],
    );
    assert.deepEqual(
      problems.map(({ code, range }) => [code, range.start.character - 11]),
      [
        ['bad-value', 5],
        ['unknown-field', 11],
        ['directive-word', 22],
        ['directive-repeated', 35],
        ['directive-word', 43],
      ],
    );
    assert.equal(problems[1]?.data?.replacement, 'sequence');
  });

  it('never throw', () => {
    for (const text of [
      '',
      '   ',
      '=',
      '==',
      'a=',
      '=b',
      '"',
      "gpu='",
      'gpu=="x',
      '\u0000',
      'é=é',
      'gpus=1e999',
      'micro=-1',
    ]) {
      assert.ok(read(text).problems.length > 0, JSON.stringify(text));
    }
  });
});
