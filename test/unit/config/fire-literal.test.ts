import assert from 'node:assert/strict';
import { fireLiteral, textsOfList } from '../../../server/src/config/python/fire-literal';

/** Words of commands and what Fire 0.7.1 makes of them (`fire/parser.py`, `DefaultParseValue`). */
const CASES: readonly (readonly [string, unknown])[] = [
  ["['query_key_value', 'dense']", ['query_key_value', 'dense']],
  ['[q_proj,v_proj]', ['q_proj', 'v_proj']],
  ['["q_proj", k_proj]', ['q_proj', 'k_proj']],
  ['(q_proj,)', ['q_proj']],
  ['q_proj,v_proj', ['q_proj', 'v_proj']],
  ['(8)', 8],
  ['{"r": 8, alpha: 1_6}', { r: 8, alpha: 16 }],
  ['[[1, 2], {a: [True]}]', [[1, 2], { a: [true] }]],
  ['[]', []],
  ['True', true],
  ['true', 'true'],
  ['None', null],
  ['1e-4', 0.0001],
  ['-3', -3],
  ['007', '007'],
  ['meta-llama/Llama-2-7b-hf', 'meta-llama/Llama-2-7b-hf'],
  ['./data.json', './data.json'],
  ['[a-b]', '[a-b]'],
  ['["a]', '["a]'],
  ['a b', 'a b'],
  ["'text'", 'text'],
  ['', ''],
];

describe('words of a command that Fire reads', () => {
  it('are literals of Python where they are any, with bare names as texts', () => {
    for (const [text, value] of CASES) assert.deepEqual(fireLiteral(text), value, text);
  });

  it('never stop the reading, however deep or broken they are', () => {
    for (const text of ['['.repeat(5000), '{{{:', '[,]', "['", '{a:}', '[1 2]'])
      assert.equal(fireLiteral(text), text);
  });

  it('are lists of texts as Python writes them, or none', () => {
    assert.deepEqual(textsOfList("['q_proj', 'v_proj']"), ['q_proj', 'v_proj']);
    for (const text of ['q_proj,v_proj', '[1, 2]', '.*[qv]_proj', '(q|v)_proj'])
      assert.equal(textsOfList(text), undefined, text);
  });
});
