import { type TextDocument, Uri, window } from 'vscode';
import { activeFile, analysedFile, isPythonCell, NOTEBOOK_TYPE } from './notebook-cells';

const LANGUAGES = ['json', 'jsonc', 'yaml', 'toml', 'shellscript', 'python', 'oomlint-flags'] as const;
/** Places that configs are edited in; `vscode-vfs` are repositories opened without a checkout. */
const SCHEMES = ['file', 'untitled', 'vscode-remote', 'vscode-vfs', 'vscode-test-web'] as const;

/** Documents that may be training configs; whether they are is judged by the server, from their content. */
export const CONFIG_SELECTOR = SCHEMES.flatMap((scheme) =>
  LANGUAGES.map((language) => ({ scheme, language })),
);

/** As texts of the editor, cells of notebooks among them. */
export const DOCUMENT_SELECTOR = [...CONFIG_SELECTOR, { notebook: NOTEBOOK_TYPE, language: 'python' }];

/** A script that trains names a package of its trainer or of its model; the server looks closer. */
const TRAINS =
  /\b(?:transformers|trl|unsloth|lightning|pytorch_lightning|(?:tf_)?keras|jax|litgpt|torchtune)\b|\.backward[ \t]*\(/;

/** Whether a document is a reason to start the server: most Python files are none. */
export function isReasonToStart(document: TextDocument): boolean {
  return mayBeConfig(document) && (document.languageId !== 'python' || TRAINS.test(document.getText()));
}

/** Whether a file is a project file, whose statements count for the configs around and below it. */
export const isProjectFile = ({ path }: Uri): boolean => /\/oomlint\.ya?ml$/.test(path);

export function mayBeConfig(document: TextDocument): boolean {
  const { uri, languageId } = document;
  return (
    isPythonCell(document) ||
    CONFIG_SELECTOR.some(({ scheme, language }) => scheme === uri.scheme && language === languageId)
  );
}

/**
 * The file that a command is about: its argument (menus pass a Uri, code lenses an object with the address as text),
 * or the active editor's.
 */
export function targetUri(argument: unknown): Uri | undefined {
  if (argument instanceof Uri) {
    return analysedFile(argument);
  }
  if (typeof argument === 'object' && argument !== null && 'uri' in argument) {
    return targetUri(argument.uri);
  }
  if (typeof argument === 'string' && argument !== '') {
    return analysedFile(Uri.parse(argument, true));
  }
  const document = window.activeTextEditor?.document;
  return !document || mayBeConfig(document) ? activeFile() : undefined;
}
