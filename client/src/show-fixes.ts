import { commands, l10n, languages, Selection, type Uri, window, workspace } from 'vscode';
import { done } from './walkthrough-steps';

/** Problems of the verdict, whose light bulb has the changes that make a run fit. */
const VERDICTS = ['does-not-fit', 'tight'];

/** `Oomlint: Show Fixes`: goes to the verdict of a config and opens the light bulb there. */
export async function showFixes(uri: Uri | undefined): Promise<void> {
  if (uri === undefined) {
    const sample = l10n.t('Open Sample Workspace');
    const picked = await window.showInformationMessage(l10n.t('Open a training config first.'), sample);
    if (picked === sample) await commands.executeCommand('oomlint.openSample');
    return;
  }
  const problem = languages
    .getDiagnostics(uri)
    .find(({ code }) => VERDICTS.includes(String(typeof code === 'object' ? code.value : code)));
  if (!problem) {
    await window.showInformationMessage(
      l10n.t('Nothing marks this config as too large: there is no fix to show.'),
    );
    return;
  }
  // Moved and scrolled by the time that it is shown: either closes a list of fixes that is open.
  const selection = new Selection(problem.range.start, problem.range.start);
  await window.showTextDocument(await workspace.openTextDocument(uri), { selection });
  // The editor asks nobody where it has not the focus, or does not know yet who answers.
  await commands.executeCommand('workbench.action.focusActiveEditorGroup');
  await commands.executeCommand('vscode.executeCodeActionProvider', uri, selection);
  await commands.executeCommand('editor.action.quickFix');
  done('fixesShown');
}
