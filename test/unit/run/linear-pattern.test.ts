import assert from 'node:assert/strict';
import fc from 'fast-check';
import { linearPattern } from '../../../server/src/run/linear-pattern';
import { processorMs } from '../processor-time';

function matches(pattern: string, text: string, whole = true): boolean | undefined {
  return linearPattern(pattern, whole)?.test(text);
}

describe("regular expressions of Python's re", () => {
  it('reads what configs write', () => {
    const path = 'model.language_model.layers.12.self_attn.q_proj';
    assert.equal(matches('.*self_attn.*', path), true);
    assert.equal(matches(String.raw`.*\.layers\.(1[0-9])\.self_attn\.(q|k)_proj$`, path), true);
    assert.equal(matches('^(?!.*visual).*(?:gate_proj|q_proj).*', path), true);
    assert.equal(matches('^(?!.*self_attn).*(?:gate_proj|q_proj).*', path), false);
    assert.equal(matches('(?:.*?(?:language|text).*?(?:self_attn|mlp).*?_proj)', path), true);
    assert.equal(matches(String.raw`model.*(?<!visual)\.q_proj`, path), true);
    assert.equal(matches('(?i)MODEL.*Q_PROJ', path), true);
    assert.equal(matches(String.raw`(?P<a>model)\b.{3,}[^a-z]proj`, path), true);
    assert.equal(matches('q_proj', path), false);
    assert.equal(matches('model', path, false), true);
    assert.equal(matches(String.raw`\w+\.\w+\.layers\.\d{1,2}\..*`, path), true);
    assert.equal(matches(String.raw`\w+\.\w+\.layers\.\d{3}\..*`, path), false);
    assert.equal(matches('', ''), true);
    assert.equal(matches('a{,2}', 'aa'), true);
    assert.equal(matches('a{', 'a{'), true);
    assert.equal(matches('[]a]+', ']a'), true);
  });

  it('refuses what Python refuses, and what it does not follow', () => {
    for (const pattern of [
      '(',
      ')',
      '*a',
      'a**',
      '[a',
      '[z-a]',
      '(?<n>a)',
      '(?P<n>a)(?P=n)',
      '(a)\\1',
      'a*+',
      '\\q',
    ])
      assert.equal(linearPattern(pattern, true), undefined, pattern);
  });

  it('takes no longer where a backtracking matcher would never end', async () => {
    const text = `${'model.layers.0.self_attn.'.repeat(8)}q_proj`;
    const patterns = [
      '([a-z_.0-9]+)+!',
      '(([a-z_.0-9]+)*)*!',
      '(a|a|[a-z_.0-9])*!',
      `${'(.*)'.repeat(30)}!`,
      `${'(?=.*a)'.repeat(50)}.*!`,
      '(?:){99999}(?:(?:){99999}){99999}!',
      '((?=(.*)*a)[a-z_.0-9]*)*!',
    ];
    const took = await processorMs(() => {
      for (const pattern of patterns) assert.equal(matches(pattern, text), false, pattern);
    });
    assert.ok(took < 1000, `${took} ms`);
    assert.equal(linearPattern('(((a{9}){9}){9}){9}', true), undefined);
    assert.equal(linearPattern(`${'('.repeat(5000)}${')'.repeat(5000)}`, true), undefined);
  });

  it('agrees with the matcher of JavaScript', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      String.raw`\w`,
      String.raw`\d`,
      String.raw`\.`,
      '1',
    );
    const pattern = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('pattern'), tie('pattern')).map((parts) => parts.join('')),
        fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
        fc
          .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,}', '*?', '+?'))
          .map(([inner, count]) => `(?:${inner})${count}`),
        tie('pattern').map((inner) => `(?=${inner})`),
        tie('pattern').map((inner) => `(?!${inner})`),
        tie('pattern').map((inner) => `^${inner}`),
        tie('pattern').map((inner) => String.raw`\b${inner}`),
      ),
    })).pattern;
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '1'), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, fc.boolean(), (source, subject, whole) => {
        assert.equal(
          matches(source, subject, whole),
          new RegExp(`^(?:${source})${whole ? '$' : ''}`).test(subject),
        );
      }),
      { numRuns: 3000 },
    );
  });
});
