import assert from 'node:assert/strict';
import type {
  CodeAction,
  CodeLens,
  CompletionItem,
  InlayHint,
  WorkspaceEdit,
} from 'vscode-languageserver-protocol';
import { TestServer } from './server-process';

const IMPORTS = `%%capture
!pip install trl==0.22.2
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer`;
const SETTINGS = 'BATCH = 8';
const MODEL = `model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", dtype="bfloat16")
args = SFTConfig(per_device_train_batch_size=BATCH, max_length=1024)`;
const TRAIN = `trainer = SFTTrainer(model, args=args)
trainer.train()`;
const CELLS = [IMPORTS, SETTINGS, MODEL, TRAIN];

/** Of an editor that shows a notebook: what it tells and asks. */
class Notebook {
  readonly uri: string;
  readonly cells: string[] = [];
  #version = 1;

  constructor(
    readonly server: TestServer,
    name: string,
  ) {
    this.uri = server.uri(name);
  }

  cell(index: number): string {
    return `${this.uri.replace('file:', 'vscode-notebook-cell:')}#W${index}`;
  }

  async open(
    texts: readonly string[],
    metadata: object = { metadata: { accelerator: 'GPU' } },
  ): Promise<void> {
    this.cells.push(...texts.map((_, index) => this.cell(index)));
    await this.server.notify('notebookDocument/didOpen', {
      notebookDocument: {
        uri: this.uri,
        notebookType: 'jupyter-notebook',
        version: this.#version,
        metadata,
        cells: this.cells.map((document) => ({ kind: 2, document })),
      },
      cellTextDocuments: texts.map((text, index) => this.#document(index, text)),
    });
  }

  #document(index: number, text: string) {
    return { uri: this.cell(index), languageId: 'python', version: 1, text };
  }

  async #changed(cells: object): Promise<void> {
    this.#version += 1;
    await this.server.notify('notebookDocument/didChange', {
      notebookDocument: { uri: this.uri, version: this.#version },
      change: { cells },
    });
  }

  /** Puts a text in place of a part of a line of a cell. */
  edit(index: number, version: number, line: number, from: number, to: number, text: string): Promise<void> {
    const range = { start: { line, character: from }, end: { line, character: to } };
    return this.#changed({
      textContent: [{ document: { uri: this.cell(index), version }, changes: [{ range, text }] }],
    });
  }

  /** A new cell, named by a number of its own, in front of others. */
  insert(at: number, index: number, text: string): Promise<void> {
    return this.#changed({
      structure: {
        array: { start: at, deleteCount: 0, cells: [{ kind: 2, document: this.cell(index) }] },
        didOpen: [this.#document(index, text)],
      },
    });
  }

  remove(at: number, index: number): Promise<void> {
    return this.#changed({
      structure: { array: { start: at, deleteCount: 1 }, didClose: [{ uri: this.cell(index) }] },
    });
  }

  close(): Promise<void> {
    return this.server.notify('notebookDocument/didClose', {
      notebookDocument: { uri: this.uri },
      cellTextDocuments: this.cells.map((uri) => ({ uri })),
    });
  }
}

