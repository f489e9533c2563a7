import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isRuleId, RULE_PARTS, RULES } from '../../../server/src/workspace/rules';
import { rulesPage } from '../../docs/rules-page';

const SOURCES = readdirSync('server/src', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => path.join(entry.parentPath, entry.name))
  .filter((file) => !file.startsWith(path.join('server', 'src', 'rules')) && !file.endsWith('-rule-table.ts'))
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
    const names = RULE_PARTS.flatMap(({ table }) => Object.keys(table));
    assert.deepEqual([...names].sort(), Object.keys(RULES).sort());
    assert.equal(new Set(names).size, names.length);
  });

  it('has every table that stands in a folder of a family', () => {
    const tables = readdirSync('server/src/dialects', { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('-rule-table.ts'),
    );
    assert.ok(tables.length > 15, `${tables.length} tables`);
    const missing = tables.flatMap((file) => {
      const exported: Record<string, object> = require(path.resolve('server/src/dialects', file));
      return Object.values(exported).filter((table) => !RULE_PARTS.some((part) => part.table === table));
    });
    assert.deepEqual(missing, []);
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
