import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createOnigScanner, createOnigString, loadWASM } from 'vscode-oniguruma';
import { type IGrammar, INITIAL, Registry } from 'vscode-textmate';

const ROOT = process.cwd();
const INJECTION = 'oomlint.directive.injection';
/** The grammars that VS Code itself ships for these languages. */
const HOSTS: Readonly<Record<string, string>> = {
  'source.yaml': 'yaml.json',
  'source.json': 'json.json',
  'source.json.comments': 'jsonc.json',
};

async function grammarOf(scope: string): Promise<IGrammar> {
  const wasm = path.join(
    path.dirname(createRequire(path.join(ROOT, 'x')).resolve('vscode-oniguruma')),
    'onig.wasm',
  );
  const registry = new Registry({
    onigLib: readFile(wasm)
      .then((bytes) => loadWASM({ data: bytes }))
      .then(() => ({ createOnigScanner, createOnigString })),
    loadGrammar: async (name) => {
      const host = HOSTS[name];
      const file =
        name === INJECTION
          ? path.join(ROOT, 'syntaxes', 'directive.tmLanguage.json')
          : host && path.join(ROOT, 'node_modules', 'tm-grammars', 'grammars', host);
      return file ? JSON.parse(await readFile(file, 'utf8')) : null;
    },
    getInjections: (name) => (name in HOSTS ? [INJECTION] : undefined),
  });
  const grammar = await registry.loadGrammar(scope);
  assert.ok(grammar);
  return grammar;
}

/** Texts of a line that the directive grammar claims, with what it takes them for. */
async function tokens(scope: string, line: string): Promise<string[]> {
  const grammar = await grammarOf(scope);
  return grammar
    .tokenizeLine(line, INITIAL)
    .tokens.map(({ startIndex, endIndex, scopes }) => ({
      text: line.slice(startIndex, endIndex),
      scope: scopes.at(-1) ?? '',
    }))
    .filter((token) => token.scope.endsWith('.oomlint') && !token.scope.startsWith('meta.'))
    .map((token) => `${token.text} ${token.scope.replace(/\.oomlint$/, '')}`);
}

describe('directive grammar', () => {
  const DIRECTIVE = [
    'oomlint keyword.control.directive',
    ': punctuation.separator.directive',
    'gpu variable.parameter',
    '= keyword.operator.assignment',
    'H100-SXM5-80GB string.unquoted',
    'gpus variable.parameter',
    '= keyword.operator.assignment',
    '8 constant.numeric',
  ];

  it('colours directives in YAML comments', async () => {
    assert.deepEqual(await tokens('source.yaml', '# oomlint: gpu=H100-SXM5-80GB gpus=8'), DIRECTIVE);
    assert.deepEqual(
      await tokens('source.yaml', 'bf16: true  # oomlint: gpu=H100-SXM5-80GB gpus=8'),
      DIRECTIVE,
    );
  });

  it('colours directives in JSON comments', async () => {
    const line = '// oomlint: gpu=H100-SXM5-80GB gpus=8';
    for (const scope of ['source.json.comments', 'source.json']) {
      assert.deepEqual(await tokens(scope, line), ['// punctuation.definition.comment', ...DIRECTIVE]);
      assert.deepEqual((await tokens(scope, `{"a": 1, ${line}`)).slice(1), DIRECTIVE);
    }
  });

  it('knows switches, quoted values and booleans', async () => {
    assert.deepEqual((await tokens('source.yaml', '# oomlint: off')).slice(2), [
      'off constant.language.switch',
    ]);
    assert.deepEqual((await tokens('source.yaml', '# oomlint: model="my model", liger=true')).slice(2), [
      'model variable.parameter',
      '= keyword.operator.assignment',
      '"my model" string.quoted',
      'liger variable.parameter',
      '= keyword.operator.assignment',
      'true constant.language.boolean',
    ]);
  });

  it('leaves everything else alone', async () => {
    assert.deepEqual(await tokens('source.yaml', '# about oomlint: see the docs'), []);
    assert.deepEqual(await tokens('source.yaml', 'oomlint: gpu=H100'), []);
    assert.deepEqual(await tokens('source.json', '{"// oomlint: off": 1}'), []);
    assert.deepEqual(await tokens('source.json.comments', '// see // for more'), []);
  });
});
