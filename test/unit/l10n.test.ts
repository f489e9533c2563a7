import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import { build } from 'esbuild';
import { STRINGS } from '../../client/webview/strings';
import { CLIENT } from '../../scripts/modules.mjs';
import { SEVERITY_WORDS } from '../../server/src/cli/problem-lines';
import { HELP_TITLES } from '../../server/src/cli/program';
import { SYNTAX_MESSAGES } from '../../server/src/config/json';
import { LIBRARY_MESSAGES, LIBRARY_PARTS } from '../../server/src/config/library-messages';
import { ROLE_TOOLTIPS } from '../../server/src/features/document-links';
import { COUNTED, KIND_PHRASES } from '../../server/src/features/hover-key';
import {
  CATEGORY_LABELS,
  HOST_MOMENT_LABELS,
  MOMENT_LABELS,
  VERDICT_LABELS,
} from '../../server/src/results/labels';
import { TIME_UNITS } from '../../server/src/results/time-labels';
import { FIELD_LABELS } from '../../server/src/run/field-labels';
import { WHOLE_NUMBERS } from '../../server/src/run/parse-field';
import { REASONS } from '../../server/src/run/resolve';
import { fill } from '../../server/src/wording/say';
import { KIND_LABELS } from '../../server/src/workspace/assumptions';
import { WORDS } from '../../server/src/workspace/verdict';
import { isProse, literalsOf } from './literals';
import { mayWait } from './translations';

type Texts = Readonly<Record<string, string>>;

const read = (file: string): Texts => JSON.parse(readFileSync(file, 'utf8'));
const ENGLISH = read('l10n/bundle.l10n.json');
const RUSSIAN = read('l10n/bundle.l10n.ru.json');
/** Of the server alone: the client's bundles need not have it. */
const MESSAGES = read('l10n/messages.ru.json');
const DETAILS = { ...read('l10n/details.ru.json'), ...MESSAGES };
const TRANSLATED = { ...RUSSIAN, ...DETAILS };
const MANIFEST = read('package.nls.json');
const MANIFEST_RUSSIAN = read('package.nls.ru.json');

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** First arguments of `say` and `l10n.t` in a source. */
function textsIn(file: string): string[] {
  const call = /\b(?:l10n\.t|say)\(\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")/g;
  return [...readFileSync(file, 'utf8').matchAll(call)].map(([, literal = '']) =>
    literal.slice(1, -1).replace(/\\(.)/g, '$1'),
  );
}

/** The texts of a source: first arguments of `say` and `l10n.t`, and the values of the tables. */
function allTexts(): Set<string> {
  const texts = new Set([...sources('client/src'), ...sources('server/src')].flatMap(textsIn));
  // Knobs say what they are and what they do not do; what is written small is a value.
  for (const [, literal = ''] of readFileSync('server/src/advice/knobs.ts', 'utf8').matchAll(
    /'([A-Z0-9][^']*)'/g,
  )) {
    texts.add(literal);
  }
  for (const text of Object.values(STRINGS)) texts.add(text);
  for (const [, unit] of TIME_UNITS) texts.add(unit);
  for (const labels of [
    CATEGORY_LABELS,
    FIELD_LABELS,
    HOST_MOMENT_LABELS,
    MOMENT_LABELS,
    VERDICT_LABELS,
    KIND_PHRASES,
    WORDS,
    SYNTAX_MESSAGES,
    WHOLE_NUMBERS,
    REASONS,
    KIND_LABELS,
    SEVERITY_WORDS,
    HELP_TITLES,
    ROLE_TOOLTIPS,
    COUNTED,
    LIBRARY_MESSAGES,
    LIBRARY_PARTS,
  ]) {
    for (const text of Object.values(labels)) texts.add(text);
  }
  return texts;
}

