import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** What the buttons of the walkthrough do that lead away from configs that are open. */
describe('buttons of the walkthrough, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench();
    ({ page } = workbench);
    // A palette that opens before extensions are known has none of their commands.
    await workbench.openFile('tasks.json');
  });
  after(() => workbench?.stop());

  /** Presses a button of a step, which is unfolded first. */
  const press = async (title: string, button: string): Promise<void> => {
    await workbench.command('Oomlint: Get Started');
    const step = page.locator('.getting-started-step', { hasText: title });
    await step.waitFor();
    const found = step.locator('.monaco-button', { hasText: button });
    if (!(await found.isVisible())) await step.click();
    await workbench.pictures(`walkthrough-${button.toLowerCase().replaceAll(/\W+/g, '-')}`);
    await found.click();
  };
  const isTicked = (title: string) =>
    page
      .locator('.getting-started-step', { hasText: title })
      .locator('.codicon-getting-started-step-checked');

  it('open a file', async () => {
    await press('Open a training config', 'Open File');
    await page.locator('.quick-input-title', { hasText: 'Open File' }).waitFor();
    const input = page.locator('.quick-input-widget input:focus');
    await input.waitFor();
    await input.fill(`${workbench.folder}/ds_config.json`);
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'ds_config.json' }).first().waitFor();
    await page.locator('.quick-input-widget .monaco-button', { hasText: 'OK' }).click();
    await page.locator('.tab.active', { hasText: 'ds_config.json' }).waitFor();
    await page.locator('.codelens-decoration a', { hasText: 'GiB' }).first().waitFor();
    await workbench.command('Oomlint: Get Started');
    await isTicked('Open a training config').waitFor();
  });

  it('teach flags: a first vocabulary is there to be changed, and teaches', async () => {
    await press('Teach your own flags', 'Teach Your Own Flags');
    await page.locator('.tab.active', { hasText: 'oomlint-flags.yaml' }).waitFor();
    await page.locator('.view-line', { hasText: 'our_batch:' }).first().waitFor();
    await workbench.pictures('walkthrough-first-vocabulary');
    await page.keyboard.press('Control+S');
    assert.match(await workbench.fileText('oomlint-flags.yaml'), /our_batch:[\s\S]*sets: batch\.micro/);
    await workbench.command('Oomlint: Get Started');
    await isTicked('Teach your own flags').waitFor();
  });
});
