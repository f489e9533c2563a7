import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { REPOSITORIES, REPOSITORIES_OF_FAMILIES } from '../house/repositories';

/** Links that may go to a branch: to this project's own pages, which a reader wants as they are now. */
const OWN = 'oomlint/oomlint';

/** A file or folder of a repository at something that is neither a tag nor a commit. */
const MOVING =
  /github\.com\/([\w.-]+\/[\w.-]+)\/(?:blob|tree|raw)\/(?:main|master|HEAD|dev|develop|trunk)\b[^\s'"`)]*/g;

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => /\.(ts|json|jsonl|ya?ml)$/.test(file));
}

function moving(text: string): string[] {
  return [...text.matchAll(MOVING)].filter(([, name]) => name !== OWN).map(([link]) => link);
}

/** A page of a model on Hugging Face at something that is no commit. */
const MOVING_MODEL =
  /huggingface\.co\/([\w.-]+\/[\w.-]+)\/(?:blob|resolve|raw|tree)\/(?![0-9a-f]{40}\b)[\w.-]+/g;

describe('links to sources', () => {
  it('go to a tag or a commit', () => {
    const all = ['server/src', 'server/data', 'server/vocabularies'].flatMap(files);
    assert.ok(all.length > 500, `only ${all.length} files were found`);
    assert.deepEqual(
      all.flatMap((file) => moving(readFileSync(file, 'utf8')).map((link) => `${file}: ${link}`)),
      [],
    );
  });

  it('go to a commit of a model', () => {
    const all = ['server/src', 'server/data', 'server/vocabularies'].flatMap(files);
    const models = all.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(MOVING_MODEL)].map(([, name = '']) => name),
    );
    assert.deepEqual(models, []);
    assert.equal(
      [...`huggingface.co/a/b/blob/${'0'.repeat(40)}/config.json`.matchAll(MOVING_MODEL)].length,
      0,
    );
  });

  it('would be found where they go to a branch', () => {
    const branch = (name: string) => `https://github.com/${name}/blob/${'main'}/src/a.py`;
    assert.deepEqual(moving(`see ${branch('a/b')} (x)`), ['github.com/a/b/blob/main/src/a.py']);
    assert.deepEqual(moving(branch(OWN)), []);
    assert.deepEqual(moving('https://github.com/a/b/blob/v1.0/main.py'), []);
  });

  it('are made of repositories, each of which is listed once, at a version', () => {
    assert.ok(REPOSITORIES_OF_FAMILIES.length > 5);
    const listed = REPOSITORIES;
    assert.ok(listed.length > 50);
    for (const { name, at } of listed)
      assert.match(at, /^(?:(?:core_)?v?\d+(?:\.\d+)+(?:\.post\d+)?|[0-9a-f]{40})$/, name);
    const twice = listed.filter(({ name }, index) => listed.findIndex((one) => one.name === name) !== index);
    // Before and after experts became stacked parameters.
    assert.deepEqual(
      twice.map(({ name }) => name),
      ['huggingface/transformers'],
    );
    const written = files('server/src')
      .filter((file) => !file.includes(`${path.sep}sources${path.sep}`))
      .filter((file) =>
        /['"`]https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:blob|tree)\//.test(readFileSync(file, 'utf8')),
      )
      .filter((file) => !readFileSync(file, 'utf8').includes(OWN));
    assert.deepEqual(written, [], 'addresses are made by fileIn');
  });
});
