import { l10n, QuickPickItemKind, window } from 'vscode';
import { FIELDS, type FieldSpec, isFieldPath } from '../../../server/src/run/fields';
import { say } from '../../../server/src/wording/say';
import type { Choice, Choices } from './choices';
import { readValue } from './read-value';

const TITLES: Readonly<Record<string, string>> = {
  'model.id': l10n.t('Model'),
  'model.path': l10n.t('Model folder'),
  'hardware.gpu': l10n.t('GPU'),
  'hardware.gpus': l10n.t('Number of GPUs'),
  'hardware.nodes': l10n.t('Number of nodes'),
  'batch.sequence': l10n.t('Sequence length'),
  'batch.micro': l10n.t('Micro batch per GPU'),
};

/** Where the documentation of a field says too much for one line. */
const PROMPTS: Readonly<Record<string, string>> = {
  'model.id': l10n.t('Search by name, size or family, or type the name or folder of any model'),
  'hardware.gpu': l10n.t('Search by name, memory or cloud machine, or type the name of any GPU'),
};

export function fieldTitle(field: string): string {
  return TITLES[field] ?? field;
}

/** Asks for one value: a list where there are good candidates, else a box that checks what is typed. */
export async function askForValue(
  field: string,
  progress: { readonly step: number; readonly of: number },
  choices: Choices,
): Promise<string | undefined> {
  if (!isFieldPath(field)) {
    return undefined;
  }
  const spec: FieldSpec = FIELDS[field];
  const { step, of } = progress;
  const title = of > 1 ? l10n.t('{0} ({1} of {2})', fieldTitle(field), step, of) : fieldTitle(field);
  if (spec.type === 'choice' || spec.type === 'flag') {
    return window.showQuickPick(spec.type === 'flag' ? ['true', 'false'] : [...spec.values], {
      title,
      placeHolder: plain(say(spec.doc)),
    });
  }
  const offered = choices.atOnce(field);
  return offered ? pickOrType(field, title, spec, { offered, choices }) : typeValue(field, title, spec);
}

function typeValue(field: string, title: string, spec: FieldSpec): Promise<string | undefined> {
  return Promise.resolve(
    window.showInputBox({
      title,
      prompt: plain(say(spec.doc)),
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
  { offered, choices }: { readonly offered: readonly Choice[]; readonly choices: Choices },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const pick = window.createQuickPick();
    let items = offered;
    const show = () => {
      const text = pick.value.trim();
      const asTyped =
        text !== '' && readValue(field, text).problem === undefined && !isOffered(spec, text, items);
      pick.items = asTyped ? [{ label: text, description: l10n.t('as typed') }, ...items] : items;
    };
    pick.title = title;
    pick.placeholder = PROMPTS[field] ?? plain(say(spec.doc));
    pick.matchOnDescription = true;
    pick.ignoreFocusOut = true;
    pick.items = items;
    pick.busy = true;
    void choices.all(field).then((all) => {
      pick.busy = false;
      items = all ?? items;
      show();
    });
    pick.onDidChangeValue(show);
    pick.onDidAccept(() => {
      const label = pick.selectedItems[0]?.label;
      if (label !== undefined) {
        void choices.remember(field, label);
      }
      resolve(label);
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
function isOffered(spec: FieldSpec, text: string, items: readonly Choice[]): boolean {
  const typed = text.toLowerCase();
  const answers = items.filter(({ kind }) => kind !== QuickPickItemKind.Separator);
  return answers.some(({ label, description }) =>
    spec.type === 'text'
      ? `${label} ${description}`.toLowerCase().includes(typed)
      : label.toLowerCase() === typed,
  );
}

/** Documentation is Markdown; boxes show plain text. */
function plain(doc: string): string {
  return doc.replaceAll('`', '');
}