describe('Notebooks over the protocol', function () {
  this.timeout(60_000);
  let server: TestServer;
  let notebook: Notebook;
  const markedCell = () => notebook.cells.find((uri) => server.codes(uri).includes('does-not-fit'));
  /** Opens the notebook, and gives the cell that the verdict stands in. */
  const judged = async (texts: readonly string[]): Promise<string> => {
    await notebook.open(texts);
    await server.until(() => markedCell() !== undefined, 'a verdict');
    return markedCell() ?? '';
  };

  beforeEach(async () => {
    server = await TestServer.start();
    notebook = new Notebook(server, 'train.ipynb');
  });
  afterEach(async () => {
    await server.stop();
  });

  it('are synchronised as notebooks', () => {
    assert.deepEqual(server.capabilities.notebookDocumentSync, {
      notebookSelector: [{ notebook: 'jupyter-notebook', cells: [{ language: 'python' }] }],
      save: true,
    });
  });

  it('are one run over all cells: problems, hovers and hints stand in the cell of the value', async () => {
    const cell = await judged(CELLS);
    await server.settled();
    assert.equal(notebook.cells.filter((uri) => server.codes(uri).includes('does-not-fit')).length, 1);
    // The verdict stands at what the peak hangs on most: a value of a cell, within that cell's text.
    const index = notebook.cells.indexOf(cell);
    const lines = (CELLS[index] ?? '').split('\n');
    for (const { range } of server.latest(cell)?.diagnostics ?? []) {
      assert.ok(range.end.character <= (lines[range.end.line]?.length ?? -1), JSON.stringify(range));
    }
    assert.match((await server.hover(notebook.cell(1), 0, 8)) ?? '', /micro|batch/i);
    assert.match((await server.hover(notebook.cell(2), 1, 30)) ?? '', /micro|batch/i);
    const hints = await Promise.all(
      CELLS.map((_, at) =>
        server.request<InlayHint[]>('textDocument/inlayHint', {
          textDocument: { uri: notebook.cell(at) },
          range: { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } },
        }),
      ),
    );
    assert.deepEqual(hints[0], []);
    assert.ok((hints[2] ?? []).length > 0);
    for (const { position } of hints.flat()) assert.ok(position.line < 4);
  });

  it('tell the GPU of Colab, the cell that trains, and draw their lens there', async () => {
    await notebook.open(CELLS);
    await server.until(() => server.statuses.some(({ status }) => status), 'a status');
    const reported = server.statuses.findLast(({ status }) => status);
    assert.match(reported?.status?.gpu ?? '', /T4/);
    assert.equal(reported?.cell, notebook.cell(3));
    const lenses = (index: number) =>
      server.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri: notebook.cell(index) } });
    assert.deepEqual(await lenses(2), []);
    const [lens] = await lenses(3);
    assert.equal(lens?.range.start.line, 1);
    assert.match(lens?.command?.title ?? '', /T4/);
  });

  it('follow edits of a cell, cells that come, and cells that go', async () => {
    await notebook.open(CELLS);
    await server.until(() => server.statuses.some(({ status }) => status), 'a status');
    const text = () => server.statuses.findLast(({ uri }) => uri === notebook.uri)?.status?.text;
    await server.settled();
    const before = text();
    await notebook.edit(1, 2, 0, 8, 9, '1');
    await server.until(() => text() !== before, 'another verdict');
    const one = text();
    await notebook.insert(2, 9, 'BATCH = 8');
    await server.until(() => text() === before, 'the verdict as before');
    assert.match((await server.hover(notebook.cell(9), 0, 8)) ?? '', /micro|batch/i);
    await notebook.remove(2, 9);
    await server.until(() => text() === one, 'the verdict without the cell');
  });

  it('are fixed in their cells, and note a fact below what has to stay on top', async () => {
    await judged(CELLS);
    await server.settled();
    const edits: WorkspaceEdit[] = [];
    for (const uri of notebook.cells) {
      const diagnostics = server.latest(uri)?.diagnostics ?? [];
      for (const { range } of diagnostics) {
        const actions = await server.request<CodeAction[]>('textDocument/codeAction', {
          textDocument: { uri },
          range,
          context: { diagnostics },
        });
        edits.push(...actions.flatMap(({ edit }) => edit ?? []));
        assert.ok(
          actions.every(({ diagnostics: solved = [] }) =>
            solved.every((one) =>
              diagnostics.some(
                (known) => known.message === one.message && known.range.start.line === one.range.start.line,
              ),
            ),
          ),
        );
      }
    }
    assert.ok(edits.length > 0);
    for (const { documentChanges = [] } of edits) {
      for (const change of documentChanges) {
        if (!('textDocument' in change)) continue;
        const { uri, version } = change.textDocument;
        const index = notebook.cells.indexOf(uri);
        assert.ok(index >= 0 || /oomlint\.yaml$/.test(uri), uri);
        if (index < 0) continue;
        assert.equal(version, 1);
        assert.notEqual(index, 0, 'nothing is written above %%capture');
        const lines = (CELLS[index] ?? '').split('\n');
        for (const edit of change.edits) assert.ok(edit.range.end.line < lines.length);
      }
    }
  });

  it('offer arguments and values while they are typed', async () => {
    const typed = [IMPORTS, MODEL.replace('max_length=1024)', 'gradient_ch)'), TRAIN];
    await notebook.open(typed);
    const line = typed[1]?.split('\n')[1] ?? '';
    const found = await server.request<CompletionItem[]>('textDocument/completion', {
      textDocument: { uri: notebook.cell(1) },
      position: { line: 1, character: line.indexOf('gradient_ch') + 'gradient_ch'.length },
    });
    for (const { textEdit } of found)
      assert.ok(textEdit && 'range' in textEdit && textEdit.range.start.line === 1);
  });

  it('clear their cells when they are closed, and one that trains nothing has no problem', async () => {
    const marked = await judged(CELLS);
    await notebook.close();
    await server.published(marked, ({ diagnostics }) => diagnostics.length === 0);
    server.forget();
    const other = new Notebook(server, 'plot.ipynb');
    await other.open(['import matplotlib', 'print(1)'], {});
    await server.settled();
    assert.deepEqual(
      server.statuses.filter(({ status }) => status),
      [],
    );
    assert.deepEqual(
      server.diagnostics.filter(({ diagnostics }) => diagnostics.length > 0),
      [],
    );
  });

  it('survive what no editor should send', async () => {
    await server.notify('notebookDocument/didChange', {
      notebookDocument: { uri: notebook.uri, version: 2 },
      change: {},
    });
    await notebook.open(CELLS);
    await server.notify('notebookDocument/didChange', {
      notebookDocument: { uri: notebook.uri, version: 3 },
      change: { cells: { data: [{ kind: 2, document: 'vscode-notebook-cell:/nowhere#1' }] } },
    });
    await server.notify('notebookDocument/didClose', {
      notebookDocument: { uri: server.uri('never-opened.ipynb') },
      cellTextDocuments: [],
    });
    assert.match((await server.hover(notebook.cell(2), 1, 30)) ?? '', /micro|batch/i);
  });
});
