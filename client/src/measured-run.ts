import {
  commands,
  Disposable,
  l10n,
  ProgressLocation,
  type QuickPickItem,
  Range,
  Uri,
  WorkspaceEdit,
  window,
  workspace,
} from 'vscode';
import {
  COMPARE_RUN_COMMAND,
  ESTIMATE_COMMAND,
  LEARN_COMMAND,
  type MeasuredAnswer,
} from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import { targetUri } from './config-documents';
import type { LanguageServer } from './language-server';

/** `Oomlint: Compare with a Measured Run...` and `Oomlint: Learn from the Measured Run...`. */
export function measuresRuns(server: LanguageServer): Disposable {
  return Disposable.from(
    commands.registerCommand(COMPARE_RUN_COMMAND, (target?: unknown, place?: unknown) =>
      compareWithRun(server, target, place),
    ),
    commands.registerCommand(LEARN_COMMAND, (target?: unknown) => learnFromRun(server, target)),
  );
}

async function compareWithRun(server: LanguageServer, target: unknown, named: unknown): Promise<void> {
  const uri = targetUri(target);
  const place = named instanceof Uri ? named : uri && (await choosePlace());
  if (!uri || !place) return;
  const answer = await reading(server, uri, place);
  if (!answer) return;
  if (answer.problem !== undefined) {
    await window.showWarningMessage(answer.problem);
    return;
  }
  await commands.executeCommand(ESTIMATE_COMMAND, uri);
}

/** Logs may be large: what was read is reported, and reading ends where the person cancels it. */
function reading(server: LanguageServer, uri: Uri, place: Uri): Thenable<MeasuredAnswer | null> {
  const options = {
    location: ProgressLocation.Notification,
    title: l10n.t('Reading the measured run'),
    cancellable: true,
  };
  return window.withProgress(options, async (progress, token) => {
    const listener = server.onMeasuredProgress(({ bytes, file }) =>
      progress.report({ message: `${file}, ${formatBytes(bytes)}` }),
    );
    try {
      return await server.measured({ uri: uri.toString(), place: place.toString() }, token);
    } finally {
      listener.dispose();
    }
  });
}

/** A dialog shows files or folders, not both. */
async function choosePlace(): Promise<Uri | undefined> {
  const items = [
    { label: l10n.t('$(file) Log or memory snapshot...'), folders: false },
    { label: l10n.t('$(folder) Folder of a run...'), folders: true },
  ];
  const picked = await window.showQuickPick(items, { title: l10n.t('Compare with a Measured Run') });
  if (!picked) return undefined;
  const found = await window.showOpenDialog({
    canSelectFiles: !picked.folders,
    canSelectFolders: picked.folders,
    canSelectMany: false,
    openLabel: l10n.t('Compare'),
  });
  return found?.[0];
}

interface FactItem extends QuickPickItem {
  readonly field: string;
}

async function learnFromRun(server: LanguageServer, target: unknown): Promise<void> {
  const uri = targetUri(target);
  if (!uri) return;
  const found = await server.learn({ uri: uri.toString() });
  if (!found) {
    const compare = l10n.t('Compare with a Measured Run');
    const picked = await window.showInformationMessage(
      l10n.t('No measured run of this config is at hand.'),
      compare,
    );
    if (picked === compare) await commands.executeCommand(COMPARE_RUN_COMMAND, uri);
    return;
  }
  if (found.facts.length === 0) {
    await window.showInformationMessage(
      l10n.t('The run measured nothing that the config does not set already.'),
    );
    return;
  }
  const items: FactItem[] = found.facts.map(({ field, words }) => ({
    label: words,
    description: field,
    field,
    picked: true,
  }));
  const chosen = await window.showQuickPick<FactItem>(items, {
    canPickMany: true,
    title: l10n.t('Learn from the Measured Run'),
    placeHolder: l10n.t('Written to oomlint.yaml, for runs that are still like this one'),
  });
  if (!chosen || chosen.length === 0) return;
  const learned = await server.learn({ uri: uri.toString(), fields: chosen.map(({ field }) => field) });
  if (!learned?.file) {
    if (learned?.problem !== undefined) await window.showWarningMessage(learned.problem);
    return;
  }
  await write(Uri.parse(learned.file.uri, true), learned.file.text);
}

/** As an edit that can be undone. */
async function write(file: Uri, text: string): Promise<void> {
  const edit = new WorkspaceEdit();
  const present = await workspace.openTextDocument(file).then(
    (document) => document,
    () => undefined,
  );
  if (present) {
    const whole = present.validateRange(new Range(0, 0, present.lineCount, 0));
    edit.replace(file, whole, text);
  } else edit.createFile(file, { contents: new TextEncoder().encode(text) });
  if (!(await workspace.applyEdit(edit))) {
    await window.showWarningMessage(l10n.t('The editor refused the change.'));
    return;
  }
  await window.showTextDocument(file);
}
