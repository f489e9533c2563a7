import { commands, type Diagnostic, l10n, languages, Selection, type Uri, window, workspace } from 'vscode';
import { done } from './walkthrough-steps';

/** Problems of the verdict, whose light bulb has the changes that make a run fit. */
const VERDICTS = ['does-not-fit', 'tight'];
/** For so long the problems of a file that is opened are waited for. */
const PATIENCE_MS = 5_000;

/** `Oomlint: Show Fixes`: goes to the verdict of a config and opens the light bulb there. */
export async function showFixes(uri: Uri | undefined): Promise<void> {
  if (uri === undefined) {
    const sample = l10n.t('Open Sample Workspace');
    const picked = await window.showInformationMessage(l10n.t('Open a training config first.'), sample);
    if (picked === sample) await commands.executeCommand('oomlint.openSample');
    return;
  }
  // What no editor shows has no problems yet.
  const document = await workspace.openTextDocument(uri);
  const problem = verdictOf(uri) ?? (await laterVerdictOf(uri));
  if (!problem) {
    await window.showInformationMessage(
      l10n.t('Nothing marks this config as too large: there is no fix to show.'),
    );
    return;
  }
  // Moved and scrolled by the time that it is shown: either closes a list of fixes that is open.
  const selection = new Selection(problem.range.start, problem.range.start);
  await window.showTextDocument(document, { selection });
  // The editor asks nobody where it has not the focus, or does not know yet who answers.
  await commands.executeCommand('workbench.action.focusActiveEditorGroup');
  await commands.executeCommand('vscode.executeCodeActionProvider', uri, selection);
  await commands.executeCommand('editor.action.quickFix');
  done('fixesShown');
}

const verdictOf = (uri: Uri) =>
  languages
    .getDiagnostics(uri)
    .find(({ code }) => VERDICTS.includes(String(typeof code === 'object' ? code.value : code)));

/** The verdict of a file that was opened just now; undefined where none comes. */
async function laterVerdictOf(uri: Uri): Promise<Diagnostic | undefined> {
  // Of a text that is shown everything is there.
  if (window.visibleTextEditors.some(({ document }) => document.uri.toString() === uri.toString()))
    return undefined;
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(undefined), PATIENCE_MS);
    const listening = languages.onDidChangeDiagnostics(() => {
      const found = verdictOf(uri);
      if (found) end(found);
    });
    const end = (found: Diagnostic | undefined) => {
      clearTimeout(timer);
      listening.dispose();
      resolve(found);
    };
  });
}
