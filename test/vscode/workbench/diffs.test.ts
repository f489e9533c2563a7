import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { openWorkbench, type Workbench } from './workbench';

const run = promisify(execFile);

const git = (folder: string, ...args: string[]) =>
  run('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], { cwd: folder });

const FILE = 'ds_config.json';

/** A person changes a committed config, and looks at the change in Source Control. */
describe('what a change costs, in the workbench', function () {
  this.timeout(600_000);
  let workbench: Workbench;
  let page: Page;

  before(async () => {
    workbench = await openWorkbench(async (folder) => {
      await git(folder, 'init', '--quiet');
      await git(folder, 'add', '.');
      await git(folder, 'commit', '--quiet', '--message', 'Configs');
    });
    ({ page } = workbench);
    await workbench.openFile(FILE);
    await page.locator('.codelens-decoration', { hasText: 'GiB' }).first().waitFor();
  });
  after(() => workbench?.stop());

  const lens = () => page.locator('.codelens-decoration a', { hasText: 'vs HEAD' });

  /** The editor's Git looks at the folder in its own time, and opens nothing before. */
  const openChanges = async () => {
    const diff = page.locator('.monaco-diff-editor');
    for (let left = 8; left > 0 && !(await diff.isVisible()); left--) {
      await workbench.command('Git: Open Changes');
      await diff.waitFor({ timeout: 3_000 }).catch(() => undefined);
    }
  };

  /** Types another micro batch over the one that stands there. */
  const changeBatch = async (from: number, to: number, editor = page.locator('.editor-instance')) => {
    await editor.locator('.view-line', { hasText: 'bf16' }).first().click();
    await page.keyboard.press('Control+F');
    await page.keyboard.type(`_per_gpu": ${from}`);
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowRight');
    for (const _ of String(from)) await page.keyboard.press('Backspace');
    await page.keyboard.type(String(to));
  };

  /** What stands behind the lines of one side of the diff, each after its line; the editor draws it by a style sheet. */
  const behindLines = (side: 'original' | 'modified') =>
    page.locator(`.monaco-diff-editor .editor.${side} .view-line`).evaluateAll((lines) =>
      lines.flatMap((line) =>
        [...line.querySelectorAll('span')].flatMap((span) => {
          const { content } = getComputedStyle(span, '::after');
          return content.startsWith('"') ? [`${line.textContent} ${content}`.replaceAll('\u00a0', ' ')] : [];
        }),
      ),
    );
  const untilBehind = async (side: 'original' | 'modified', pattern: RegExp) => {
    let found: readonly string[] = [];
    for (const end = Date.now() + 30_000; Date.now() < end; await page.waitForTimeout(100)) {
      found = await behindLines(side);
      if (found.some((line) => pattern.test(line))) return found;
    }
    return assert.fail(`${pattern} stands nowhere: ${JSON.stringify(found)}`);
  };

  /** How far the figure behind a line ends before the edge of its side, in pixels; an editor has its scroll bar and its overview there. */
  const roomBehindFigure = (figure: string) =>
    page.locator('.monaco-diff-editor .editor.modified').evaluate((editor, text) => {
      const edge = editor.querySelector('.monaco-scrollable-element.editor-scrollable') ?? editor;
      const label = [...editor.querySelectorAll('.view-line span')].find((span) =>
        getComputedStyle(span, '::after').content.startsWith(`"${text}`),
      );
      if (!label) return Number.NaN;
      const { content, marginLeft } = getComputedStyle(label, '::after');
      const { left, width } = label.getBoundingClientRect();
      const gap = Number.parseFloat(marginLeft);
      const letter = (width - gap) / (content.length - '""'.length);
      return edge.getBoundingClientRect().right - (left + gap + letter * text.length);
    }, figure);

  it('stands above the config as soon as it differs from its last commit, before it is saved', async () => {
    assert.equal(await lens().count(), 0);
    await changeBatch(1, 4);
    await lens()
      .filter({ hasText: /^\+[\d.]+ GiB vs HEAD$/ })
      .first()
      .waitFor();
    const title = await lens().first().getAttribute('title');
    assert.match(
      title ?? '',
      /^Against HEAD: peak \+[\d.]+ GiB, step \+[\d.]+ s, [\d.]+× faster per token, global batch [\d,]+ → [\d,]+, fits → does not fit$/,
    );
    await workbench.pictures('head-lens');
  });

  it('stands in the diff, behind the line that changes it, and follows what is typed there', async () => {
    await page.keyboard.press('Control+s');
    await openChanges();
    const modified = page.locator('.monaco-diff-editor .editor.modified');
    await modified.locator('.view-line', { hasText: 'train_micro_batch' }).first().waitFor();
    await workbench.picture('diff-opened');
    const costs = await untilBehind(
      'modified',
      /_gpu": 4,.*"\+\d+ GiB, fits → does not fit, [\d.]+× faster per token"$/,
    );
    assert.equal(costs.length, 1, 'what did not change costs nothing');
    await workbench.pictures('diff-cost');
    assert.ok((await roomBehindFigure('+91 GiB')) >= 0, 'the figure is cut');
    await changeBatch(4, 16, modified);
    const [long = ''] = await untilBehind('modified', /_gpu": 16,.*"\+\d{3} GiB/);
    await workbench.picture('diff-cost-long');
    assert.ok((await roomBehindFigure(/\+\d+ GiB/.exec(long)?.[0] ?? '')) >= 0, `${long} is cut`);
    await changeBatch(16, 2, modified);
    await untilBehind('modified', /_gpu": 2,.*"\+[\d.]+ GiB, fits → may not fit.*"$/);
  });

  it('leads to the comparison in the panel', async () => {
    await page.keyboard.press('Control+s');
    await workbench.openFile(FILE);
    await lens().first().click();
    const frame = await workbench.panel(FILE);
    await frame.locator('h2', { hasText: `${FILE} compared with HEAD` }).waitFor();
    assert.equal(await frame.locator('[data-key=tab-compare]').getAttribute('aria-selected'), 'true');
  });

  it('is gone once the change is committed', async () => {
    assert.match(await workbench.fileText(FILE), /_per_gpu": 2,/);
    // The editor looks at the repository again only while its window has the focus.
    await workbench.openFile(FILE);
    await git(workbench.folder, 'commit', '--quiet', '--all', '--message', 'Two samples');
    await lens().first().waitFor({ state: 'detached' });
  });

  it('stands where a key was that is gone', async () => {
    const file = path.join(workbench.folder, FILE);
    const text = await workbench.fileText(FILE);
    await writeFile(file, text.replace(/\s*"stage": 3,/, ''));
    await lens().first().waitFor();
    await openChanges();
    await untilBehind('original', /stage": 3,.*"\+/);
    await workbench.picture('diff-cost-removed');
  });

  const closeAll = async () => {
    await page.keyboard.press('Control+K');
    await page.keyboard.press('Control+W');
    await page.locator('.editor-group-container .tab').first().waitFor({ state: 'detached' });
  };

  it('stands in the diff of what is staged: the index beside the last commit', async () => {
    await closeAll();
    const text = await workbench.fileText(FILE);
    await writeFile(path.join(workbench.folder, FILE), text.replace('_per_gpu": 2', '_per_gpu": 8'));
    await git(workbench.folder, 'add', FILE);
    const staged = page.locator('.tab.active', { hasText: /Index/ });
    // The editor's Git may not know yet that the change is staged, and opens the diff of the working tree.
    for (let left = 6; left > 0 && !(await staged.isVisible()); left--) {
      if (left < 6) await closeAll();
      await workbench.openFile(FILE);
      await lens().first().waitFor();
      await openChanges();
      await staged.waitFor({ timeout: 3_000 }).catch(() => undefined);
    }
    await staged.waitFor();
    await untilBehind('modified', /_per_gpu": 8,.*"\+[\d.]+ GiB/);
    await untilBehind('original', /stage": 3,.*"\+/);
    await workbench.picture('diff-cost-staged');
  });

  it('stands above a changed oomlint.yaml, and behind its lines, for the configs that read it', async () => {
    await git(workbench.folder, 'commit', '--quiet', '--all', '--allow-empty', '--message', 'Eight samples');
    await closeAll();
    const project = 'oomlint.yaml';
    await workbench.openFile(project);
    await page.locator('.codelens-decoration a', { hasText: /^Used by \d+ configs/ }).waitFor();
    assert.equal(await lens().count(), 0);
    const file = path.join(workbench.folder, project);
    await writeFile(file, (await workbench.fileText(project)).replace('sequence: 4096', 'sequence: 32768'));
    const cost = lens().filter({ hasText: /^\S+ \+[\d.,]+ GiB and \d more configs? vs HEAD$/ });
    await cost.first().waitFor();
    const title = (await cost.first().getAttribute('title')) ?? '';
    assert.match(title, /^Against HEAD: [\w.]+: peak \+[\d.,]+ GiB/);
    assert.match(title, /ds_config\.json: peak \+/);
    await workbench.pictures('project-file-head-lens');
    await cost.first().click();
    await page.locator('.monaco-diff-editor').waitFor();
    await untilBehind('modified', /sequence: 32768.*"\+[\d.,]+ GiB.*\([\w.]+\)"$/);
    await workbench.pictures('project-file-diff');
  });
});
