import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { type IGrammar, INITIAL, Registry } from 'vscode-textmate';

const ROOT = process.cwd();
const FLAGS = 'source.oomlint-flags';
const INJECTION = 'oomlint.directive.injection';
const FILES: Readonly<Record<string, string>> = {
  [FLAGS]: 'flags.tmLanguage.json',
  [INJECTION]: 'directive.tmLanguage.json',
};

async function flagsGrammar(): Promise<IGrammar> {
  const wasm = path.join(
    path.dirname(createRequire(path.join(ROOT, 'x')).resolve('vscode-oniguruma')),
    'onig.wasm',
  );
  const registry = new Registry({
    onigLib: readFile(wasm)
      .then((bytes) => loadWASM({ data: bytes }))
      .then(() => ({ createOnigScanner, createOnigString })),
    loadGrammar: async (name) => {
      const file = FILES[name];
      return file ? JSON.parse(await readFile(path.join(ROOT, 'syntaxes', file), 'utf8')) : null;
    },
    getInjections: (name) => (name === FLAGS ? [INJECTION] : undefined),
  });
  const grammar = await registry.loadGrammar(FLAGS);
  assert.ok(grammar);
  return grammar;
}

describe('flag file grammar', () => {
  let grammar: IGrammar;
  before(async () => {
    grammar = await flagsGrammar();
  });
  const words = (line: string) =>
    grammar
      .tokenizeLine(line, INITIAL)
      .tokens.map(({ startIndex, endIndex, scopes }) => [
        line.slice(startIndex, endIndex),
        (scopes.at(-1) ?? '').replace(/\.oomlint(-flags)?$/, ''),
      ])
      .filter(([text, scope]) => text?.trim() !== '' && scope !== 'source');

  it('tells flags, values and comments apart', () => {
    assert.deepEqual(words('--bs 8 fp16=true name="a b" # more'), [
      ['--', 'punctuation.definition.parameter'],
      ['bs', 'variable.parameter'],
      ['8', 'constant.numeric'],
      ['fp16', 'variable.parameter'],
      ['=', 'keyword.operator.assignment'],
      ['true', 'constant.language.boolean'],
      ['name', 'variable.parameter'],
      ['=', 'keyword.operator.assignment'],
      ['"a b"', 'string.quoted'],
      ['#', 'punctuation.definition.comment'],
      [' more', 'comment.line'],
    ]);
  });

  it('knows included files', () => {
    assert.deepEqual(words('include base.flags'), [
      ['include', 'keyword.control.import'],
      ['base.flags', 'string.unquoted.path'],
    ]);
    assert.deepEqual(words('@base.flags'), [
      ['@', 'keyword.control.import'],
      ['base.flags', 'string.unquoted.path'],
    ]);
  });

  it('shows directives in comments', () => {
    assert.ok(words('# oomlint: gpu=H100-SXM5-80GB').some(([text]) => text === 'gpu'));
  });
});
