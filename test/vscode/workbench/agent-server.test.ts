import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const { contributes } = JSON.parse(readFileSync('package.json', 'utf8'));
/** The chat's tools, which are the server's. */
const TOOLS: number = contributes.languageModelTools.length;

/** Agents in the editor that take their tools from servers of the Model Context Protocol. */
describe('the server for agents that the editor offers', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;
  const entry = (text: string | RegExp) => page.locator('.quick-input-list-row', { hasText: text }).first();

  const settings = (values: Readonly<Record<string, unknown>>) =>
    writeFile(
      path.join(workbench.folder, '.vscode', 'settings.json'),
      JSON.stringify({ 'chat.disableAIFeatures': false, ...values }),
    );
  const servers = async () => {
    await workbench.command('MCP: List Servers');
    await entry('Add Server').waitFor();
  };

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await mkdir(path.join(folder, '.vscode'));
      // The editor of the other tests has no chat.
      await writeFile(
        path.join(folder, '.vscode', 'settings.json'),
        JSON.stringify({ 'chat.disableAIFeatures': false }),
      );
    });
    ({ page } = workbench);
    await workbench.openFile('ds_config.json');
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
  });
  after(() => workbench?.stop());

  it('is not there before somebody asks for it: the chat has the same tools', async () => {
    await servers();
    assert.equal(await entry('Oomlint').count(), 0);
    await page.keyboard.press('Escape');
  });

  it('is started by the editor, and has the tools', async () => {
    await settings({ 'oomlint.agents.mcpServer': true });
    await servers();
    await entry('Oomlint').click();
    await entry('Start Server').click();
    await page
      .locator('.output-view, .panel .monaco-editor', { hasText: `Discovered ${TOOLS} tools` })
      .first()
      .waitFor();
    await workbench.picture('agent-server');
  });
});
