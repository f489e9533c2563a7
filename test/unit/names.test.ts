import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportedNames } from '../house/exported-names';
import { sourcesOf } from '../house/imports';
import { neededByTestsAlone, unimported } from '../house/unimported';
import { codeOf } from './literals';

describe('names that files export', () => {
  it('mean one thing each: whoever reads one knows which is meant', () => {
    const declared = exportedNames();
    assert.ok(declared.size > 1500, `only ${declared.size} names were found`);
    assert.deepEqual(
      [...declared].filter(([, files]) => files.length > 1),
      [],
    );
  });

  it('are imported somewhere: what only its own file reads is not exported', () => {
    assert.deepEqual(unimported(), []);
  });

  it('are needed by what ships: no code is there for tests alone', () => {
    assert.deepEqual(neededByTestsAlone(), []);
  });
});

/** Words for what the field calls reported, stated, default, estimate: alone, or as a part of a name. */
const PRIVATE =
  /\b(?:told|said|says|silen(?:t|ce)|reckons?|TOLD|SAID|SAYS|SILENT|SILENCE|RECKON)(?![a-z])(?:[A-Z_]\w*)?\b|\b\w*[a-z0-9](?:Told|Said|Says|Silen(?:t|ce)|Reckons?)(?![a-z])\w*|\b(?:Told|Said|Says|Silen(?:t|ce)|Reckons?)(?![a-z])\w*|\b\w*_(?:TOLD|SAID|SAYS|SILENT|SILENCE|RECKON)(?![A-Z])\w*/g;
/** The same in a comment. `say` is the translation of a sentence: `wording/` may write that one is said. */
const PRIVATE_COMMENT = /\b(?:told|says|said|silent|silence|reckon(?:s|ed|ing)?)\b/i;
const COMMENT = /^\s*\/?\*.*$|(?<![:'"`])\/\/ .*$/gm;

/** What a test or a group of tests is called. */
const TITLE = /\b(?:describe|it)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*?)\1/g;

const privateTitles = (source: string) =>
  [...source.matchAll(TITLE)].map(([, , title = '']) => title).filter((title) => PRIVATE_COMMENT.test(title));
const privateNames = (source: string) => [...new Set(codeOf(source).match(PRIVATE))];
const privateComments = (source: string) =>
  (source.match(COMMENT) ?? []).filter((line) => PRIVATE_COMMENT.test(line));

describe('names, comments and titles of tests', () => {
  const files = ['server/src', 'client/src', 'client/webview', 'test', 'action'].flatMap((folder) =>
    sourcesOf(folder),
  );
  /** This file lists the words. */
  const own = path.join('test', 'unit', 'names.test.ts');

  it('have the terms of the field: reported, stated, default, estimate', () => {
    assert.ok(files.length > 1200, `only ${files.length} files were found`);
    const found = files
      .filter((file) => file !== own)
      .flatMap((file) => {
        const source = readFileSync(file, 'utf8');
        const comments = file.startsWith(path.join('server', 'src', 'wording'))
          ? []
          : privateComments(source);
        return [...privateNames(source), ...comments, ...privateTitles(source)].map(
          (words) => `${file}: ${words}`,
        );
      });
    assert.deepEqual(found, []);
  });

  it('do so in scripts, in Python and on the pages, whose blocks of code and rules are shown to people', () => {
    const scripts = ['scripts', 'action', 'python', 'test/oracle'].flatMap((folder) =>
      sourcesOf(folder, '.', /\.(?:mjs|cjs|py)$/),
    );
    const pages = ['docs', 'examples', 'test/oracle'].flatMap((folder) => sourcesOf(folder, '.', /\.md$/));
    assert.ok(scripts.length > 60 && pages.length > 20, `${scripts.length} scripts, ${pages.length} pages`);
    const all = [...scripts, ...pages, 'README.md', 'CONTRIBUTING.md'];
    const found = all
      .filter((file) => file !== path.join('docs', 'rules.md'))
      .flatMap((file) =>
        readFileSync(file, 'utf8')
          .replace(/^```[\s\S]*?^```$/gm, '')
          .replace(/\*\w+\*|--silent\b/g, '')
          .split('\n')
          .filter((line) => PRIVATE_COMMENT.test(line))
          .map((line) => `${file}: ${line}`),
      );
    assert.deepEqual(found, []);
  });

  it('would be found where they have others', () => {
    const source =
      "const toldStages = says(reckonedBytes, SAID_RANK); // what a file says\nsay('it is told');";
    assert.deepEqual(privateNames(source), ['toldStages', 'says', 'SAID_RANK']);
    assert.equal(privateComments(source).length, 1);
    assert.deepEqual(privateTitles("describe('a', () => { it('says b', f); it('is c', f); });"), ['says b']);
    assert.deepEqual(privateNames('const essays = foretold + unsaid;'), []);
  });
});
