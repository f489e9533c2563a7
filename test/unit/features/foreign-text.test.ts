import assert from 'node:assert/strict';
import { completions } from '../../../server/src/features/completion/completion';
import { hover } from '../../../server/src/features/hover';
import { escapeMarkdown } from '../../../server/src/features/markdown';
import { RUSSIAN } from '../../../server/src/wording/russian';
import { speak } from '../../../server/src/wording/say';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///w';
const DOC =
  '![x](https://evil.example/track.png) [Open the guide](command:oomlint.supply?x) <img src=x> https://evil.example $(zap) www.evil.example a@evil.example';

function workspaceWith(doc: string, key: string) {
  return new Workspace(
    new MemoryHost(
      {
        [`${ROOT}/oomlint-flags.yaml`]: `keys:\n  ${key}:\n    type: integer\n    doc: "${doc}"\n    unit: "${doc}"\n    sets: { batch.micro: value }\n`,
        [`${ROOT}/run.flags`]: `${key}=4\n`,
      },
      { folders: [ROOT] },
    ),
  );
}

describe('text that a file of the workspace brings', () => {
  it('is shown as it stands: nothing is fetched and nothing can be pressed', async () => {
    const workspace = workspaceWith(DOC, 'ads_samples');
    const analysis = await workspace.analyze(`${ROOT}/run.flags`);
    assert.ok(analysis);
    const shown = hover(analysis, { line: 0, character: 2 })?.markdown ?? '';
    const { text, document, dialect, reading } = (await workspace.readText(`${ROOT}/run.flags`, 'ads_')) ?? {
      text: '',
      ...analysis,
    };
    const offered = await completions({
      text,
      position: { line: 0, character: 4 },
      document,
      dialect,
      reading,
    });
    for (const markdown of [shown, ...offered.map(({ documentation = '' }) => documentation)]) {
      assert.ok(!/(?<!\\)!?\[[^\]]*(?<!\\)\]\((https:\/\/evil|command:)/.test(markdown), markdown);
      assert.ok(!/(?<!\\)<img|(?<!&#58;)https:\/\/evil|\$\(zap|www\.evil|a@evil/.test(markdown), markdown);
    }
    assert.ok(shown.includes('track.png'), shown);
  });

  it('is never mistaken for a name of the language itself', async () => {
    speak('ru', RUSSIAN);
    try {
      const analysis = await workspaceWith('constructor', 'constructor').analyze(`${ROOT}/run.flags`);
      const shown = analysis && hover(analysis, { line: 0, character: 2 })?.markdown;
      assert.ok(!shown?.includes('native code'), shown);
    } finally {
      speak('en', undefined);
    }
  });

  it('is escaped with what Markdown makes links and icons of', () => {
    assert.equal(escapeMarkdown('https://a.b'), 'https&#58;//a.b');
    assert.equal(escapeMarkdown('$(zap) www.a.b x@y'), '&#36;(zap) www&#46;a.b x&#64;y');
  });
});
