import assert from 'node:assert/strict';
import { toHover } from '../../../server/src/lsp/convert';
import { toDiagnostic } from '../../../server/src/lsp/convert-problem';
import { rulePage } from '../../../server/src/rules/rule';
import type { Problem } from '../../../server/src/text/problem';

const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 9 } };
const problem: Problem = {
  code: 'deprecated-key',
  severity: 'hint',
  message: 'Old spelling.',
  range,
  related: [{ uri: 'file:///project/ds.json', range, message: 'set here' }],
  source: 'https://example.org/docs',
  data: { replacement: 'new' },
};
const all = { related: true, codeDescription: true, tags: true, markdown: true };
const none = { related: false, codeDescription: false, tags: false, markdown: false };

describe('protocol types', () => {
  it('have names in quotes: problems are plain text', () => {
    const message = 'Pass `--bf16`, or `"stage": 3`; "zero" stays.';
    const shown = toDiagnostic(
      { ...problem, message, related: [{ uri: 'file:///a', range, message: '`x` here' }] },
      all,
    );
    assert.equal(shown.message, 'Pass "--bf16", or "stage": 3; "zero" stays.');
    assert.equal(shown.relatedInformation?.[0]?.message, '"x" here');
  });

  it('carry all that a problem reports', () => {
    assert.deepEqual(toDiagnostic(problem, all), {
      range,
      severity: 4,
      code: 'deprecated-key',
      source: 'oomlint',
      message: 'Old spelling.',
      codeDescription: { href: 'https://example.org/docs' },
      relatedInformation: [{ location: { uri: 'file:///project/ds.json', range }, message: 'set here' }],
      data: { replacement: 'new' },
      tags: [2],
    });
  });

  it('leave out what the client does not know', () => {
    assert.deepEqual(toDiagnostic(problem, none), {
      range,
      severity: 4,
      code: 'deprecated-key',
      source: 'oomlint',
      message: 'Old spelling.',
      data: { replacement: 'new' },
    });
  });

  it('link to nothing but https', () => {
    const { codeDescription } = toDiagnostic({ ...problem, source: 'http://example.org' }, all);
    assert.equal(codeDescription?.href, rulePage(problem.code), 'our own page in its place');
  });

  it('turn our Markdown into text', () => {
    const markdown = '**`a_b`** · X\n\n- **Value** 1 — from [c\\_d:1](file:///c#L1)';
    assert.deepEqual(toHover({ markdown, range }, none).contents, {
      kind: 'plaintext',
      value: 'a_b · X\n\n- Value 1 — from c_d:1 (file:///c#L1)',
    });
  });

  it('keep a figure and its unit on one line, but no code', () => {
    const markdown = 'Peak 1.9 GiB of `8 GiB`, 34 % more in 1,5 мин\n\n```\n3 GiB\n```';
    assert.deepEqual(toHover({ markdown, range }, { ...all, pages: true }).contents, {
      kind: 'markdown',
      value: 'Peak 1.9\u00a0GiB of `8 GiB`, 34\u00a0% more in 1,5\u00a0мин\n\n```\n3 GiB\n```',
    });
  });

  it('leave spaces of a page to editors that draw one', () => {
    const hover = { markdown: '| 464.2&nbsp;GiB | &nbsp;&nbsp;fits |', range };
    const shown = (pages: boolean) => JSON.stringify(toHover(hover, { ...all, pages }).contents);
    assert.match(shown(true), /&nbsp;&nbsp;fits/);
    assert.match(shown(false), /\| 464\.2 GiB \| fits \|/);
  });
});
