import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isRuleId, RULE_PARTS, RULES } from '../../../server/src/rules/rules';
import { rulesPage } from '../../docs/rules-page';

const SOURCES = readdirSync('server/src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => path.join(entry.parentPath, entry.name))
  .filter((file) => !file.startsWith(path.join('server', 'src', 'rules')))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

describe('the table of rules', () => {
  it('has no rule that nothing reports', () => {
    const idle = Object.keys(RULES).filter(
      (name) => !SOURCES.includes(`'${name}'`) && !SOURCES.includes(`\`${name}\``),
    );
    assert.deepEqual(idle, []);
  });

  it('has each rule in one part', () => {
    const names = RULE_PARTS.flatMap(([, rules]) => Object.keys(rules));
    assert.deepEqual([...names].sort(), Object.keys(RULES).sort());
    assert.equal(new Set(names).size, names.length);
  });

  it('reports what is wrong and what to do in whole sentences', () => {
    for (const [name, { summary, remedy }] of Object.entries(RULES)) {
      assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)*$/);
      assert.match(summary, /^[A-Z`0-9a-z].*\.$/s, name);
      assert.match(remedy, /\.$/s, name);
      assert.ok(summary.length <= 200, `${name}: ${summary.length}`);
    }
  });

  it('knows its own names alone', () => {
    assert.ok(isRuleId('does-not-fit'));
    assert.ok(!isRuleId('toString'));
  });

  it('is the page of the documentation', () => {
    assert.equal(readFileSync('docs/rules.md', 'utf8'), rulesPage(), 'node scripts/rules-page.mjs');
  });
});
