import { type Connection, NotebookDocuments } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { Position, Range } from '../text/place';
import { asksForGpu, notebookText, savedCards } from '../workspace/notebook-text';
import type { TextView } from './text-view';

/** A place in a cell. */
export interface CellPlace {
  readonly uri: string;
  readonly range: Range;
  /** Of the cell's text. */
  readonly version: number | null;
  /** Counted over the code cells of the notebook, from zero. */
  readonly index: number;
}

interface Cell {
  readonly uri: string;
  readonly version: number;
  /** Line of the joined text. */
  readonly first: number;
  readonly lines: number;
  /** A magic of the whole cell has to stay on its first line. */
  readonly hasCellMagic: boolean;
}

/** A notebook that is open: its code cells as one text. */
interface OpenNotebook {
  readonly document: TextDocument;
  readonly cells: readonly Cell[];
}

/** What is done when a notebook changes; documents are its cells as one text, under the address of the notebook. */
interface NotebookEvents {
  opened(document: TextDocument): void;
  changed(document: TextDocument): void;
  saved(uri: string): void;
  closed(uri: string): void;
}

/** Notebooks that an editor shows, each as one text over all of its code cells. */
export class OpenNotebooks {
  readonly #sync = new NotebookDocuments(TextDocument);
  readonly #open = new Map<string, OpenNotebook>();
  readonly #notebookOf = new Map<string, string>();
  readonly #saved = new Map<string, string>();
  #version = 0;

  /** `readSaved`: the file of a notebook, of which an editor does not tell the outputs. */
  listen(
    connection: Connection,
    events: NotebookEvents,
    readSaved: (uri: string) => Promise<string | undefined>,
  ): void {
    const sync = this.#sync;
    sync.onDidOpen(({ uri, metadata }) => {
      events.opened(this.#join(uri));
      if (!asksForGpu(metadata)) return;
      void readSaved(uri).then(
        (text) => {
          if (text === undefined || !this.#open.has(uri)) return;
          this.#saved.set(uri, savedCards(text));
          events.changed(this.#join(uri));
        },
        () => undefined,
      );
    });
    sync.onDidChange(({ notebookDocument: { uri } }) => events.changed(this.#join(uri)));
    sync.onDidSave(({ uri }) => events.saved(uri));
    sync.onDidClose(({ uri }) => {
      this.#forget(uri);
      this.#open.delete(uri);
      this.#saved.delete(uri);
      events.closed(uri);
    });
    sync.listen(connection);
  }

  get(uri: string): TextDocument | undefined {
    return this.#open.get(uri)?.document;
  }

  all(): TextDocument[] {
    return [...this.#open.values()].map(({ document }) => document);
  }

  /** Cells of a notebook, in order. */
  cellsOf(uri: string): readonly { readonly uri: string; readonly version: number }[] {
    return this.#open.get(uri)?.cells ?? [];
  }

  /** How a cell stands in its notebook; undefined where the text is no cell. */
  view(cellUri: string): TextView | undefined {
    const uri = this.#notebookOf.get(cellUri);
    const own = uri === undefined ? undefined : this.#cell(uri, cellUri);
    if (uri === undefined || !own) return undefined;
    return {
      uri,
      cell: cellUri,
      into: ({ line, character }) => ({ line: line + own.first, character }),
      out: (range) => {
        const place = this.place(uri, range);
        return place?.uri === cellUri ? place.range : undefined;
      },
    };
  }

  /** The cell that a place of the joined text is in; undefined where there is none, or it reaches over several. */
  place(uri: string, { start, end }: Range): CellPlace | undefined {
    const open = this.#open.get(uri);
    if (!open) return undefined;
    const from = shown(open.cells, start);
    const to = shown(open.cells, end);
    if (!from || !to || from.cell !== to.cell) return undefined;
    const { cell } = from;
    return {
      uri: cell.uri,
      version: cell.version,
      range: { start: from.position, end: to.position },
      index: open.cells.indexOf(cell),
    };
  }

  #cell(uri: string, cellUri: string): Cell | undefined {
    return this.#open.get(uri)?.cells.find((cell) => cell.uri === cellUri);
  }

  #forget(uri: string): void {
    for (const cell of this.cellsOf(uri)) this.#notebookOf.delete(cell.uri);
  }

  #join(uri: string): TextDocument {
    this.#forget(uri);
    const notebook = this.#sync.getNotebookDocument(uri);
    const texts = (notebook?.cells ?? []).flatMap((cell) => {
      const text = this.#sync.getCellTextDocument(cell);
      return text?.languageId === 'python' ? [text] : [];
    });
    const { text, firstLines } = notebookText(
      texts.map((cell) => cell.getText()),
      notebook?.metadata,
      this.#saved.get(uri),
    );
    this.#version += 1;
    const document = TextDocument.create(uri, 'python', this.#version, text);
    const cells = texts.map((cell, index): Cell => {
      this.#notebookOf.set(cell.uri, uri);
      return {
        uri: cell.uri,
        version: cell.version,
        first: firstLines[index] ?? 0,
        lines: cell.lineCount,
        hasCellMagic: /^\s*%%/.test(cell.getText()),
      };
    });
    this.#open.set(uri, { document, cells });
    return document;
  }
}

/** The place of a cell for one of the joined text; what is above a cell goes to where that cell's own text may begin. */
function shown(
  cells: readonly Cell[],
  { line, character }: Position,
): { readonly cell: Cell; readonly position: Position } | undefined {
  const cell = cells.find(({ first, lines }) => line < first + lines);
  if (!cell) return undefined;
  if (line >= cell.first) return { cell, position: { line: line - cell.first, character } };
  const free = cells.slice(cells.indexOf(cell)).find(({ hasCellMagic }) => !hasCellMagic);
  return free && { cell: free, position: { line: 0, character: 0 } };
}
