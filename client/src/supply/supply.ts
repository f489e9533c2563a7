import { type QuickPickItem, type Uri, window } from 'vscode';
import { isFieldPath } from '../../../server/src/run/fields';
import { targetUri } from '../config-documents';
import type { LanguageServer } from '../language-server';
import { askForValue, fieldTitle } from './ask-value';
import { chooseDestination } from './destinations';

/** What most configs leave open, in the order that narrows an estimate most. */
const USUAL_FIELDS = ['model.id', 'hardware.gpu', 'hardware.gpus', 'batch.sequence', 'batch.micro'];

/** Asks for facts that an estimate lacks, and writes each where the person wants it to stand. */
export async function supplyFacts(
  server: LanguageServer,
  target: unknown,
  fields?: readonly string[],
): Promise<void> {
  const uri = targetUri(target);
  if (uri === undefined) {
    void window.showInformationMessage('Open a training config to supply facts about its run.');
    return;
  }
  const asked = (fields ?? fieldsOf(target)).filter(isFieldPath);
  const wanted = asked.length > 0 ? asked : await chooseFields(server, uri);
  const facts = new Map<string, string>();
  for (const [index, field] of wanted.entries()) {
    const value = await askForValue(field, { step: index + 1, of: wanted.length });
    if (value === undefined) {
      return;
    }
    facts.set(field, value);
  }
  if (facts.size > 0) {
    const destination = await chooseDestination(uri, [...facts.keys()]);
    await destination?.write(facts);
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
    title: 'Supply Facts About the Run',
    placeHolder: 'What do you want to state?',
    canPickMany: true,
  });
  return picked?.map(({ field }) => field) ?? [];
}
