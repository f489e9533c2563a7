import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

/** A config that names neither model nor GPU, in a folder that names none either: a person states them. */
describe('choosing model and GPU in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      const project = path.join(folder, 'oomlint.yaml');
      await writeFile(project, 'targets:\n  gpus: 8\ndefaults:\n  sequence: 4096\n');
    });
    ({ page } = workbench);
    await workbench.openFile('ds_config.json');
  });
  after(() => workbench?.stop());

  const lens = (pattern: RegExp) => page.locator('.codelens-decoration a', { hasText: pattern }).first();
  const project = () => workbench.fileText('oomlint.yaml');

  /** Writing goes on beside the list that closed. */
  async function written(what: RegExp): Promise<void> {
    for (let tries = 0; tries < 100 && !what.test(await project()); tries++) await page.waitForTimeout(100);
    assert.match(await project(), what);
  }

  /** Types a search into the list that is open, and takes the first that it finds with the Enter key. */
  async function searchAndAccept(title: RegExp, search: string, found: RegExp, name?: string): Promise<void> {
    await page.locator('.quick-input-title', { hasText: title }).waitFor();
    // A list that another one takes the place of is to be seen for a moment more, without the keys.
    await page.locator('.quick-input-widget input:focus').waitFor();
    await page.keyboard.type(search);
    const focused = page.locator('.quick-input-list .monaco-list-row.focused .label-name', {
      hasText: found,
    });
    await focused.waitFor();
    if (name !== undefined) await workbench.pictures(name);
    await page.keyboard.press('Enter');
  }

  it('reports above the config what is missing', async () => {
    await lens(/needs .*model.*GPU|needs .*GPU.*model/i).waitFor();
  });

  it('asks for it from a search of what fits, too', async () => {
    await workbench.command('Oomlint: What Fits?');
    const answer = page.locator('.notification-list-item', { hasText: 'The search starts from an estimate' });
    // A served editor keeps notifications in its bell.
    await page.locator('[id="status.notifications"]').click();
    await answer.first().waitFor();
    await answer.locator('.monaco-button', { hasText: 'Set Missing Values' }).first().click();
    await page.locator('.quick-input-title', { hasText: 'Model (1 of 2)' }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('asks from the lens for one after the other, goes back, and reports what was chosen before it is written', async () => {
    const before = await project();
    await lens(/needs/).click();
    await searchAndAccept(/^Model \(1 of 2\)$/, 'llama 3.1 8b', /^meta-llama\/Llama-3\.1-8B$/);
    await page.locator('.quick-input-title', { hasText: 'GPU (2 of 2)' }).waitFor();
    await page.locator('.quick-input-titlebar .codicon-quick-input-back').click();
    await searchAndAccept(/^Model \(1 of 2\)$/, 'qwen2.5 7b', /^Qwen\/Qwen2\.5-7B$/);
    await searchAndAccept(/^GPU \(2 of 2\)$/, 'h100', /^H100-SXM5-80GB$/);
    await page.locator('.quick-input-title', { hasText: 'Save Where?' }).waitFor();
    const chosen = await page.locator('.quick-input-box input').getAttribute('placeholder');
    assert.match(chosen ?? '', /^Model: Qwen\/Qwen2\.5-7B · GPU: H100-SXM5-80GB$/);
    await workbench.pictures('save-where');
    await page.keyboard.press('Escape');
    assert.equal(await project(), before);
  });

  for (const { what, title, spellings } of [
    {
      what: 'model',
      title: 'Oomlint: Choose Model',
      spellings: [
        ['llama 3.1 8b', 'meta-llama/Llama-3.1-8B'],
        ['qwen2.5 7b', 'Qwen/Qwen2.5-7B'],
        ['deepseek v3', 'deepseek-ai/DeepSeek-V3'],
        ['gemma 2 9b', 'google/gemma-2-9b'],
      ],
    },
    {
      what: 'GPU',
      title: 'Oomlint: Choose GPU',
      spellings: [
        ['h100', 'H100-SXM5-80GB'],
        ['a100', 'A100-SXM4-40GB'],
      ],
    },
  ] as const)
    it(`has under Enter the ${what} that a person means, and what is typed itself below, marked`, async () => {
      await workbench.command(title);
      // The palette that the command was picked from has a field for text, too.
      await page.locator('.quick-input-title', { hasText: /^(?:GPU|Model)$/ }).waitFor();
      const input = page.locator('.quick-input-widget input');
      const rows = page.locator('.quick-input-list .monaco-list-row');
      for (const [typed, meant] of spellings) {
        await input.fill(typed);
        // The name alone, and no longer one that begins with it.
        await rows.locator('.label-name', { hasText: new RegExp(`^${meant}$`) }).waitFor();
        const focused = page.locator('.quick-input-list .monaco-list-row.focused');
        await focused.locator('.label-name', { hasText: new RegExp(`^${meant}$`) }).waitFor();
        const asTyped = rows.filter({ hasText: 'As typed' });
        for (const row of await asTyped.all()) {
          assert.equal(await row.locator('.codicon-warning').count(), 1);
          const at = async (one: typeof row) => Number(await one.getAttribute('data-index'));
          assert.ok((await at(row)) > (await at(focused)), typed);
        }
      }
      await workbench.picture(`choose-${what.toLowerCase()}-as-typed`);
      await page.keyboard.press('Escape');
    });

  it('takes what is meant where Enter comes before the rows', async () => {
    for (const [title, typed, meant] of [
      ['Oomlint: Choose GPU', 'h100', 'H100-SXM5-80GB'],
      ['Oomlint: Choose Model', 'Qwen3-8B', 'Qwen/Qwen3-8B'],
      ['Oomlint: Choose GPU', 'a100', 'A100-SXM4-40GB'],
      ['Oomlint: Choose Model', 'llama 3.1 8b', 'meta-llama/Llama-3.1-8B'],
    ] as const) {
      await workbench.command(title);
      await page.locator('.quick-input-title', { hasText: /GPU|Model/ }).waitFor();
      await page.keyboard.type(typed);
      await page.keyboard.press('Enter');
      await page.locator('.quick-input-title', { hasText: /Save Where/ }).waitFor();
      const shown = await page.locator('.quick-input-widget input').first().getAttribute('placeholder');
      assert.match(shown ?? '', new RegExp(`: ${meant}$`), typed);
      await page.keyboard.press('Escape');
    }
  });

  it('takes what is meant however fast it is typed, time after time', async () => {
    // Of neighbours that begin alike, each with the one before it in the memory of the list.
    const cards = [
      ['h200', 'H200-SXM-141GB'],
      ['h100', 'H100-SXM5-80GB'],
      ['h100 nvl', 'H100-NVL-94GB'],
      ['a100', 'A100-SXM4-40GB'],
      ['a100 80gb', 'A100-SXM4-80GB'],
      ['l40s', 'L40S'],
    ] as const;
    const pauses = [0, 5, 20, 60];
    for (let round = 0; round < 4; round++)
      for (const [at, [typed, meant]] of cards.entries()) {
        const delay = pauses[(round + at) % pauses.length];
        await workbench.command('Oomlint: Choose GPU');
        await page.locator('.quick-input-title', { hasText: /^GPU$/ }).waitFor();
        await page.keyboard.type(typed, { delay });
        await page.keyboard.press('Enter');
        await page.locator('.quick-input-title', { hasText: /Save Where/ }).waitFor();
        const shown = await page.locator('.quick-input-widget input').first().getAttribute('placeholder');
        assert.match(shown ?? '', new RegExp(`: ${meant}$`), `${typed}, ${delay} ms between keys`);
        await page.keyboard.press('Escape');
      }
  });

  it('takes the row that a person went to right after the rows were drawn', async () => {
    await workbench.command('Oomlint: Choose GPU');
    await page.locator('.quick-input-title', { hasText: 'GPU' }).waitFor();
    await page.keyboard.type('rtx 40');
    const focused = page.locator('.quick-input-list .monaco-list-row.focused .label-name');
    // The row of what is typed comes with the rows for its last letter.
    await page.locator('.quick-input-list .monaco-list-row', { hasText: /As typed.*rtx 40/ }).waitFor();
    const first = (await focused.first().innerText()).trim();
    await page.keyboard.press('ArrowDown');
    const other = (await focused.first().innerText()).trim();
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-title', { hasText: /Save Where/ }).waitFor();
    const shown = await page.locator('.quick-input-widget input').first().getAttribute('placeholder');
    assert.match(other, /^RTX/);
    assert.notEqual(other, first);
    assert.ok(shown?.endsWith(`: ${other}`), `${shown} for ${other}`);
    await page.keyboard.press('Escape');
  });

  it('finds a model, and writes it', async () => {
    await workbench.command('Oomlint: Choose Model');
    await searchAndAccept(/Model/, 'Qwen3-8B', /^Qwen\/Qwen3-8B$/, 'choose-model');
    await searchAndAccept(/Save Where/, 'this config', /for this config/);
    // The person stays where the answer shows; the file states it for this config alone.
    await written(/match: \/?ds_config\.json\n {4}model: Qwen\/Qwen3-8B/);
    assert.ok(await page.locator('.tab.active', { hasText: 'ds_config.json' }).isVisible());
  });

  it('finds a GPU, writes it, and the estimate appears', async () => {
    await workbench.openFile('ds_config.json');
    await workbench.command('Oomlint: Choose GPU');
    // An alias: of the names that begin so, the card that it belongs to is taken.
    await searchAndAccept(/GPU/, 'h200', /^H200-SXM-141GB$/, 'choose-gpu');
    await searchAndAccept(/Save Where/, 'this config', /for this config/);
    await written(/gpu: H200-SXM-141GB$/m);
    await lens(/^\s*Fits: [\d.]+ of 1\d\d\.\d GiB · Qwen3-8B · 8×H200/).waitFor();
  });

  it('has what the workspace trains first, then what many train, and the catalog last', async () => {
    for (const [name, model] of [
      ['a.yaml', 'google/gemma-2-9b'],
      ['b.yaml', 'google/gemma-2-9b'],
      ['c.yaml', 'Qwen/Qwen3-8B'],
      ['d.yaml', 'Qwen/Qwen3-8B'],
    ] as const)
      await writeFile(
        path.join(workbench.folder, name),
        `base_model: ${model}\nadapter: lora\nlora_r: 8\nmicro_batch_size: 1\nsequence_len: 1024\ndatasets:\n  - path: x\n    type: alpaca\n`,
      );
    const rows = page.locator('.quick-input-list .monaco-list-row');
    const groupOf = (text: RegExp) =>
      rows.filter({ has: page.locator('.quick-input-list-separator', { hasText: text }) });
    for (const [title, first, name] of [
      ['Oomlint: Choose Model', /^Qwen\/Qwen3-8B3 configs · /, 'choose-model-groups'],
      ['Oomlint: Choose GPU', /^H200-SXM-141GB1 config · /, 'choose-gpu-groups'],
    ] as const) {
      // Folders that take long to look through are there the next time.
      for (let left = 5; ; left--) {
        await workbench.command(title);
        await page.locator('.quick-input-title', { hasText: /^(?:GPU|Model)$/ }).waitFor();
        const own = groupOf(/^In this workspace$/);
        if (
          await own
            .first()
            .waitFor({ timeout: 3_000 })
            .then(
              () => true,
              () => false,
            )
        )
          break;
        assert.ok(left > 0, 'the configs of the workspace are found');
        await page.keyboard.press('Escape');
      }
      await groupOf(/^Popular$/)
        .first()
        .waitFor();
      const drawn = () =>
        rows.evaluateAll((all) =>
          all.map((row) => [
            row.querySelector('.quick-input-list-separator')?.textContent ?? '',
            `${row.querySelector('.label-name')?.textContent}${row.querySelector('.label-description')?.textContent}`,
          ]),
        );
      let places = await drawn();
      // What was found before stands there at once; what is found now takes its place.
      for (let left = 30; left > 0 && !first.test(places[0]?.[1] ?? ''); left--) {
        await page.waitForTimeout(100);
        places = await drawn();
      }
      const titles = places.map(([group]) => group).filter((group) => group !== '');
      assert.equal(titles[0], 'In this workspace');
      assert.ok(titles.indexOf('Popular') > 0, titles.join(', '));
      assert.match(places[0]?.[1] ?? '', first);
      await workbench.pictures(name);
      await page.keyboard.press('Escape');
    }
  });

  it('ticks the step of the walkthrough that is about the GPU', async () => {
    await workbench.command('Oomlint: Get Started');
    await page
      .locator('.getting-started-step', { hasText: 'Choose your GPU' })
      .locator('.codicon-getting-started-step-checked')
      .waitFor();
    await workbench.openFile('ds_config.json');
  });

  it('explains and completes the file that it was written to', async () => {
    await workbench.openFile('oomlint.yaml');
    await lens(/^Used by \d configs?(?:, \d do(?:es)? not fit)?$/).waitFor();
    await page.locator('.view-line span', { hasText: 'targets' }).last().hover();
    const hover = page.locator('.monaco-hover', { hasText: 'ds_config.json' }).first();
    await hover.waitFor();
    const text = (await hover.innerText()).replaceAll('\u00a0', ' ');
    assert.match(text, /The hardware that the runs below this folder go to/);
    assert.match(text, /ds_config\.json \(Fits: [\d.]+ of 1\d\d\.\d GiB\)/);
    await workbench.pictures('project-file-hover');
    await page.keyboard.press('Control+End');
    await page.keyboard.type('rules:');
    await page.keyboard.press('Enter');
    await page.keyboard.type('  tight: ');
    const row = page.locator('.suggest-widget .monaco-list-row', { hasText: 'information' });
    await row.waitFor();
    await workbench.pictures('project-file-completion');
    await page.keyboard.press('Escape');
  });
});
