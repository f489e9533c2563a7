import assert from 'node:assert/strict';
import {
  type CodeAction,
  commands,
  env,
  Range,
  Selection,
  TabInputCustom,
  TabInputText,
  TabInputWebview,
  type TextDocument,
  window,
  workspace,
} from 'vscode';
import { eventually, file, hoverText, lensTitles, open } from './editor';

const MESSAGE =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 3 has a total capacity of 23.64 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 22.60 GiB memory in use. Of the allocated memory 21.60 GiB is allocated by PyTorch, and 312.00 MiB is reserved by PyTorch but unallocated.';
const LOG = `step 1 loss 2.1\n${MESSAGE}\n`;
const TITLE = 'CUDA out of memory: 3.9 GiB asked for';

function tabs(): string[] {
  return window.tabGroups.all
    .flatMap(({ tabs: all }) => all)
    .filter(({ input }) => !(input instanceof TabInputText) || input.uri.scheme === 'oomlint-explanation')
    .filter(
      ({ input }) =>
        input instanceof TabInputWebview || input instanceof TabInputCustom || input instanceof TabInputText,
    )
    .map(({ label }) => label);
}

/** A preview comes of the explanation that was asked for. */
async function isPreviewed(explained: Thenable<unknown>): Promise<void> {
  const shown = await eventually(
    async () => {
      // Where configs are open it asks for that of the run; nobody states it.
      await commands.executeCommand('workbench.action.closeQuickOpen');
      return tabs();
    },
    (all) => all.some((label) => label.includes('Out of Memory')),
  );
  assert.ok(
    shown.some((label) => label.includes('Out of Memory')),
    shown.join(),
  );
  await explained;
}

describe('an out-of-memory message in VS Code', () => {
  let document: TextDocument;

  before(async () => {
    await workspace.fs.writeFile(file('crash.log'), new TextEncoder().encode(LOG));
    document = await open('crash.log');
  });

  after(async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    await workspace.fs.delete(file('crash.log'));
  });

  it('has a line above it that leads to its explanation', async () => {
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.length > 0,
    );
    assert.deepEqual(titles, [`${TITLE}: explain`]);
  });

  it('is explained on hover', async () => {
    const text = await eventually(
      () => hoverText(document, 'Tried to allocate'),
      (found) => found.includes('GiB'),
    );
    assert.match(text, /21\.6 GiB in tensors/);
  });

  it('is explained from what is pasted into an editor and selected', async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    const pasted = await workspace.openTextDocument({ language: 'plaintext', content: `> ${MESSAGE}\n` });
    const editor = await window.showTextDocument(pasted);
    editor.selection = new Selection(0, 0, 0, pasted.lineAt(0).text.length);
    await isPreviewed(commands.executeCommand('oomlint.explainOutOfMemory'));
    await commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('is explained from the clipboard where nothing is open that holds one', async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    await env.clipboard.writeText(`RuntimeError: ${MESSAGE}`);
    await isPreviewed(commands.executeCommand('oomlint.explainOutOfMemory'));
    await commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('is explained in a preview', async () => {
    const argument = { uri: document.uri.toString(), line: 1 };
    const explained = commands.executeCommand('oomlint.explainOutOfMemory', argument);
    await isPreviewed(explained);
  });
});

describe('the explanation of an out-of-memory message', () => {
  const CONFIG =
    '{"train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}\n';
  const PROJECT =
    'targets:\n  gpu: RTX-4090\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.2-1B\n  sequence: 4096\n';
  const names = { 'crashed/ds.json': CONFIG, 'crashed/oomlint.yaml': PROJECT, 'crashed/run.log': LOG };

  before(async () => {
    for (const [name, text] of Object.entries(names))
      await workspace.fs.writeFile(file(name), new TextEncoder().encode(text));
  });
  after(async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    await workspace.fs.delete(file('crashed'), { recursive: true });
  });

  it('offers changes of the run as quick fixes at the message, which are written into its config', async () => {
    const log = await open('crashed/run.log');
    const line = new Range(1, 0, 1, 10);
    const actions = await eventually(
      () => commands.executeCommand<CodeAction[]>('vscode.executeCodeActionProvider', log.uri, line),
      (all) => all.some(({ title }) => title.includes('ds.json')),
    );
    const [action] = actions.filter(({ title }) => /micro batch/i.test(title) && title.includes('ds.json'));
    assert.ok(action?.command, actions.map(({ title }) => title).join());
    await commands.executeCommand(action.command.command, ...(action.command.arguments ?? []));
    const config = await workspace.openTextDocument(file('crashed/ds.json'));
    await eventually(
      () => Promise.resolve(config.getText()),
      (text) => text !== CONFIG,
    );
    assert.notEqual(config.getText(), CONFIG);
    await commands.executeCommand('workbench.action.files.revert');
  });

  it('is reached from what a cell of a notebook printed', async () => {
    const stream = { output_type: 'stream', name: 'stderr', text: [MESSAGE] };
    const cell = {
      cell_type: 'code',
      execution_count: 1,
      metadata: {},
      outputs: [stream],
      source: ['train()'],
    };
    const text = JSON.stringify({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 });
    await workspace.fs.writeFile(file('crashed/run.ipynb'), new TextEncoder().encode(text));
    const notebook = await workspace.openNotebookDocument(file('crashed/run.ipynb'));
    const explained = commands.executeCommand('oomlint.explainOutputOfCell', notebook.cellAt(0));
    await isPreviewed(explained);
  });

  it('is offered when a command of the terminal ends with one', async function () {
    this.timeout(90_000);
    await commands.executeCommand('workbench.action.closeAllEditors');
    await commands.executeCommand('notifications.clearAll');
    const terminal = window.createTerminal({ name: 'launch', cwd: file('crashed') });
    terminal.show();
    const integrated = await eventually(
      () => Promise.resolve(terminal.shellIntegration),
      (shell) => shell !== undefined,
    );
    assert.ok(integrated, 'the shell has no integration');
    const ended = new Promise<number | undefined>((resolve) => {
      const listener = window.onDidEndTerminalShellExecution(({ exitCode }) => {
        listener.dispose();
        resolve(exitCode);
      });
    });
    // As launches do: what a command prints in its first moment VS Code may tell nobody.
    integrated.executeCommand('sleep 1; cat run.log; false');
    assert.equal(await ended, 1);
    const shown = await eventually(
      async () => {
        await commands.executeCommand('notification.acceptPrimaryAction');
        await commands.executeCommand('workbench.action.closeQuickOpen');
        return tabs();
      },
      (all) => all.some((label) => label.includes('Out of Memory')),
    );
    terminal.dispose();
    assert.ok(
      shown.some((label) => label.includes('Out of Memory')),
      shown.join(),
    );
  });
});
