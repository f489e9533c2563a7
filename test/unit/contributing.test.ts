import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { DIALECTS } from '../../server/src/dialects/registry';
import { KNOBS } from '../../server/src/features/protocol';
import { counts } from '../house/counts';
import { edgesOf, importsOf } from '../house/imports';
import { ASKED, CLAIMS } from './contributing-claims';

const TEXT = readFileSync('CONTRIBUTING.md', 'utf8');
/** What stands in backticks, blocks of code left out. */
const QUOTED = [...TEXT.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(
  ([, text = '']) => text,
);
/** Folders that paths start from: the engine's, and where the text speaks of one folder, that one. */
const ROOTS = [
  '.',
  'server/src',
  'server',
  'test',
  'test/oracle',
  'server/src/memory',
  'server/src/workspace/assembly',
  'server/src/dialects',
  'server/src/dialects/litgpt',
];

/** Files of models, not of this repository. */
const OTHERS = new Set(['config.json']);

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const at = path.join(folder, name);
    return statSync(at).isDirectory() ? filesBelow(at) : [at];
  });
}

const stands = (name: string) => ROOTS.some((root) => existsSync(path.join(root, name)));
/** Sentences of a section, without blocks of code and the marks of lists. */
function sentencesOf(section: string): string[] {
  const from = TEXT.indexOf(`\n## ${section}\n`);
  assert.ok(from > 0, section);
  const text = TEXT.slice(from + section.length + 5, TEXT.indexOf('\n## ', from + 1));
  return text
    .replace(/^```[\s\S]*?^```$/gm, '')
    .split(/\n\n+|\n(?=- |\d\. )/)
    .map((block) =>
      block
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/^(?:- |\d\. )/, ''),
    )
    .flatMap((block) => (block === '' ? [] : block.split(/(?<=\.\)?) (?=[A-Z`*[(])/)));
}

/** Names that stand for whatever is there: `l10n/*.ru.json`, `X.test.ts`. */
const isPattern = (name: string) => /[*{}<>$ ]|[A-Z]{3,}/.test(name);

describe('what CONTRIBUTING states', () => {
  it('of how things work has, sentence by sentence, a test that would fail if it were not so', () => {
    const sentences = ['How a figure comes about', 'Where to add things', 'A config family', 'Rules'].flatMap(
      sentencesOf,
    );
    assert.ok(sentences.length > 90, `${sentences.length} sentences`);
    const known = [...Object.keys(CLAIMS), ...ASKED];
    assert.deepEqual(
      sentences.filter((sentence) => known.filter((start) => sentence.startsWith(start)).length !== 1),
      [],
    );
    assert.deepEqual(
      known.filter((start) => !sentences.some((sentence) => sentence.startsWith(start))),
      [],
    );
    const missing = Object.values(CLAIMS)
      .flat()
      .filter(([file, title]) => {
        const [place = file] = ['test/unit', 'test/sweep']
          .map((suite) => `${suite}/${file}.test.ts`)
          .filter(existsSync);
        const source = readFileSync(place, 'utf8');
        return !["'", '"', '`'].some((quote) => source.includes(`it(${quote}${title}`));
      });
    assert.deepEqual(missing, []);
  });

  it('of files and folders is so', () => {
    const named = QUOTED.filter(
      (text) => /^[\w.-]+(?:\/[\w.-]*)+$|^[\w-]+\.(?:ts|mjs|cjs|json|py|md)$/.test(text) && !isPattern(text),
    ).filter((text) => !/^out\//.test(text) && !OTHERS.has(text));
    assert.ok(named.length > 60, `${named.length} paths`);
    assert.deepEqual(
      named.filter((name) => !stands(name)),
      [],
    );
  });

  it('of names in the code is so', () => {
    const code = ['server/src', 'client', 'scripts']
      .flatMap(filesBelow)
      .filter((file) => /\.(ts|mjs|cjs)$/.test(file))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const words = new Set(code.match(/[A-Za-z_$][\w$]*/g));
    const names = QUOTED.flatMap((text) => {
      // A call, a member, a constant, or a type's name.
      const called =
        /^(?:[\w.]+ )?([a-zA-Z][\w.]*)\(/.exec(text)?.[1] ?? (/^[A-Za-z][\w.]*$/.test(text) ? text : '');
      return stands(called) ? [] : called.split('.').filter((part) => /[a-z][A-Z]|^[A-Z][a-z]+$/.test(part));
    });
    assert.ok(names.length > 12, `${names.length} names`);
    assert.deepEqual(
      names.filter((name) => !words.has(name)),
      [],
    );
  });

  it('of rows is what a row may say', () => {
    const table = TEXT.slice(TEXT.indexOf('**The table**'), TEXT.indexOf('**Reading**'));
    const reported = [...table.matchAll(/^- `(\w+)`:/gm)].map(([, name]) => name);
    assert.ok(reported.length >= 5);
    const spec = readFileSync('server/src/dialects/dialect.ts', 'utf8');
    assert.deepEqual(
      reported.filter((name) => !spec.includes(`  readonly ${name}?:`)),
      [],
    );
  });

  it('of its numbers is no more than can be counted', () => {
    const rows = [...TEXT.matchAll(/^\| ([^|]+) \| [\d,]+ \| ([\d,]+) \|$/gm)].map(
      ([, what = '', now = '']) => [what, Number(now.replaceAll(',', ''))] as const,
    );
    const found = counts();
    assert.deepEqual(
      rows.map(([what]) => what),
      Object.keys(found),
    );
    for (const [what, now] of rows) {
      // Families grow with what they read: their lines are as of a day.
      if (what.startsWith('lines of `dialects/`')) continue;
      assert.ok((found[what] ?? Number.NaN) <= now, `${what}: ${found[what]}, not ${now}`);
    }
  });

  it('of kinds of files, and of what depends on nothing, is so', () => {
    const [, kinds] = /\(26 kinds of files then, (\d+) now\)/.exec(TEXT) ?? [];
    assert.equal(Number(kinds), DIALECTS.length);
    assert.match(TEXT, /`wording\/say\.ts` depends on nothing but `wording\/text-keys\.ts`/);
    const taken = (file: string) =>
      [...readFileSync(`server/src/wording/${file}.ts`, 'utf8').matchAll(/\bfrom '([^']+)'/g)].map(
        ([, from]) => from,
      );
    assert.deepEqual(taken('say'), ['./text-keys']);
    assert.deepEqual(taken('text-keys'), []);
  });

  it('of a family is so: of the last that came nothing outside of its folder speaks but the line of the registry', () => {
    assert.match(TEXT, /nothing outside of it names it but one line of `families\.ts`\.\nLudwig came last/);
    const speak = ['server/src', 'client']
      .flatMap(filesBelow)
      .filter((file) => !file.startsWith(path.join('server', 'src', 'dialects', 'ludwig')))
      .filter((file) => /\.(?:ts|json)$/.test(file) && /ludwig/i.test(readFileSync(file, 'utf8')));
    assert.deepEqual(speak, [path.join('server', 'src', 'dialects', 'families.ts')]);
    const size = (folder: string) =>
      filesBelow(path.join('server/src/dialects', folder)).reduce(
        (sum, file) => sum + statSync(file).size,
        0,
      );
    assert.match(TEXT, /`litgpt\/` is a small example, `axolotl\/` a large one/);
    assert.ok(2 * size('litgpt') < size('axolotl'));
    const kinds = DIALECTS.map(({ id }) => id);
    const folders = readdirSync('server/src/dialects').filter((name) =>
      existsSync(path.join('server/src/dialects', name, 'family.ts')),
    );
    assert.ok(folders.length > 20 && kinds.includes('ludwig'), folders.join());
    // A new file for Accelerate is written in its words; the judge reports a trainer that is not modelled as its family does.
    const taken = edgesOf(importsOf()).filter(
      ({ from, to }) =>
        !from.startsWith(path.join('server', 'src', 'dialects')) &&
        folders.some((name) => to.startsWith(path.join('server', 'src', 'dialects', name) + path.sep)),
    );
    assert.deepEqual(
      taken.map(({ from }) => path.basename(from)),
      ['new-accelerate.ts', 'judge.ts'],
    );
  });

  it('of tests that are bundles is what the build makes of them', () => {
    assert.match(TEXT, /Only the tests inside VS Code and the bench are bundles, in `out\/test`/);
    const build = readFileSync('scripts/build.mjs', 'utf8');
    assert.match(
      build,
      /const kind of \['vscode', 'bench'\]\) \{\s+const names = await readdir\(path\.join\(root, 'test', kind\)\)/,
    );
    assert.match(build, /const OUT_TEST = path\.join\(root, 'out', 'test'\);/);
  });

  it('of commands is what package.json has', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const commands = [...TEXT.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
    assert.ok(commands.length > 15, `${commands.length} commands`);
    assert.deepEqual(
      commands.filter((name) => !Object.hasOwn(scripts, name)),
      [],
    );
  });

  it('of variables of the environment and of ways to debug is so', () => {
    const code = ['test', 'scripts']
      .flatMap(filesBelow)
      .filter((file) => /\.(?:ts|mjs|cjs)$/.test(file) && !file.endsWith('contributing.test.ts'))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    const names = [...new Set([...TEXT.matchAll(/\bOOMLINT_\w+/g)].map(([name]) => name))];
    assert.ok(names.length >= 4, names.join());
    assert.deepEqual(
      names.filter((name) => !code.includes(`process.env.${name}`)),
      [],
    );
    const launch = readFileSync('.vscode/launch.json', 'utf8');
    const debugging = [...TEXT.matchAll(/`(Tests [\w ]+)`/g)].map(([, name = '']) => name);
    assert.ok(debugging.length > 0);
    assert.deepEqual(
      debugging.filter((name) => !launch.includes(`"name": "${name}"`)),
      [],
    );
  });

  it('of files and names to test alone is what the runner takes', () => {
    const rows = [...TEXT.matchAll(/^\| `npm (?:test|run test:watch) -- (test\/\S+)` \|/gm)];
    assert.equal(rows.length, 2);
    for (const [, at = ''] of rows) assert.ok(existsSync(at), at);
    const runner = readFileSync('scripts/test.mjs', 'utf8');
    for (const option of ['watch', 'release', 'grep'])
      assert.match(runner, new RegExp(`^ +${option}: \\{ type:`, 'm'), option);
  });

  it('of what looks outside, and of what leaves the machine, is so', () => {
    assert.match(TEXT, /Only `collect` and `know` look outside and wait for it/);
    const assembly = 'server/src/workspace/assembly';
    const waiting = readdirSync(assembly).filter((name) =>
      /\b(?:async|await)\b/.test(readFileSync(path.join(assembly, name), 'utf8')),
    );
    // `assemble.ts` runs them one after the other.
    assert.deepEqual(waiting, ['assemble.ts', 'collect.ts', 'know.ts']);
    assert.match(TEXT, /no source asks a network/);
    const asking = ['server/src', 'client/src', 'client/webview']
      .flatMap(filesBelow)
      .filter((file) => file.endsWith('.ts'))
      .filter((file) =>
        /\bfetch\(|'(?:node:)?(?:http2?|https|net|tls|dgram)'|\bXMLHttpRequest\b|\bWebSocket\b/.test(
          readFileSync(file, 'utf8'),
        ),
      );
    assert.deepEqual(asking, []);
  });

  it('of phases is what assembly does', () => {
    const phases = [...TEXT.matchAll(/^\| `(\w+)\.ts` \| .* \| `(\w+)` \|$/gm)].map(
      ([, phase = '', type = '']) => [phase, type] as const,
    );
    assert.equal(phases.length, 6);
    const assembled = readFileSync('server/src/workspace/assembly/assemble.ts', 'utf8');
    const sources = filesBelow('server/src/workspace').map((file) => readFileSync(file, 'utf8'));
    const settled = readFileSync('server/src/run/resolve.ts', 'utf8');
    for (const [phase, type] of phases) {
      assert.match(assembled, new RegExp(`\\b${phase}\\(`), phase);
      const exported = new RegExp(`export (?:interface|type) ${type}\\b`);
      assert.ok(
        [...sources, settled].some((text) => exported.test(text)),
        type,
      );
    }
  });

  it('of features and knobs is so: one line each', () => {
    const server = readFileSync('server/src/server.ts', 'utf8');
    const handlers = readdirSync('server/src/lsp/handlers').filter((name) => name !== 'connected.ts');
    assert.ok(handlers.length > 10);
    for (const name of handlers) {
      const [, register = ''] =
        new RegExp(
          `^import \\{ (on\\w+) \\} from './lsp/handlers/${path.basename(name, '.ts')}';$`,
          'm',
        ).exec(server) ?? [];
      assert.equal(server.split(`\n  ${register}(server`).length, 2, name);
    }
    const stands = readFileSync('server/src/features/knobs.ts', 'utf8');
    const words = readFileSync('client/webview/strings.ts', 'utf8');
    for (const knob of KNOBS) {
      assert.ok(stands.includes(`'${knob}'`), knob);
      assert.ok(words.includes(`  'knob ${knob}': '`), knob);
    }
  });

  it('of what needs Python is so: keys are read from packages that are not run, and their test reads data', () => {
    const scripts = filesBelow('scripts/framework-keys').filter((file) => file.endsWith('.py'));
    assert.ok(scripts.length > 3);
    for (const file of scripts)
      assert.doesNotMatch(
        readFileSync(file, 'utf8'),
        /\bimportlib\b|__import__|\bexec\(|(?<!literal_)\beval\(/,
        file,
      );
    const held = readFileSync('test/unit/dialects/framework-keys.test.ts', 'utf8');
    assert.match(held, /framework-keys/);
    assert.doesNotMatch(held, /child_process/);
  });

  it('of who writes files is so: commands that are asked to, and an edit of an agent that is shown first', () => {
    const writing = filesBelow('server/src')
      .filter((file) => file.endsWith('.ts'))
      .filter((file) =>
        /\b(?:writeFile|writeFileSync|appendFile|createWriteStream|applyEdit)\(/.test(
          readFileSync(file, 'utf8'),
        ),
      )
      .map((file) => path.relative('server/src', file).replaceAll('\\', '/'));
    assert.deepEqual(
      writing.filter((file) => !file.startsWith('cli/')),
      // What V8 compiled is kept in a folder of its own.
      ['lsp/handlers/agents.ts', 'start/kept-code.ts'],
    );
  });
});
