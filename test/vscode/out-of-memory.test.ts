import assert from 'node:assert/strict';
import {
  commands,
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

  it('is explained in a preview', async () => {
    const argument = { uri: document.uri.toString(), line: 1 };
    const explained = commands.executeCommand('oomlint.explainOutOfMemory', argument);
    const shown = await eventually(
      async () => {
        // Where configs are open it asks for that of the run; nobody says.
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
  });
});
