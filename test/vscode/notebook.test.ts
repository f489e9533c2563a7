import assert from 'node:assert/strict';
import {
  type CodeAction,
  commands,
  type InlayHint,
  NotebookCellData,
  NotebookCellKind,
  NotebookData,
  type NotebookDocument,
  NotebookEdit,
  type NotebookEditor,
  NotebookRange,
  Range,
  type TextDocument,
  type Uri,
  WorkspaceEdit,
  window,
  workspace,
} from 'vscode';
import { analysedFile } from '../../client/src/notebook-cells';
import { codes, eventually, file, hoverText, lensTitles, ours, replace } from './editor';

const CELLS = [
  `%%capture
!pip install trl==0.22.2
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer`,
  'BATCH = 8',
  `model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", dtype="bfloat16")
args = SFTConfig(per_device_train_batch_size=BATCH, max_length=1024)`,
  `trainer = SFTTrainer(model, args=args)
trainer.train()`,
];

const NOTEBOOK = JSON.stringify({
  cells: CELLS.map((source) => ({
    cell_type: 'code',
    source,
    metadata: {},
    outputs: [],
    execution_count: null,
  })),
  metadata: { accelerator: 'GPU', language_info: { name: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
});

async function hints(document: TextDocument): Promise<string[]> {
  const range = new Range(0, 0, document.lineCount, 0);
  const found = await commands.executeCommand<InlayHint[]>(
    'vscode.executeInlayHintProvider',
    document.uri,
    range,
  );
  return found.map(({ label }) =>
    typeof label === 'string' ? label : label.map(({ value }) => value).join(''),
  );
}

async function rewrite(document: TextDocument, text: string): Promise<void> {
  if (document.getText() === text) return;
  const edit = new WorkspaceEdit();
  edit.replace(document.uri, new Range(0, 0, document.lineCount, 0), text);
  assert.ok(await workspace.applyEdit(edit));
}

/** The workbench makes the text of a cell as it draws the cell; until then the providers refuse, and `otherwise` is the answer. */
const drawn = <T>(ask: Promise<T>, otherwise: T): Promise<T> => ask.catch(() => otherwise);

describe('a notebook in VS Code', () => {
  let notebook: NotebookDocument;
  let editor: NotebookEditor;
  let uri: Uri;
  const cell = (index: number): TextDocument => notebook.cellAt(index).document;

  before(async () => {
    uri = file('train.ipynb');
    await workspace.fs.writeFile(uri, new TextEncoder().encode(NOTEBOOK));
    notebook = await workspace.openNotebookDocument(uri);
    editor = await window.showNotebookDocument(notebook);
  });
  after(async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    await workspace.fs.delete(uri);
  });

  const marked = () =>
    notebook.getCells().filter(({ document }) => codes(document.uri).includes('does-not-fit'));

  it('is one run: the problem, the hover and the hints stand in the cell of the value', async () => {
    const found = await eventually(
      async () => marked(),
      ({ length }) => length > 0,
    );
    assert.equal(found.length, 1);
    assert.match(await hoverText(cell(1), ' 8'), /micro|batch/i);
    const shown = await eventually(
      () => hints(cell(2)),
      ({ length }) => length > 0,
    );
    assert.ok(shown.length > 0);
    assert.deepEqual(await hints(cell(0)), []);
    assert.equal(analysedFile(cell(2).uri).toString(), uri.toString());
  });

  it('has its lens in the cell that trains', async () => {
    const titles = await eventually(
      () => lensTitles(cell(3)),
      ({ length }) => length > 0,
    );
    assert.match(titles[0] ?? '', /T4/);
  });

  it('is fixed by an edit of its cell', async () => {
    const [found] = marked();
    assert.ok(found);
    const { document } = found;
    const [problem] = ours(document.uri).filter(({ code }) =>
      String(typeof code === 'object' ? code.value : code).includes('does-not-fit'),
    );
    assert.ok(problem);
    const actions = await commands.executeCommand<CodeAction[]>(
      'vscode.executeCodeActionProvider',
      document.uri,
      problem.range,
      'quickfix',
      20,
    );
    const action = actions.find(({ edit }) =>
      edit?.entries().some(([at]) => at.scheme === document.uri.scheme),
    );
    assert.ok(action?.edit, actions.map(({ title }) => title).join('\n'));
    const before = notebook.getCells().map(({ document: { getText } }) => getText());
    assert.ok(await workspace.applyEdit(action.edit));
    assert.notDeepEqual(
      notebook.getCells().map(({ document: { getText } }) => getText()),
      before,
    );
    for (const [index, text] of before.entries()) await rewrite(cell(index), text);
  });

  it('follows what is typed, and cells that come', async () => {
    const titleAt = (index: number, isGood: (title: string) => boolean) => {
      // Only cells in sight are drawn.
      editor.revealRange(new NotebookRange(index, index + 1));
      return eventually(
        async () => (await drawn(lensTitles(cell(index)), []))[0] ?? '',
        (title) => title !== '' && isGood(title),
      );
    };
    const before = await titleAt(3, () => true);
    await replace(cell(1), 'BATCH = 8', 'BATCH = 1');
    const after = await titleAt(3, (title) => title !== before);
    assert.notEqual(after, before);
    const edit = new WorkspaceEdit();
    edit.set(uri, [
      NotebookEdit.insertCells(2, [new NotebookCellData(NotebookCellKind.Code, 'BATCH = 8', 'python')]),
    ]);
    assert.ok(await workspace.applyEdit(edit));
    assert.equal(await titleAt(4, (title) => title === before), before);
    editor.revealRange(new NotebookRange(2, 3));
    const text = await eventually(
      () => drawn(hoverText(cell(2), ' 8'), ''),
      (found) => found !== '',
    );
    assert.match(text, /micro|batch/i);
  });

  it('shows its breakdown in the panel', async () => {
    await commands.executeCommand('oomlint.estimateMemory', cell(0).uri);
    const labels = await eventually(
      async () => window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label }) => label)),
      (found) => found.some((label) => label.includes('train.ipynb') && label !== 'train.ipynb'),
    );
    assert.ok(
      labels.some((label) => /Memory: train\.ipynb/.test(label)),
      labels.join('\n'),
    );
  });

  it('that trains nothing is left alone', async () => {
    const data = new NotebookData([
      new NotebookCellData(NotebookCellKind.Code, 'import math\nmath.pi', 'python'),
    ]);
    const other = await workspace.openNotebookDocument('jupyter-notebook', data);
    await window.showNotebookDocument(other);
    const { document } = other.cellAt(0);
    assert.deepEqual(await lensTitles(document), []);
    assert.deepEqual(ours(document.uri), []);
  });
});
