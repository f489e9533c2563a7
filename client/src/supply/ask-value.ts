import { commands, l10n, QuickPickItemKind, window } from 'vscode';
import { FIELDS, type FieldSpec, isFieldPath } from '../../../server/src/shared/fields';
import { say } from '../../../server/src/shared/words';
import { type Answer, answerOf, answersTo, isNamed } from './answers';
import type { Choice, Choices } from './choices';
import { followTyping } from './followed-pick';
import { asked, type BACK } from './question';
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

/** How long who pressed Enter waits for a catalog that may know what they typed; a server that starts takes about a second. */
const PATIENCE_MS = 3_000;

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
  const question = {
    read: (typed: string) => readTypedValue(field, typed).text,
    isNumber: spec.type !== 'text',
    words: { asTyped: l10n.t('As typed'), notInCatalog: l10n.t('not in the catalog') },
  };
  pick.title = title;
  pick.placeholder = PROMPTS[field] ?? plain(say(spec.doc));
  pick.matchOnDescription = true;
  pick.items = items;
  pick.busy = true;
  const followed = followTyping<Answer>(pick, {
    rowsFor: (text) => {
      const { rows, best } = answersTo(text, { ...question, choices: items.filter(isAnswer) });
      // Groups have their headings while nothing is looked for.
      return { rows: text === '' ? items : rows, best };
    },
    isSame: (one, other) => answerOf(one) === answerOf(other),
    untilDrawn,
    untilWhole: (text) =>
      !pick.busy || text === '' || isNamed(items.filter(isAnswer), text)
        ? undefined
        : Promise.race([whole, new Promise<void>((resolve) => setTimeout(resolve, PATIENCE_MS))]),
  });
  const whole = choices.all(field).then((all) => {
    pick.busy = false;
    if (all === undefined || isSameList(all, items)) return;
    items = all;
    followed.more();
  });
  const answer = await asked(pick, hasBefore, async () => {
    const row = await followed.answer();
    return row && answerOf(row);
  });
  if (typeof answer === 'string') void choices.remember(field, answer);
  return answer;
}

const isAnswer = ({ kind }: Choice) => kind !== QuickPickItemKind.Separator;

const isSameList = (some: readonly Choice[], others: readonly Choice[]) =>
  some.length === others.length && some.every(({ label }, at) => label === others[at]?.label);

/** Documentation is Markdown; boxes show plain text. */
function plain(doc: string): string {
  return doc.replaceAll('`', '');
}
