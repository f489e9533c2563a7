import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** Releases, the newest first, each with its sections. */
const RELEASES = readFileSync('CHANGELOG.md', 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => text.split(/^### /m));

describe('the changelog', () => {
  it('has each section of a release once', () => {
    const [unreleased = []] = RELEASES;
    assert.ok(unreleased[0]?.startsWith('Unreleased\n') && unreleased.length > 5);
    for (const [name = '', ...sections] of RELEASES) {
      const titles = sections.map((section) => section.slice(0, section.indexOf('\n')));
      assert.deepEqual([...new Set(titles)], titles, name);
    }
  });

  it('has lines below each other, and none twice', () => {
    for (const sections of RELEASES)
      for (const section of sections)
        assert.doesNotMatch(section.trimEnd(), /\n\n- [\s\S]*\n\n/, section.split('\n')[0]);
    const lines = RELEASES.flat().flatMap((section) => section.match(/^- .*/gm) ?? []);
    assert.ok(lines.length > 100, `${lines.length} lines`);
    assert.deepEqual([...new Set(lines)], lines);
  });
});
