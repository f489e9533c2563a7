import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { serveVsCode } from '../../../scripts/served-vscode.mjs';
import { ROOT } from '../../page/panel-page';
import { openWorkbench, type Workbench } from './workbench';

const KEY = 'gradient_accumulation_steps';

const schema = JSON.parse(
  readFileSync(path.join(ROOT, 'server', 'schemas', 'hf-training-arguments.schema.json'), 'utf8'),
);
const ENGLISH: string = schema.properties[KEY].description;
const RUSSIAN: string = JSON.parse(readFileSync(path.join(ROOT, 'l10n', 'keys.ru.json'), 'utf8'))[ENGLISH];

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

  for (const [language, sentence, other] of [
    ['en', ENGLISH, RUSSIAN],
    ['ru', RUSSIAN, ENGLISH],
  ] as const)
    it(`explains a key once, and in one language: ${language}`, async () => {
      assert.ok(ENGLISH.length > 20 && RUSSIAN.length > 20);
      workbench = await openWorkbench(undefined, language === 'en' ? undefined : language, withYaml);
      const { page } = workbench;
      await workbench.openFile('sft.yaml');
      await page
        .locator('.codelens-decoration', { hasText: language === 'en' ? 'GiB' : 'ГиБ' })
        .first()
        .waitFor();
      const key = page.locator('.view-line span', { hasText: new RegExp(`^${KEY}$`) }).last();
      const shown = page.locator('.monaco-hover:not(.hidden)', { hasText: KEY }).first();
      let text = '';
      // The schema is asked for once the server has found the family: until then a hover has the answer of one of the two.
      for (let left = 10; left > 0 && !text.includes(sentence); left--) {
        await page.mouse.move(900, 700);
        await page.keyboard.press('Escape');
        await page.waitForTimeout(500);
        await key.hover();
        await shown.waitFor();
        await page.waitForTimeout(500);
        text = (await shown.innerText()).replaceAll('\u00a0', ' ');
      }
      assert.equal(text.split(sentence).length - 1, 1, text);
      assert.ok(!text.includes(other), text);
      await workbench.picture(`yaml-hover-${language}`);
    });
});
