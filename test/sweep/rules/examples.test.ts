import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { withEdits } from '../../../server/src/advice/write/text-edits';
import { codeActions } from '../../../server/src/features/code-actions';
import { toDiagnostic } from '../../../server/src/lsp/convert-problem';
import { ourPage } from '../../../server/src/rules/rule';
import { type RuleExample, ruleExample } from '../../../server/src/rules/rule-examples';
import type { RuleId } from '../../../server/src/rules/rule-id';
import type { Problem } from '../../../server/src/text/problem';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { RULES } from '../../../server/src/workspace/rules';
import { REPOSITORIES } from '../../house/repositories';

const ROOT = 'file:///repo';

/** Why a rule has no example. */
const WITHOUT: Readonly<Partial<Record<RuleId, string>>> = {
  'too-large':
    'It takes megabytes of text, or variables that grow for harm; `config/parse.test.ts` has some.',
  'internal-error': 'A file that has it is a fault of ours, which is mended.',
};

const withoutRelease = (address: string) => address.replace(/\/blob\/[^/]+\//, '/blob/');
const withoutLines = (address: string) => address.replace(/#L\d.*$/, '');
const PLAIN = { related: true, codeDescription: true, tags: true, markdown: true };
const RANKS = ['hint', 'information', 'warning', 'error'];

async function looked(files: RuleExample) {
  const [name = ''] = Object.keys(files);
  const uri = `${ROOT}/${name}`;
  const host = new MemoryHost(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text])),
    { folders: [ROOT] },
  );
  const workspace = new Workspace(host);
  const analysis = await workspace.analyze(uri);
  const problems: readonly Problem[] = analysis?.problems ?? (await workspace.checkProjectFile(uri)) ?? [];
  return { name, analysis, problems };
}

describe('examples of rules', () => {
  it('are there for every rule but those with a reason', () => {
    const without = Object.keys(RULES).filter((rule) => ruleExample(rule) === undefined);
    assert.deepEqual(without, Object.keys(WITHOUT));
  });

  it('are what the whole file states, each parsed by itself', () => {
    const whole = parse(readFileSync('server/src/rules/examples.yaml', 'utf8')) as Record<
      string,
      RuleExample
    >;
    const names = Object.keys(whole);
    assert.ok(names.length > 50);
    assert.deepEqual(Object.fromEntries(names.map((name) => [name, ruleExample(name)])), whole);
    for (const name of ['', 'ds.json', '  ds.json', 'does-not'])
      assert.equal(ruleExample(name), undefined, name);
  });

  for (const rule of Object.keys(RULES) as RuleId[]) {
    const files = ruleExample(rule);
    if (files)
      it(`${rule}: is reported of its example, and its quick fixes put it right`, async () => {
        const { name, analysis, problems } = await looked(files);
        const found = problems.filter(({ code }) => code === rule);
        const [problem] = found;
        assert.ok(
          problem,
          problems.map(({ code, message }) => `${code}: ${message}`).join('\n') || 'no problem',
        );
        assert.ok(RANKS.indexOf(problem.severity) <= RANKS.indexOf(RULES[rule].severity), problem.severity);
        // Whoever reads Problems, a terminal or a report of CI sees plain text.
        for (const each of problems) {
          const { message, relatedInformation = [] } = toDiagnostic(each, PLAIN);
          for (const words of [message, ...relatedInformation.map(({ message: other }) => other)])
            assert.doesNotMatch(String(words), /`/);
        }
        // The address of a family's own check stands with the check, too: both lead to one file.
        // Each may name the release that it was read at.
        if (problem.source !== undefined)
          assert.equal(
            withoutRelease(withoutLines(problem.source)),
            withoutRelease(RULES[rule].source ?? ''),
          );
        const distracting = problems.filter(({ code, severity }) => code !== rule && severity === 'error');
        assert.deepEqual(
          distracting.map(({ code, message }) => `${code}: ${message}`),
          [],
        );
        if (!analysis) return;
        const text = files[name] ?? '';
        const fixes = codeActions(analysis, { text, range: problem.range }).filter(
          (action) => action.problem === problem && action.edits.length > 0,
        );
        for (const { title, edits } of fixes) {
          const after = Object.fromEntries(
            Object.entries(files).map(([path, before]) => [
              path,
              withEdits(
                before,
                edits.filter((edit) => edit.uri === `${ROOT}/${path}`),
              ),
            ]),
          );
          const left = (await looked(after)).problems.filter(({ code }) => code === rule);
          assert.ok(left.length < found.length, `${title}\n${after[name]}`);
        }
      });
  }
});

describe('sources of rules', () => {
  const headings = (page: string) =>
    [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
  const tags = REPOSITORIES.map(({ name, at }) => `https://github.com/${name}/blob/${at}/`);
  /** Manuals that have no release in their address. */
  const MANUALS = ['git-scm.com', 'pyyaml.org', 'www.gnu.org', 'www.deepspeed.ai'];

  it('lead to a framework at a release, to a manual, or to a page of ours that is there', () => {
    const own = ourPage('');
    for (const [rule, { kind, source }] of Object.entries(RULES)) {
      if (source.startsWith(own)) {
        const [page = '', anchor] = source.slice(own.length).split('#');
        assert.ok(existsSync(page), `${rule}: ${page}`);
        if (anchor !== undefined) assert.ok(headings(page).includes(anchor), `${rule}: ${page}#${anchor}`);
        // What a framework refuses stands in the framework.
        assert.notEqual(kind, 'refused', rule);
      } else if (!MANUALS.includes(new URL(source).host)) {
        assert.ok(
          tags.some((tag) => source.startsWith(tag) && source.length > tag.length),
          `${rule}: ${source}`,
        );
      }
    }
  });
});
