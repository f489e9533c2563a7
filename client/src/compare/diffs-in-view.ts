import {
  TabInputText,
  TabInputTextDiff,
  type TextDocument,
  type TextEditor,
  Uri,
  window,
  workspace,
} from 'vscode';
import { mayBeConfig } from '../config-documents';

/** The two sides of a diff that is in view. */
export interface Diff {
  readonly original: TextDocument;
  readonly modified: TextDocument;
  /** The file that both are versions of. */
  readonly file: Uri;
}

export function diffsInView(): Diff[] {
  return window.tabGroups.all.flatMap(({ activeTab }): Diff[] => {
    const input = activeTab?.input;
    // Two versions of one file: what two files differ in is no change.
    if (!(input instanceof TabInputTextDiff) || input.original.path !== input.modified.path) return [];
    const original = textOf(input.original);
    const modified = textOf(input.modified);
    if (!original || !modified) return [];
    const file = mayBeConfig(modified) ? modified.uri : fileOf(input.modified);
    return [{ original, modified, file }];
  });
}

/** Whether a document is in view as a side of a diff alone, not in an editor of its own. */
export function isInDiffsAlone({ document }: TextEditor): boolean {
  const inputs = window.tabGroups.all.map(({ activeTab }) => activeTab?.input);
  const own = document.uri.toString();
  return (
    inputs.some((input) => input instanceof TabInputTextDiff && input.modified.toString() === own) &&
    !inputs.some((input) => input instanceof TabInputText && input.uri.toString() === own)
  );
}

/** Versions in git lie beside the file: its path is theirs. */
const fileOf = (version: Uri) => Uri.file(version.path);

const textOf = (uri: Uri): TextDocument | undefined =>
  workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
