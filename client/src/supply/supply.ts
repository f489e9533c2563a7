import { commands, l10n, type QuickPickItem, type Uri, window } from 'vscode';
import { isFieldPath } from '../../../server/src/shared/fields';
import { targetUri } from '../config-documents';
import type { LanguageServer } from '../language-server';
import { askForValue, fieldTitle } from './ask-value';
import type { Choices } from './choices';
import { chooseDestination, fitsSettings, writeSettings } from './destinations';
import { BACK } from './question';

/** What most configs leave open, in the order that narrows an estimate most. */
const USUAL_FIELDS = ['model.id', 'hardware.gpu', 'hardware.gpus', 'batch.sequence', 'batch.micro'];

/** What answers need: the server, and what was chosen before. */
interface Supplier {
  readonly server: LanguageServer;
  readonly choices: Choices;
}

/**
 * Asks for facts that an estimate lacks, and writes each where the person wants it to stand; into the settings where no
 * config is open.
 */
export async function supplyFacts(
  { server, choices }: Supplier,
  target: unknown,
  fields?: readonly string[],
): Promise<void> {
  const uri = targetUri(target);
  if (uri === undefined && !(fields && fitsSettings(fields))) {
    await offerConfig();
    return;
  }
  const asked = (fields ?? fieldsOf(target)).filter(isFieldPath);
  const wanted = asked.length > 0 || uri === undefined ? asked : await chooseFields(server, uri);
  if (wanted.length === 0) return;
  const facts = new Map<string, string>();
  for (let at = 0; ; ) {
    const field = wanted[at];
    if (field === undefined) {
      if (uri === undefined) return writeSettings(undefined, facts);
      const destination = await chooseDestination(server, uri, facts);
      if (destination !== BACK) return destination?.write(facts);
      at--;
      continue;
    }
    const value = await askForValue(field, { step: at + 1, of: wanted.length }, choices);
    if (value === undefined) return;
    if (value === BACK) {
      at--;
    } else {
      facts.set(field, value);
      at++;
    }
  }
}

/** Nothing to supply facts for: states what to do instead. */
async function offerConfig(): Promise<void> {
  const open = l10n.t('Open File...');
  const sample = l10n.t('Open Sample');
  const picked = await window.showInformationMessage(
    l10n.t('No training config is open. Open one, then set what it leaves out.'),
    open,
    sample,
  );
  if (picked === open) {
    await commands.executeCommand('workbench.action.files.openFile');
  } else if (picked === sample) {
    await commands.executeCommand('oomlint.openSample');
  }
}

/** Code lenses, code actions and the panel say which facts are missing. */
function fieldsOf(target: unknown): readonly string[] {
  if (
    typeof target !== 'object' ||
    target === null ||
    !('fields' in target) ||
    !Array.isArray(target.fields)
  ) {
    return [];
  }
  return target.fields.filter((name): name is string => typeof name === 'string');
}

async function chooseFields(server: LanguageServer, uri: Uri): Promise<string[]> {
  const breakdown = await server.breakdown(uri.toString()).catch(() => null);
  const unknown = new Map(breakdown?.unknown.map(({ field, reason }) => [field, reason]));
  const offered = [...new Set([...unknown.keys(), ...USUAL_FIELDS])].filter(isFieldPath);
  const items: (QuickPickItem & { field: string })[] = offered.map((field) => ({
    field,
    label: fieldTitle(field),
    description: field,
    detail: unknown.get(field),
    picked: unknown.has(field),
  }));
  const picked = await window.showQuickPick(items, {
    title: l10n.t('Set Missing Values'),
    placeHolder: l10n.t('What do you want to set?'),
    canPickMany: true,
  });
  return picked?.map(({ field }) => field) ?? [];
}
