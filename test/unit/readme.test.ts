import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

const README = readFileSync('README.md', 'utf8');
/** A section for each way in, as people look for it. */
const DOORS = [
  'In the browser',
  'In other editors',
  'On the command line',
  'From npm',
  'From PyPI',
  'In a pull request',
  'Before a commit',
  'In a container',
  'For agents',
];
const section = (title: string) =>
  README.match(new RegExp(`^## ${title}\\n(.*?)(?=^## )`, 'ms'))?.[1] ?? assert.fail(`no section ${title}`);
const pictures = (text: string) => [...text.matchAll(/^!\[.+\]\((.+)\)$/gm)].map(([, file = '']) => file);

describe('the README', () => {
  for (const door of DOORS)
    it(`reports in three lines how it is ${door.toLowerCase()}`, () => {
      const lines = section(door)
        .replace(/^```.*?^```$/gms, '')
        .replace(/^!\[.*$/gm, '')
        .split('\n')
        .filter((line) => line.trim() !== '');
      assert.ok(lines.length >= 1 && lines.length <= 3, lines.join('\n'));
    });

  it('has pictures where people look', () => {
    for (const [door, name] of [
      ['In the browser', 'web'],
      ['In other editors', 'neovim'],
      ['In a pull request', 'pull-request'],
      ['For agents', 'agent-view'],
    ] as const)
      assert.deepEqual(pictures(section(door)), [`media/screenshots/${name}.png`]);
  });

  it('has pictures that are there, and load at once', () => {
    const all = pictures(README);
    assert.ok(all.length >= 9, `${all.length}`);
    for (const file of all) assert.ok(statSync(file).size < 150_000, `${file}: ${statSync(file).size} bytes`);
  });

  it('leads to pages that are there', () => {
    const links = [...README.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) => link);
    assert.ok(links.length > 20);
    assert.deepEqual(
      links.filter((link) => !existsSync(path.normalize(link))),
      [],
    );
  });
});
