import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { type IGrammar, INITIAL, Registry } from 'vscode-textmate';
import { contributes } from '../../package.json';

const ROOT = process.cwd();

async function tomlGrammar(): Promise<IGrammar> {
  const wasm = path.join(
    path.dirname(createRequire(path.join(ROOT, 'x')).resolve('vscode-oniguruma')),
    'onig.wasm',
  );
  const found = contributes.grammars.find(({ scopeName }) => scopeName === 'source.toml');
  assert.ok(found, 'the language that the extension registers has colours');
  const registry = new Registry({
    onigLib: readFile(wasm)
      .then((bytes) => loadWASM({ data: bytes }))
      .then(() => ({ createOnigScanner, createOnigString })),
    loadGrammar: async () => JSON.parse(await readFile(path.join(ROOT, found.path), 'utf8')),
  });
  const grammar = await registry.loadGrammar('source.toml');
  assert.ok(grammar);
  return grammar;
}

describe('TOML grammar', () => {
  let grammar: IGrammar;
  before(async () => {
    grammar = await tomlGrammar();
  });

  /** Words of a text, each with its innermost scope; plain ones and blanks left out. */
  function scopes(text: string): string[] {
    let state = INITIAL;
    const found: string[] = [];
    for (const line of text.split('\n')) {
      const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
      state = ruleStack;
      for (const { startIndex, endIndex, scopes: all } of tokens) {
        const word = line.slice(startIndex, endIndex).trim();
        const scope = all.at(-1)?.replace(/\.toml$/, '') ?? '';
        if (/[^"]/.test(word) && !/^(source|meta)/.test(scope) && !/^punctuation/.test(scope))
          found.push(`${word} ${scope}`);
      }
    }
    return found;
  }

  it('tells tables, keys, values and comments of a torchtitan config apart', () => {
    assert.deepEqual(
      scopes(
        '# Llama\n[activation_checkpoint]\nmode = "selective" # why\nsteps = 1_000\nlr = 8e-4\nfused = true',
      ),
      [
        'Llama comment.line.number-sign',
        'activation_checkpoint entity.name.section',
        'mode support.type.property-name',
        'selective string.quoted.double.basic',
        'why comment.line.number-sign',
        'steps support.type.property-name',
        '1_000 constant.numeric',
        'lr support.type.property-name',
        '8e-4 constant.numeric',
        'fused support.type.property-name',
        'true constant.language.boolean',
      ],
    );
  });

  it('follows arrays, inline tables and long strings over lines', () => {
    const text = `[[a."b.c"]]\nx.y = [\n  1, # one\n  'two',\n]\nz = { k = -1.5, v = [] }\ns = """\nlong = 1\n"""\nt = 0x1F\nd = 2026-01-02`;
    assert.deepEqual(scopes(text), [
      'a."b.c" entity.name.section',
      'x.y support.type.property-name',
      '1 constant.numeric',
      'one comment.line.number-sign',
      "'two' string.quoted.single.literal",
      'z support.type.property-name',
      'k support.type.property-name',
      '-1.5 constant.numeric',
      'v support.type.property-name',
      's support.type.property-name',
      'long = 1 string.quoted.triple.basic',
      't support.type.property-name',
      '0x1F constant.numeric',
      'd support.type.property-name',
      '2026-01-02 constant.other.date',
    ]);
  });
});