/** In front of words that nobody translates: names, faults of the program, the log, published schemas, lists of keys, words of other programs. */
const NO_TEXT =
  /(?:\bnew Error\(|\.error\(|\bbackground\(|\brequest(?:<\w+>)?\(|\babout\(server,|ErrorCodes\.\w+,|\b(?:name|title|description|newText|label):|\b(?:released|any|string|integer|number|boolean|object):|\bopening =|\bnew Set\(|\bnew RegExp\()$/;
/** In front of what a person reads. */
const SHOWN =
  /(?:\b(?:message|note|reason|error|because|why)\s*[:=]|\.(?:report|assume|infer)\((?:[^()]|\([^()]*\))*,)$/;

/** Words of the server that a person may read and that no call of `say` holds. */
function unsaid(): string[] {
  const translated = { ...TRANSLATED, ...read('l10n/keys.ru.json'), ...read('l10n/fields.ru.json') };
  // The words of rules are documentation, in English as docs/rules.md, which is made of them; messages and lines of logs are
  // patterns of what frameworks print; what agents get is for programs, in English as the output in JSON; completions are
  // scripts of shells.
  const spoken = sources('server/src').filter(
    (file) =>
      !/^server[\\/]src[\\/](?:rules[\\/]|dialects[\\/][\w-]+[\\/][\w-]+-rule-table\.ts|agents[\\/]|cli[\\/]mcp-server\.ts|cli[\\/]completion[\\/](?:bash|zsh|fish)\.ts|measured[\\/](?:log-line|log-figures|[\w-]+-message)\.ts)/.test(
        file,
      ),
  );
  return spoken.flatMap((file) =>
    literalsOf(readFileSync(file, 'utf8'))
      .filter(({ text, before }) => isProse(text) && !/\bsay\($/.test(before) && !NO_TEXT.test(before))
      // Tables hold English texts that are translated where they are read.
      .filter(({ text, before }) => SHOWN.test(before) || !translated[text])
      .map(({ text, line }) => `${file}:${line} ${text}`),
  );
}

const places = (text: string) => [...new Set(text.match(/\{\d+/g) ?? [])].sort();

describe('translations', () => {
  const texts = allTexts();

  it('exist for every text that goes through `say`', () => {
    assert.ok(texts.size > 100, `only ${texts.size} texts were found`);
    mayWait(
      [...texts].filter((text) => ENGLISH[text] !== text && !DETAILS[text]),
      'not in l10n/bundle.l10n.json',
    );
    mayWait(
      [...texts].filter((text) => !TRANSLATED[text]),
      'not in l10n/bundle.l10n.ru.json',
    );
  });

  it('exist for nothing else', () => {
    assert.deepEqual(
      Object.keys(ENGLISH).filter((text) => !texts.has(text)),
      [],
    );
    assert.deepEqual(
      [...Object.keys(RUSSIAN), ...Object.keys(MESSAGES)].filter((text) => !texts.has(text)),
      [],
    );
    assert.deepEqual(
      Object.keys(MESSAGES).filter((text) => RUSSIAN[text]),
      [],
      'in two files',
    );
  });

  it('reach the editor and its page where they are shown there', async () => {
    const { metafile } = await build({
      entryPoints: ['client/src/extension.ts', 'client/webview/panel.ts'],
      bundle: true,
      write: false,
      metafile: true,
      outdir: 'out',
      platform: 'node',
      external: ['vscode'],
      plugins: CLIENT.plugins,
      mainFields: ['module', 'main'],
      logLevel: 'silent',
    });
    const texts = Object.keys(metafile.inputs)
      .filter((file) => /^(?:client|server)\b.*\.ts$/.test(file))
      .flatMap(textsIn);
    assert.ok(texts.length > 100, `only ${texts.length} texts were found`);
    const tables = [CATEGORY_LABELS, FIELD_LABELS, HOST_MOMENT_LABELS, MOMENT_LABELS, VERDICT_LABELS];
    mayWait(
      [...Object.values(STRINGS), ...tables.flatMap((table) => Object.values(table)), ...texts].filter(
        (text) => !RUSSIAN[text],
      ),
      'not in l10n/bundle.l10n.ru.json',
    );
  });

  it('are not missed by words that are shown without going through `say`', () => {
    const known = [
      // Labels of moments, which `operatorWords` translates.
      /memory[\\/]play-backward\.ts:\d+ \{\} (?:cast )?backward$/,
      // How conditions of a text are written, and compared.
      /chosen-parameters\.ts:\d+ (?:part \{\}|not in|is not)$/,
      // A model's name.
      /torchtitan\.ts:\d+ torchtitan \{\} \{\}$/,
      /oomlint-run\.ts:\d+ Group of \{\}\.$/,
      /vocabulary-dialect\.ts:\d+ {2}Counts \{\}\.$/,
    ];
    assert.deepEqual(
      unsaid().filter((found) => !known.some((pattern) => pattern.test(found))),
      [],
    );
  });

  it('are asked for when something is shown, not while modules are loaded', async () => {
    const modules = sources('server/src').filter(
      (file) => !/src.(?:main|cli|mcp|worker|start.start)\.ts$|\.d\.ts$/.test(file),
    );
    const { outputFiles } = await build({
      stdin: {
        contents: modules.map((file) => `import './${file.replaceAll('\\', '/')}';`).join('\n'),
        resolveDir: process.cwd(),
      },
      bundle: true,
      write: false,
      platform: 'node',
      format: 'cjs',
      mainFields: ['module', 'main'],
      logLevel: 'silent',
      plugins: [
        {
          name: 'say-too-early',
          setup(bundle) {
            bundle.onLoad({ filter: /wording.say\.ts$/ }, ({ path: file }) => ({
              loader: 'ts',
              contents: readFileSync(file, 'utf8').replace(
                /export function say\([^{]*\{/,
                (head) => `${head} throw new Error('said while loading: ' + text);`,
              ),
            }));
          },
        },
      ],
    });
    const script = new vm.Script(`(function (require, module, exports) {${outputFiles[0]?.text ?? ''}\n})`);
    const module = { exports: {} };
    script.runInThisContext()(createRequire(path.resolve('package.json')), module, module.exports);
  });

  it('fill the same places', () => {
    const wrong = Object.entries(TRANSLATED).filter(
      ([text, translation]) => places(text).join() !== places(translation).join(),
    );
    assert.deepEqual(wrong, []);
  });

  it('have three forms where a Russian word goes with a number', () => {
    const forms = Object.values(TRANSLATED).flatMap((text) => text.match(/\{\d+\|[^}]*\}/g) ?? []);
    assert.deepEqual(
      forms.filter((form) => form.split('|').length !== 4),
      [],
    );
    for (const form of forms) {
      for (const count of [1, 2, 5, 11, 21, 1.5])
        assert.doesNotMatch(fill(form, Array<number>(10).fill(count), 'ru'), /[{|}]/);
    }
  });

  it('say the same links and code as the English text', () => {
    const marks = (text: string) => (text.match(/\]\([^)]*\)|`[^`]*`|\$\([\w-]+\)/g) ?? []).sort().join();
    const wrong = [
      ...Object.entries(TRANSLATED).map(([text, translation]) => [text, translation] as const),
      ...Object.entries(MANIFEST).map(([key, text]) => [text, MANIFEST_RUSSIAN[key] ?? ''] as const),
    ].filter(([text, translation]) => marks(text) !== marks(translation));
    assert.deepEqual(wrong, []);
  });

  it('cover the manifest, every text of which is a key', () => {
    assert.deepEqual(Object.keys(MANIFEST_RUSSIAN).sort(), Object.keys(MANIFEST).sort());
    const manifest = readFileSync('package.json', 'utf8');
    const used = new Set([...manifest.matchAll(/"%([^"%]+)%"/g)].map(([, key]) => key));
    assert.deepEqual([...used].sort(), Object.keys(MANIFEST).sort());
    // What the arguments of tools are is for models, as all that agents get.
    const people = manifest.replace(/"inputSchema": \{[\s\S]*?\n {8}\}/g, '');
    const plain = people.match(/"(?:title|description|markdownDescription|altText)": "(?!%)[^"]*"/g) ?? [];
    assert.deepEqual(plain, []);
  });

  it('of the manifest are translated', () => {
    const same = Object.keys(MANIFEST).filter((key) => MANIFEST[key] === MANIFEST_RUSSIAN[key]);
    mayWait(same, 'in package.nls.ru.json as in English');
  });
});
