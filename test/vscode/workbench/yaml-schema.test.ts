import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { serveVsCode } from '../../../scripts/served-vscode.mjs';
import { ROOT } from '../../page/panel-page';
import { openWorkbench, type Workbench } from './workbench';

/** A key of the first level, of a file of each kind that has a schema of ours, and its sentence in both languages. */
const KEYS = [
  ['sft.yaml', 'gradient_accumulation_steps', 'hf-training-arguments'],
  ['oomlint.yaml', 'defaults', 'project-file'],
].map(([file = '', key = '', name]) => {
  const schema = JSON.parse(
    readFileSync(path.join(ROOT, 'server', 'schemas', `${name}.schema.json`), 'utf8'),
  );
  const en: string = schema.properties[key].description;
  const ru: string = JSON.parse(readFileSync(path.join(ROOT, 'l10n', 'keys.ru.json'), 'utf8'))[en];
  return { file, key, en, ru };
});

/** A person who has the YAML extension, too: it shows what our schema states, in the language of the person and once. */
describe('a hover beside the YAML extension, in the workbench', function () {
  this.timeout(300_000);
  let workbench: Workbench | undefined;

  const withYaml = async (folder: string) => {
    const extensions = [path.join(ROOT, 'test', 'vscode', 'yaml-extension')];
    const server = await serveVsCode({ extensions });
    return { address: server.url(folder, ROOT), stop: () => server.stop() };
  };
  afterEach(async () => {
    await workbench?.stop();
    workbench = undefined;
  });

  for (const language of ['en', 'ru'] as const)
    it(`explains a key once, and in one language: ${language}`, async () => {
      workbench = await openWorkbench(undefined, language === 'en' ? undefined : language, withYaml);
      const { page } = workbench;
      for (const { file, key: name, en, ru } of KEYS) {
        assert.ok(en.length > 20 && ru.length > 20);
        const [sentence, other] = language === 'en' ? [en, ru] : [ru, en];
        await workbench.openFile(file);
        const key = page.locator('.view-line span', { hasText: new RegExp(`^${name}$`) }).last();
        const shown = page.locator('.monaco-hover:not(.hidden)', { hasText: sentence }).first();
        let text = '';
        // The schema is asked for once the server has found the family: until then a hover has the answer of one of the two.
        for (let left = 10; left > 0 && !text.includes(sentence); left--) {
          await page.mouse.move(900, 700);
          await page.keyboard.press('Escape');
          await page.waitForTimeout(500);
          await key.hover();
          await shown.waitFor({ timeout: 3_000 }).catch(() => undefined);
          await page.waitForTimeout(500);
          text = (await shown.isVisible()) ? (await shown.innerText()).replaceAll('\u00a0', ' ') : '';
        }
        assert.equal(text.split(sentence).length - 1, 1, text);
        assert.ok(!text.includes(other), text);
        await workbench.picture(`yaml-hover-${language}-${name}`);
      }
    });
});
