import assert from 'node:assert/strict';
import { commands, type InlayHint, Range, type TextDocument, Uri, workspace } from 'vscode';
import { copySample } from '../../client/src/sample-workspace';
import { FIRST_VOCABULARY } from '../../client/src/teach-flags';
import { eventually, extension, file, open, replace } from './editor';

async function hints(document: TextDocument): Promise<string[]> {
  const found = await commands.executeCommand<InlayHint[]>(
    'vscode.executeInlayHintProvider',
    document.uri,
    new Range(0, 0, document.lineCount, 0),
  );
  return found.map(({ label }) =>
    typeof label === 'string' ? label : label.map(({ value }) => value).join(''),
  );
}

async function set(name: string, value: unknown): Promise<void> {
  await workspace.getConfiguration('oomlint').update(name, value, false);
}

const exists = (uri: Uri) =>
  workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );

describe('inlay hints in VS Code', () => {
  let document: TextDocument;

  before(async () => {
    document = await open('ds_config.json');
  });
  afterEach(async () => {
    await set('inlayHints.show', undefined);
  });

  it('stand behind the keys that weigh most', async () => {
    const found = await eventually(
      () => hints(document),
      ({ length }) => length > 0,
    );
    assert.ok(
      found.some((label) => /^ [█-▏]+ model states.* GiB/u.test(label)),
      found.join('\n'),
    );
  });

  it('change with the text, and are never those of an older one', async () => {
    const before = await hints(document);
    await replace(document, '_per_gpu": 1,', '_per_gpu": 4,');
    const after = await hints(document);
    assert.notDeepEqual(after, before);
    await replace(document, '_per_gpu": 4,', '_per_gpu": 1,');
    assert.deepEqual(await hints(document), before);
    await document.save();
  });

  it('are switched off by themselves, and on again', async () => {
    await set('inlayHints.show', 'off');
    const off = await eventually(
      () => hints(document),
      ({ length }) => length === 0,
    );
    assert.deepEqual(off, []);
    await set('inlayHints.show', 'all');
    const all = await eventually(
      () => hints(document),
      ({ length }) => length > 0,
    );
    await set('inlayHints.show', undefined);
    const few = await eventually(
      () => hints(document),
      ({ length }) => length > 0 && length < all.length,
    );
    assert.ok(few.length > 0 && few.length < all.length, `${few.length} of ${all.length}`);
  });
});

describe('the first minutes', () => {
  it('have a walkthrough whose commands and pictures exist', async () => {
    const { contributes } = extension().packageJSON;
    const [walkthrough] = contributes.walkthroughs;
    assert.deepEqual(
      walkthrough.steps.map(({ id }: { id: string }) => id),
      ['chooseGpu', 'openConfig', 'readHint', 'takeFix', 'tryChange', 'whatFits', 'teachFlags'],
    );
    const known = new Set(await commands.getCommands(true));
    for (const { description, media } of walkthrough.steps) {
      for (const [, command = ''] of String(description).matchAll(/\(command:([\w.]+)/g)) {
        assert.ok(known.has(command), command);
      }
      for (const picture of Object.values<string>(media.image)) {
        assert.ok(await exists(Uri.joinPath(extension().extensionUri, picture)), picture);
      }
    }
  });

  it('have no text of the manifest left as a key', () => {
    const { contributes } = extension().packageJSON;
    assert.doesNotMatch(JSON.stringify(contributes), /"%[^"%]+%"/);
  });

  it('are there in Russian', async () => {
    const folder = Uri.joinPath(extension().extensionUri, extension().packageJSON.l10n);
    const bytes = await workspace.fs.readFile(Uri.joinPath(folder, 'bundle.l10n.ru.json'));
    const bundle = JSON.parse(new TextDecoder().decode(bytes));
    assert.equal(bundle['does not fit'], 'не помещается');
    assert.ok(await exists(Uri.joinPath(extension().extensionUri, 'package.nls.ru.json')));
  });

  it('bring a sample that is the person’s own', async () => {
    const folder = await copySample(extension().extensionUri);
    assert.ok(!folder.path.startsWith(extension().extensionUri.path));
    const names = (await workspace.fs.readDirectory(folder)).map(([name]) => name);
    for (const name of ['README.md', 'zero3-llama-8b.json', 'oomlint.yaml', '.vscode']) {
      assert.ok(names.includes(name), names.join(', '));
    }
    const config = await workspace.openTextDocument(Uri.joinPath(folder, 'zero3-llama-8b.json'));
    const found = await eventually(
      () => hints(config),
      ({ length }) => length > 0,
    );
    assert.ok(found.length > 0);
    await workspace.fs.delete(Uri.joinPath(folder, '..'), { recursive: true });
  });

  it('teach flags by a vocabulary that works as it is', async () => {
    const folder = file('taught');
    const write = (name: string, text: string) =>
      workspace.fs.writeFile(Uri.joinPath(folder, name), new TextEncoder().encode(text));
    await write('oomlint-flags.yaml', FIRST_VOCABULARY);
    await write('run.yaml', 'our_batch: 2\nour_length: 4096\nour_mode: sharded\n');
    const run = await workspace.openTextDocument(Uri.joinPath(folder, 'run.yaml'));
    const found = await eventually(
      () => hints(run),
      ({ length }) => length > 0,
    );
    assert.ok(
      found.some((label) => label.includes('model states')),
      found.join('\n') || 'no hints',
    );
  });

  it('can be opened again', async () => {
    await commands.executeCommand('oomlint.getStarted');
  });
});
