import type { TextDocuments } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { OpenNotebooks } from './notebooks';
import { type TextView, wholeFile } from './text-view';

/** Texts that are analysed and that an editor shows: files, and the cells of each notebook as one text. */
export class OpenTexts {
  constructor(
    readonly files: TextDocuments<TextDocument>,
    readonly notebooks: OpenNotebooks,
  ) {}

  get(uri: string): TextDocument | undefined {
    return this.notebooks.get(uri) ?? this.files.get(uri);
  }

  all(): TextDocument[] {
    const notebooks = this.notebooks.all();
    const files = this.files.all().filter(({ uri }) => this.notebooks.get(uri) === undefined);
    return [...files, ...notebooks];
  }

  /**
   * How a text that an editor asks about stands in the one that is analysed. Undefined for the file of a notebook that is open
   * as one too: its places are not those of the cells.
   */
  view(uri: string): TextView | undefined {
    return this.notebooks.view(uri) ?? (this.notebooks.get(uri) ? undefined : wholeFile(uri));
  }
}
