import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { eachEntry } from '../../../server/src/config/lookup';
import type { ConfigNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import { MAX_SYNTAX_PROBLEMS } from '../../../server/src/config/problems';
import { detectDialect, mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import type { Range } from '../../../server/src/text/place';
import { LONG, runs } from '../../unit/long';

const URIS = ['file:///a.json', 'file:///a.yaml', 'untitled:Untitled-1'];
const folder = path.join('test', 'fixtures', 'configs');
const FILES = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(path.join(folder, name), 'utf8'),
}));

/** Every range lies inside of the text and runs forward. */
function checkRanges(uri: string, text: string): void {
  const document = parseConfig(uri, text);
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const inside = (range: Range, what: string) => {
    for (const { line, character } of [range.start, range.end]) {
      assert.ok(line >= 0 && line < lines.length, `${what}: line ${line}`);
      // The break itself may be covered, never the next line.
      assert.ok(
        character >= 0 && character <= (lines[line]?.length ?? 0) + 2,
        `${what}: character ${character}`,
      );
    }
    const forward = range.start.line - range.end.line || range.start.character - range.end.character;
    assert.ok(forward <= 0, `${what} runs backward`);
  };
  const visit = (node: ConfigNode) => {
    inside(node.range, node.kind);
    if (node.kind === 'list') node.items.forEach(visit);
  };
  if (document.root) visit(document.root);
  eachEntry(document.root, (entry) => {
    inside(entry.keyRange, `key ${entry.key}`);
    visit(entry.value);
  });
  for (const problem of document.problems) inside(problem.range, problem.code);
  for (const directive of document.directives) inside(directive.range, 'directive');
  assert.ok(document.problems.length <= MAX_SYNTAX_PROBLEMS + 1);
  const dialect = detectDialect(document);
  if (!dialect) return;
  const name = uri.split('/').at(-1) ?? '';
  assert.ok(mightBeTrainingConfig(text, name), `the look at the raw text misses a ${dialect.id} file`);
  const reading = dialect.read(document, { known: { 'hardware.gpus': 8 } });
  for (const problem of reading.problems) inside(problem.range, problem.code);
  for (const fact of reading.facts) if (fact.origin.location) inside(fact.origin.location.range, fact.field);
}

/** A real config with a few pieces cut out, doubled, or replaced. */
const mutated = fc
  .tuple(
    fc.constantFrom(...FILES),
    fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        cut: fc.nat({ max: 40 }),
        put: fc.oneof(
          fc.constantFrom(
            '',
            '{',
            '}',
            '[',
            ']',
            '"',
            "'",
            ':',
            ',',
            '\n',
            '\t',
            '*a',
            '&a ',
            '<<: ',
            'null',
            '-1',
            '1e999',
          ),
          fc.string({ maxLength: 6 }),
        ),
      }),
      { maxLength: 6 },
    ),
  )
  .map(([file, edits]) => {
    let { text } = file;
    for (const { at, cut, put } of edits) {
      const start = Math.floor(at * text.length);
      text = text.slice(0, start) + put + text.slice(start + cut);
    }
    return { uri: `file:///${file.name}`, text };
  });

describe('reading never throws', () => {
  it('on any text', () => {
    fc.assert(
      fc.property(fc.constantFrom(...URIS), fc.string({ unit: 'binary', maxLength: 300 }), (uri, text) => {
        checkRanges(uri, text);
      }),
      { numRuns: runs(300, 2000) },
    );
  });
  it('on texts made of syntax', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ':',
      ': ',
      ',',
      '"',
      "'",
      '\n',
      '\r\n',
      '  ',
      '- ',
      '? ',
      '&a ',
      '*a',
      '!!int ',
      '| ',
      '> ',
      '---\n',
      '...\n',
      '#',
      '//',
      '/*',
      '*/',
      '%YAML 1.1\n',
      'a',
      '1',
      '\\',
      '<<',
      '@',
      '`',
      '\t',
    );
    fc.assert(
      fc.property(fc.constantFrom(...URIS), fc.array(token, { maxLength: 60 }), (uri, tokens) => {
        checkRanges(uri, tokens.join(''));
      }),
      { numRuns: runs(700, 3000) },
    );
  });
  it('on damaged configs', () => {
    fc.assert(
      fc.property(mutated, ({ uri, text }) => {
        checkRanges(uri, text);
      }),
      { numRuns: runs(400, 1600) },
    );
  });
  it('on an anchor before the first key', () => {
    for (const { name, text } of FILES.filter((file) => /\.ya?ml$/.test(file.name)))
      checkRanges(`file:///${name}`, `&a ${text}`);
  });
  it('on beginnings of a config', () => {
    // Every beginning in the long run, else every seventh, of each file from another place.
    for (const [place, { name, text }] of FILES.entries()) {
      for (let end = LONG ? 0 : place % 7; end <= text.length; end += LONG ? 1 : 7)
        checkRanges(`file:///${name}`, text.slice(0, end));
    }
  });
});
