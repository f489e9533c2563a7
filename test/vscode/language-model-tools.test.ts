import assert from 'node:assert/strict';
import { CancellationTokenSource, LanguageModelTextPart, lm, Uri, workspace } from 'vscode';
import { extension, file } from './editor';

const TIGHT = `{
  // oomlint: model=meta-llama/Llama-3.1-8B gpu=RTX-4090 gpus=2 sequence=4096
  "train_micro_batch_size_per_gpu": 2,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 },
  "optimizer": { "type": "AdamW", "params": { "lr": 2e-5 } }
}
`;

/** Of no batch size, which its project states neither. */
const BARE =
  '{ "bf16": { "enabled": true }, "zero_optimization": { "stage": 2 }, "optimizer": { "type": "AdamW", "params": { "lr": 2e-5 } } }\n';

interface Reported {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Calls a tool as the chat does. */
async function invoked(name: string, input: object): Promise<Reported> {
  const { token } = new CancellationTokenSource();
  const { content } = await lm.invokeTool(
    `oomlint_${name}`,
    { input, toolInvocationToken: undefined },
    token,
  );
  const [text = '', data = '{}'] = content.flatMap((part) =>
    part instanceof LanguageModelTextPart ? [part.value] : [],
  );
  return { text, data: JSON.parse(data) };
}

describe('tools for the chat of the editor', function () {
  this.timeout(60_000);
  let uri: Uri;

  before(async () => {
    await extension().activate();
    uri = Uri.joinPath(file('scratch'), 'chat', 'zero3.json');
    await workspace.fs.writeFile(uri, new TextEncoder().encode(TIGHT));
  });

  it('are registered as the manifest has them', () => {
    const names = lm.tools.map(({ name }) => name).filter((name) => name.startsWith('oomlint_'));
    assert.equal(names.length, extension().packageJSON.contributes.languageModelTools.length);
    assert.ok(names.includes('oomlint_estimate_run'));
  });

  it('estimate what the editor shows, unsaved', async () => {
    const path = workspace.asRelativePath(uri, false);
    assert.equal((await invoked('estimate_run', { file: path })).data.verdict, 'exceeds');
    const document = await workspace.openTextDocument(uri);
    const { WorkspaceEdit, Range } = await import('vscode');
    const edit = new WorkspaceEdit();
    const at = document.getText().indexOf('gpus=2');
    edit.replace(uri, new Range(document.positionAt(at), document.positionAt(at + 6)), 'gpus=64');
    await workspace.applyEdit(edit);
    const { data } = await invoked('estimate_run', { file: path });
    assert.deepEqual((data.hardware as { gpus: number }).gpus, 64);
    assert.equal((await invoked('estimate_run', { file: path, gpu: 'H200', gpus: 8 })).data.verdict, 'fits');
    const back = new WorkspaceEdit();
    back.replace(uri, new Range(document.positionAt(at), document.positionAt(at + 7)), 'gpus=2');
    await workspace.applyEdit(back);
    await document.save();
  });

  it('ask for what nobody states, and refuse what lies elsewhere', async () => {
    const { text } = await invoked('find_runs', { folder: 'scratch/chat' });
    assert.match(text, /zero3\.json/);
    const bare = Uri.joinPath(file('scratch'), 'chat', 'bare', 'zero2.json');
    await workspace.fs.writeFile(bare, new TextEncoder().encode(BARE));
    const path = workspace.asRelativePath(bare, false);
    const { data } = await invoked('estimate_run', { file: path });
    assert.equal(data.verdict, 'unknown');
    const [unknown, ...others] = data.unknown as readonly {
      readonly field: string;
      readonly question: string;
    }[];
    assert.deepEqual([unknown?.field, others.length], ['batch.micro', 0]);
    assert.match(unknown?.question ?? '', /\?$/);
    const answered = await invoked('estimate_run', { file: path, gpu: 'H200', set: { 'batch.micro': 1 } });
    assert.equal(answered.data.verdict, 'fits');
    await assert.rejects(invoked('estimate_run', { file: '../../etc/passwd' }), /outside of the folder/);
  });

  it('change files as the person chose, and leave them unsaved', async () => {
    const path = workspace.asRelativePath(uri, false);
    const { data } = await invoked('make_run_fit', { file: path });
    const [first] = data.options as readonly { readonly id: string }[];
    assert.ok(first);
    const { data: written } = await invoked('apply_change', { id: first.id });
    assert.equal((written.run as { verdict: string }).verdict, 'fits');
    const document = await workspace.openTextDocument(uri);
    assert.notEqual(document.getText(), TIGHT);
    assert.equal(document.isDirty, true);
    assert.equal(new TextDecoder().decode(await workspace.fs.readFile(uri)), TIGHT);
    await assert.rejects(invoked('apply_change', { id: first.id }), /no option/);
  });
});
