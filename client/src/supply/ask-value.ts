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
      placeHolder: spec.doc,
    });
  }
  const suggestions = SUGGESTIONS[field];
  return suggestions ? pickOrType(field, title, spec, suggestions) : typeValue(field, title, spec);
}

function typeValue(field: string, title: string, spec: FieldSpec): Promise<string | undefined> {
  return Promise.resolve(
    window.showInputBox({
      title,
      prompt: spec.doc,
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
    pick.placeholder = spec.doc;
    pick.matchOnDescription = true;
    pick.ignoreFocusOut = true;
    pick.items = suggestions;
    pick.onDidChangeValue((typed) => {
      const text = typed.trim();
      const exact = suggestions.some(({ label }) => label.toLowerCase() === text.toLowerCase());
      const valid = text !== '' && readValue(field, text).problem === undefined;
      pick.items = valid && !exact ? [...suggestions, { label: text, description: 'as typed' }] : suggestions;
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
