import assert from 'node:assert/strict';
import { fixesFor } from '../../server/src/advice/fixes';
import { fixCard } from '../../server/src/features/advice-cards';
import { editorBreakdown } from '../../server/src/features/try';
import { RUSSIAN } from '../../server/src/wording/russian';
import { speak } from '../../server/src/wording/say';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import { PUBLISHED_RECIPES } from '../unit/advice/published-recipes';
import { layoutFaults } from './layout';
import { openPanel, type PanelPage, suiteBrowser } from './panel-page';

const FOLDER = 'file:///project';
const SCREEN = { width: 800, height: 900 };
/** Of the recipes so many are skipped from one to the next; Russian words are longer, and the runs are the same. */
const EVERY = { en: 2, ru: 3 } as const;

/** Runs of people at their plain configs: one look has to answer whether it fits, what takes the memory, and what to do. */
describe('the first screen of a run that does not fit', function () {
  this.timeout(120_000);
  let panel: PanelPage;
  const browser = suiteBrowser(() => panel);
  afterEach(() => speak('en', undefined));

  for (const language of ['en', 'ru'] as const)
    for (const { name, files } of PUBLISHED_RECIPES.filter((_, index) => index % EVERY[language] === 0))
      it(`has verdict, parts and a fix, ${language}: ${name}`, async () => {
        const bundle = language === 'ru' ? RUSSIAN : undefined;
        speak(language, bundle);
        const texts = Object.entries(files).map(([file, text]) => [`${FOLDER}/${file}`, text]);
        const workspace = new Workspace(new MemoryHost(Object.fromEntries(texts), { folders: [FOLDER] }));
        const [file = ''] = Object.keys(files);
        const analysis = await workspace.analyze(`${FOLDER}/${file}`);
        assert.ok(analysis?.estimate);
        const fixes = (await fixesFor(analysis, workspace)).map((fix) => fixCard(fix, [FOLDER]));
        assert.ok(fixes.length > 0);
        panel = await openPanel(browser(), SCREEN);
        const breakdown = editorBreakdown(analysis, 1);
        const content = { kind: 'breakdown', file, breakdown } as const;
        await panel.show(content, { uri: breakdown.file, language, bundle });
        await panel.post({ type: 'fixes', fixes });
        for (const selector of [
          'h1',
          '[data-key=apply-fix-0]',
          '.component-bar',
          ...[0, 1, 2].map((row) => `.sized-legend li >> nth=${row}`),
        ]) {
          const box = await panel.page.locator(selector).first().boundingBox();
          const isSeen = box && box.y >= 0 && box.y + box.height <= SCREEN.height;
          assert.ok(isSeen, `${selector}: ${JSON.stringify(box)}`);
        }
        assert.deepEqual(await layoutFaults(panel.page), []);
      });
});
