import { commands, l10n, QuickPickItemKind, window } from 'vscode';
import { FIELDS, type FieldSpec, isFieldPath } from '../../../server/src/shared/fields';
import { say } from '../../../server/src/shared/words';
import type { Choice, Choices } from './choices';
import { asked, type BACK } from './question';
import { rankChoices } from './rank-choices';
import { readTypedValue } from './read-value';

const TITLES: Readonly<Record<string, string>> = {
  'model.id': l10n.t('Model'),
  'model.path': l10n.t('Model folder'),
  'hardware.gpu': l10n.t('GPU'),
  'hardware.gpus': l10n.t('Number of GPUs'),
  'hardware.nodes': l10n.t('Number of nodes'),
  'batch.sequence': l10n.t('Sequence length'),
  'batch.micro': l10n.t('Micro batch per GPU'),
};

/** Where the documentation of a field states too much for one line. */
const PROMPTS: Readonly<Record<string, string>> = {
  'model.id': l10n.t('Search by name, size or family, or type the name or folder of any model'),
  'hardware.gpu': l10n.t('Search by name, memory or cloud machine, or type the name of any GPU'),
};

export function fieldTitle(field: string): string {
  return TITLES[field] ?? field;
}

/** What a question is answered with: its value, the wish for the question before, or nothing. */
type Reply = string | typeof BACK | undefined;

/** Asks for one value: a list where there are good candidates, else a box that checks what is typed. */
export async function askForValue(
  field: string,
  progress: { readonly step: number; readonly of: number },
  choices: Choices,
): Promise<Reply> {
  if (!isFieldPath(field)) {
    return undefined;
  }
  const spec: FieldSpec = FIELDS[field];
  const { step, of } = progress;
  const title = of > 1 ? l10n.t('{0} ({1} of {2})', fieldTitle(field), step, of) : fieldTitle(field);
  if (spec.type === 'choice' || spec.type === 'flag') {
    const pick = window.createQuickPick();
    pick.title = title;
    pick.placeholder = plain(say(spec.doc));
    pick.items = (spec.type === 'flag' ? ['true', 'false'] : spec.values).map((label) => ({ label }));
    return asked(pick, step > 1, () => pick.selectedItems[0]?.label);
  }
  const offered = choices.atOnce(field);
  const asks = { field, title, spec, hasBefore: step > 1 };
  return offered ? pickOrType(asks, offered, choices) : typeValue(asks);
}

interface Asks {
  readonly field: string;
  readonly title: string;
  readonly spec: FieldSpec;
  readonly hasBefore: boolean;
}

function typeValue({ field, title, spec, hasBefore }: Asks): Promise<Reply> {
  const box = window.createInputBox();
  box.title = title;
  box.prompt = plain(say(spec.doc));
  const check = () => {
    box.validationMessage = readTypedValue(field, box.value).problem;
    return box.validationMessage === undefined;
  };
  box.onDidChangeValue(check);
  return asked(box, hasBefore, () => (check() ? box.value.trim() : undefined));
}

/**
 * Until the editor has what was set before: rows go out when this turn of the event loop ends, and messages to the editor and back keep
 * their order, so the answer to a command comes after all that the rows brought about.
 */
async function untilDrawn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  await commands.executeCommand('setContext', 'oomlint.choosing', true);
}

/** A quick pick that also takes what is typed: catalogs are never complete. */
async function pickOrType(
  { field, title, spec, hasBefore }: Asks,
  offered: readonly Choice[],
  choices: Choices,
): Promise<Reply> {
  const pick = window.createQuickPick<Answer>();
  let items = offered;
  /** The row that is meant by what is typed, until the editor has drawn it: from then on it has the row that the person is on. */
  let meant: Answer | undefined;
  const bestOf = (text: string): Answer | undefined =>
    rankChoices(
      items.filter(({ kind }) => kind !== QuickPickItemKind.Separator),
      text,
    )[0];
  const show = () => {
    const text = pick.value.trim();
    const groups = items.filter(({ kind }) => kind === QuickPickItemKind.Separator);
    const answers = items.filter(({ kind }) => kind !== QuickPickItemKind.Separator);
    const ranked = rankChoices(answers, text);
    const isNew = text !== '' && !answers.some(({ label }) => label.toLowerCase() === text.toLowerCase());
    const typed: Answer[] =
      isNew && readTypedValue(field, text).problem === undefined
        ? [asTyped(text, spec, ranked.length > 0)]
        : [];
    pick.items = text === '' ? items : [...ranked.map(always), ...typed];
    // The editor sorts what matches by itself; what Enter takes is the best answer wherever it stands.
    const [best = typed[0]] = pick.items.filter(({ label }) => label === ranked[0]?.label);
    const row = text === '' ? undefined : best;
    meant = row;
    if (row) pick.activeItems = [row];
    else if (groups.length === 0) pick.activeItems = pick.items.slice(0, 1);
    void untilDrawn().then(() => {
      if (meant === row) meant = undefined;
    });
  };
  pick.title = title;
  pick.placeholder = PROMPTS[field] ?? plain(say(spec.doc));
  pick.matchOnDescription = true;
  pick.items = items;
  pick.busy = true;
  void choices.all(field).then((all) => {
    pick.busy = false;
    items = all ?? items;
    show();
  });
  pick.onDidChangeValue(show);
  const answer = await asked(pick, hasBefore, () => {
    // Who types and presses Enter at once is faster than the rows, of which the editor names one by its number among those before:
    // then the best answer to what stands there is taken.
    const chosen = meant ? [meant] : pick.selectedItems;
    const [picked = pick.activeItems[0] ?? bestOf(pick.value)] = chosen;
    return picked?.value ?? picked?.label;
  });
  if (typeof answer === 'string') void choices.remember(field, answer);
  return answer;
}

/** What a row stands for, where that is not its label. */
interface Answer extends Choice {
  readonly value?: string;
}

/** Rows that were found are shown, also where the editor's own search would not find them. */
const always = (choice: Choice): Answer => ({ ...choice, alwaysShow: true });

/** What is typed, below all that is known: a name that nobody knows gives no estimate. A number is as good as any. */
function asTyped(text: string, spec: FieldSpec, hasBetter: boolean): Answer {
  if (spec.type !== 'text') return { label: text, alwaysShow: true };
  // Of rows whose label holds what is typed the editor puts the shortest first: here the description holds it.
  return {
    label: `$(warning) ${l10n.t('As typed')}`,
    description: hasBetter ? text : `${text} · ${l10n.t('not in the catalog')}`,
    alwaysShow: true,
    value: text,
  };
}

/** Documentation is Markdown; boxes show plain text. */
function plain(doc: string): string {
  return doc.replaceAll('`', '');
}
