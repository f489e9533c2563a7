import assert from 'node:assert/strict';
import {
  canonicalUri,
  fileName,
  foldersUpward,
  isAbsolutePath,
  parentUri,
  relativePath,
  resolvePath,
} from '../../../server/src/text/uri';

describe('paths in URIs', () => {
  it('give one file one spelling', () => {
    for (const spelling of [
      'file:///c%3A/a%20b/x.json',
      'file:///C:/a b/x.json',
      'file:///c:/a%20b/./y/../x.json',
    ]) {
      assert.equal(canonicalUri(spelling), 'file:///c%3A/a%20b/x.json');
    }
    assert.equal(canonicalUri('untitled:Untitled-1'), 'untitled:Untitled-1');
    assert.equal(
      canonicalUri('vscode-remote://ssh%2Bbox/home/x.yaml'),
      'vscode-remote://ssh%2Bbox/home/x.yaml',
    );
    assert.equal(canonicalUri('file:///bad%ZZname'), 'file:///bad%25ZZname');
    for (const uri of [
      'file:///home/a/x-1.yaml',
      'file:///c:/a',
      'file://host/.a/..b/c',
      'file:///a/...',
      'file:///ä/~b/(c)',
    ])
      assert.equal(canonicalUri(uri), canonicalUri(`${uri}/.`), uri);
  });

  it('resolve what a config writes', () => {
    const folder = 'file:///home/me/repo/configs';
    assert.equal(resolvePath(folder, 'zero.json'), 'file:///home/me/repo/configs/zero.json');
    assert.equal(resolvePath(folder, '../ds/zero 3.json'), 'file:///home/me/repo/ds/zero%203.json');
    assert.equal(resolvePath(folder, '/abs/x.json'), 'file:///abs/x.json');
    assert.equal(resolvePath(folder, '~/x.json', 'file:///home/me'), 'file:///home/me/x.json');
    assert.equal(resolvePath(folder, '~/x.json'), undefined);
    assert.equal(resolvePath(folder, 'ds\\zero.json'), 'file:///home/me/repo/configs/ds/zero.json');
    assert.equal(resolvePath(folder, 'C:\\ds\\zero.json'), 'file:///c%3A/ds/zero.json');
    assert.equal(resolvePath(folder, '../../../../../../x'), 'file:///x');
  });

  it('know their parts', () => {
    assert.equal(parentUri('file:///a/b.json'), 'file:///a');
    assert.equal(parentUri('untitled:x'), undefined);
    assert.equal(fileName('file:///a/b%20c.json'), 'b c.json');
    assert.equal(relativePath('file:///a/', 'file:///a/b/c.json'), 'b/c.json');
    assert.equal(relativePath('file:///a', 'file:///ab/c.json'), undefined);
    assert.deepEqual(foldersUpward('file:///a/b/c.json'), ['file:///a/b', 'file:///a', 'file:///']);
    assert.ok(
      isAbsolutePath('~/x') && isAbsolutePath('/x') && isAbsolutePath('d:\\x') && !isAbsolutePath('a/x'),
    );
  });

  it('lead upward folder by folder, however they are spelled', () => {
    for (const uri of [
      'file:///a/b/c.json',
      'file:///a//b/../x y/%C3%A9%2Fz/c.json',
      'file:///C:/a/b.json',
      'file:///top.json',
      'file:///a/b/',
      'vscode-remote://ssh%2Bbox/home/me/x.yaml',
      'untitled:Untitled-1',
    ]) {
      const folders: string[] = [];
      for (let folder = parentUri(uri); folder !== undefined; folder = parentUri(folder))
        folders.push(folder);
      assert.deepEqual(foldersUpward(uri), folders, uri);
      assert.deepEqual(foldersUpward(uri, 2), folders.slice(0, 2), uri);
    }
  });
});
