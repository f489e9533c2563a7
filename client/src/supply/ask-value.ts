import { type QuickPickItem, window } from 'vscode';
import { FIELDS, type FieldSpec, isFieldPath } from '../../../server/src/run/fields';
import { readValue } from './read-value';
import { SUGGESTIONS } from './suggestions';

const TITLES: Readonly<Record<string, string>> = {
  'model.id': 'Model',
  'model.path': 'Model folder',
  'hardware.gpu': 'GPU',
  'hardware.gpus': 'Number of GPUs',
  'hardware.nodes': 'Number of nodes',
  'batch.sequence': 'Sequence length',
  'batch.micro': 'Micro batch per GPU',
};

export function fieldTitle(field: string): string {
  return TITLES[field] ?? field;
}

/** Asks for one value: a list where there are good candidates, else a box that checks what is typed. */
export async function askForValue(
  field: string,
  progress: { readonly step: number; readonly of: number },
): Promise<string | undefined> {
  if (!isFieldPath(field)) {
    return undefined;
  }
  const spec: FieldSpec = FIELDS[field];
  const title = `${fieldTitle(field)}${progress.of > 1 ? ` (${progress.step} of ${progress.of})` : ''}`;
  if (spec.type === 'choice' || spec.type === 'flag') {
    return window.showQuickPick(spec.type === 'flag' ? ['true', 'false'] : [...spec.values], {
      title,
      placeHolder: plain(spec.doc),
    });
  }
  const suggestions = SUGGESTIONS[field];
  return suggestions ? pickOrType(field, title, spec, suggestions) : typeValue(field, title, spec);
}

function typeValue(field: string, title: string, spec: FieldSpec): Promise<string | undefined> {
  return Promise.resolve(
    window.showInputBox({
      title,
      prompt: plain(spec.doc),
      ignoreFocusOut: true,
      validateInput: (text) => readValue(field, text).problem,
    }),
  ).then((text) => text?.trim());
}

/** A quick pick that also takes what is typed: catalogs are never complete. */
function pickOrType(
  field: string,
  title: string,
  spec: FieldSpec,
  suggestions: readonly QuickPickItem[],
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const pick = window.createQuickPick();
    pick.title = title;
    pick.placeholder = plain(spec.doc);
    pick.matchOnDescription = true;
    pick.ignoreFocusOut = true;
    pick.items = suggestions;
    pick.onDidChangeValue((typed) => {
      const text = typed.trim();
      const asTyped =
        text !== '' && readValue(field, text).problem === undefined && !isOffered(spec, text, suggestions);
      pick.items = asTyped ? [...suggestions, { label: text, description: 'as typed' }] : suggestions;
    });
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.label);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

/** A part of a name finds the name, so it is not offered as typed; a part of a number is another number. */
function isOffered(spec: FieldSpec, text: string, suggestions: readonly QuickPickItem[]): boolean {
  const typed = text.toLowerCase();
  return suggestions.some(({ label }) =>
    spec.type === 'text' ? label.toLowerCase().includes(typed) : label.toLowerCase() === typed,
  );
}

/** Documentation is Markdown; boxes show plain text. */
function plain(doc: string): string {
  return doc.replaceAll('`', '');
}
