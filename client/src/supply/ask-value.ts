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
  return asked(box, hasBefore, () => (check() ? readTypedValue(field, box.value).text : undefined));
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
  /** What the rows were found for, and the row that a person is on who goes to no other. */
  let shown = { text: '', start: items.find(isAnswer)?.label };
  /** Until the rows that were set last are drawn; undefined from then on. */
  let drawing: Promise<void> | undefined;
  const bestOf = (text: string): Answer | undefined => rankChoices(items.filter(isAnswer), text)[0];
  const show = () => {
    const text = pick.value.trim();
    const rows = rowsFor(text, items, field, spec);
    const named = (label: string | undefined) =>
      rows.find((row) => isAnswer(row) && row.label === label) ?? rows.find(isAnswer);
    // The editor sorts what matches by itself; what Enter takes is the best answer wherever it stands.
    const start = named(text === '' ? undefined : bestOf(text)?.label);
    // Rows that only become more leave a person where they went.
    const own = text === shown.text ? pick.activeItems[0]?.label : undefined;
    const active = own === undefined || own === shown.start ? start : named(own);
    shown = { text, start: start?.label };
    pick.items = rows;
    if (active) pick.activeItems = [active];
    const drawn = untilDrawn();
    drawing = drawn;
    void drawn.then(() => {
      if (drawing === drawn) drawing = undefined;
    });
  };
  pick.title = title;
  pick.placeholder = PROMPTS[field] ?? plain(say(spec.doc));
  pick.matchOnDescription = true;
  pick.items = items;
  pick.busy = true;
  void choices.all(field).then((all) => {
    pick.busy = false;
    if (all === undefined || isSame(all, items)) return;
    items = all;
    show();
  });
  pick.onDidChangeValue(show);
  const answer = await asked(pick, hasBefore, async () => {
    const [selected] = pick.selectedItems;
    // Who types and presses Enter at once is faster than the rows, of which the editor names one by its number among those before:
    // what is meant is the row that they are on once the rows for what stands there are drawn.
    const isAhead = drawing !== undefined;
    while (drawing) await drawing;
    const picked = (isAhead ? undefined : selected) ?? pick.activeItems[0] ?? bestOf(pick.value);
    return picked?.value ?? picked?.label;
  });
  if (typeof answer === 'string') void choices.remember(field, answer);
  return answer;
}

const isAnswer = ({ kind }: Choice) => kind !== QuickPickItemKind.Separator;

const isSame = (some: readonly Choice[], others: readonly Choice[]) =>
  some.length === others.length && some.every(({ label }, at) => label === others[at]?.label);

/** All where nothing is typed; else those that go with it, best first, and below them what is typed itself. */
function rowsFor(text: string, items: readonly Choice[], field: string, spec: FieldSpec): readonly Answer[] {
  if (text === '') return items;
  const answers = items.filter(isAnswer);
  const ranked = rankChoices(answers, text);
  const plainText = readTypedValue(field, text).text;
  const names = new Set(answers.map(({ label }) => label.toLowerCase()));
  const isNew = plainText !== undefined && ![text, plainText].some((name) => names.has(name.toLowerCase()));
  const typed = isNew ? [asTyped(plainText, spec, ranked.length > 0)] : [];
  return [...ranked.map(always), ...typed];
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
