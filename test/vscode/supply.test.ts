import assert from 'node:assert/strict';
import { ConfigurationTarget, Uri, workspace } from 'vscode';
import { writeSettings } from '../../client/src/supply/destinations';
import { mergeDirective, writeDirective } from '../../client/src/supply/directive';
import { writeProjectFile } from '../../client/src/supply/project-file';
import { readTypedValue } from '../../client/src/supply/read-value';
import { noteForProject } from '../../server/src/advice/project-note';
import type { NoteParams } from '../../server/src/shared/protocol';
import { file } from './editor';

const facts = new Map([
  ['hardware.gpu', 'A100-SXM4-80GB'],
  ['hardware.gpus', '4'],
]);

async function scratch(name: string, text: string): Promise<Uri> {
  const uri = Uri.joinPath(file('scratch'), name);
  await workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  return uri;
}

describe('supplying facts as a directive', () => {
  it('changes what is there and adds what is not', () => {
    assert.equal(
      mergeDirective('gpu=H100, model="a b" sequence=2048', facts),
      'gpu=A100-SXM4-80GB model="a b" sequence=2048 gpus=4',
    );
  });

  it('replaces a statement made under another spelling', () => {
    assert.equal(mergeDirective('hardware.gpu=H100', facts), 'gpu=A100-SXM4-80GB gpus=4');
  });

  it('quotes what would fall apart', () => {
    assert.equal(mergeDirective('', new Map([['model.id', 'my model']])), 'model="my model"');
  });

  it('writes a comment on top of a YAML file', async () => {
    const uri = await scratch('plain.yaml', 'distributed_type: FSDP\n');
    await writeDirective(uri, facts);
    assert.equal(
      (await workspace.openTextDocument(uri)).getText(),
      '# oomlint: gpu=A100-SXM4-80GB gpus=4\ndistributed_type: FSDP\n',
    );
  });

  it('stays below lines that only count at the top', async () => {
    const uri = await scratch('modeline.yaml', '# yaml-language-server: $schema=x\na: 1\n');
    await writeDirective(uri, facts);
    assert.equal(
      (await workspace.openTextDocument(uri)).getText(),
      '# yaml-language-server: $schema=x\n# oomlint: gpu=A100-SXM4-80GB gpus=4\na: 1\n',
    );
  });

  it('changes the directive that is there', async () => {
    const uri = await scratch('directive.yaml', 'a: 1 # oomlint: gpu=H100\n');
    await writeDirective(uri, facts);
    assert.equal(
      (await workspace.openTextDocument(uri)).getText(),
      'a: 1 # oomlint: gpu=A100-SXM4-80GB gpus=4\n',
    );
  });
});

describe('what a person types for a fact', () => {
  it('is a number as people write it, and stands in files as files have it', () => {
    assert.deepEqual(readTypedValue('batch.sequence', '4,096'), { value: 4096, text: '4096' });
    assert.deepEqual(readTypedValue('batch.sequence', ' 131 072 '), { value: 131_072, text: '131072' });
    assert.deepEqual(readTypedValue('hardware.gpuMemory', '1,5 GiB'), {
      value: 1.5 * 2 ** 30,
      text: '1.5 GiB',
    });
    // Names stay as they are, whatever they hold.
    assert.deepEqual(readTypedValue('model.id', 'org/v1,024'), { value: 'org/v1,024', text: 'org/v1,024' });
  });

  it('is refused as it was typed', () => {
    assert.match(readTypedValue('batch.sequence', '4,09').problem ?? '', /^"4,09" is not a whole number/);
    assert.match(readTypedValue('batch.sequence', '32k').problem ?? '', /1000 or 1024/);
    assert.ok(readTypedValue('batch.sequence', ' ').problem);
  });

  it('is a number in the settings, too', async () => {
    const settings = () => workspace.getConfiguration('oomlint', file('ds_config.json'));
    try {
      await writeSettings(file('ds_config.json'), new Map([['batch.sequence', '4Ki']]));
      assert.equal(settings().get('sequence'), 4096);
    } finally {
      await settings().update('sequence', undefined, ConfigurationTarget.Workspace);
    }
  });
});

describe('supplying facts in the project file', () => {
  it('writes into the nearest project file', async () => {
    const project = await scratch('nested/oomlint.yaml', 'targets:\n  gpu: H100\n');
    const config = await scratch('nested/deeper/ds.json', '{}');
    const note = async ({ project, values }: NoteParams) => noteForProject(project.text, values) ?? null;
    await writeProjectFile({ note }, config, facts);
    assert.equal(
      (await workspace.openTextDocument(project)).getText(),
      'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 4\n',
    );
  });
});
