import assert from 'node:assert/strict';
import { build } from 'esbuild';
import { MODULES } from '../../../scripts/modules.mjs';
import { RUSSIAN } from '../../../server/src/wording/russian';
import { type Bundle, say, speak } from '../../../server/src/wording/say';
import { markedKey, textKey } from '../../../server/src/wording/text-keys';

describe('keys of texts', () => {
  afterEach(() => speak('en', undefined));

  it('are five characters that stand in a string as they are', () => {
    for (const text of Object.keys(RUSSIAN)) assert.match(textKey(text), /^[#-[\]-x]{5}$/);
    assert.notEqual(textKey('Peak {0}'), textKey('Peak {1}'));
  });

  it('differ for all texts that have a translation', () => {
    const texts = Object.keys(RUSSIAN);
    assert.ok(texts.length > 4000);
    assert.equal(new Set(texts.map(textKey)).size, texts.length);
    assert.deepEqual(
      texts.filter((text) => text.startsWith(markedKey(''))),
      [],
    );
  });

  it('stand in what is built in place of the English texts, and all texts are found by them', async () => {
    const built = await builtBundle();
    const texts = Object.entries(RUSSIAN);
    assert.equal(Object.keys(built).length, texts.length);
    speak('ru', built);
    assert.deepEqual(
      texts.filter(([english, russian]) => say(english) !== russian),
      [],
    );
    assert.equal(say('Nobody translated {0}.', 'this'), 'Nobody translated this.');
    assert.equal(say('{0} {0|config|configs}', 5), '5 конфигов');
    // A language is no longer looked up where another is spoken.
    speak('ru', { GPU: 'карта' });
    assert.equal(say('GPU'), 'карта');
    assert.equal(say('{0} {0|config|configs}', 5), '5 configs');
  });
});

/** What a browser and a desktop get of the translations. */
async function builtBundle(): Promise<Bundle> {
  const { outputFiles } = await build({
    ...MODULES,
    banner: {},
    entryPoints: ['server/src/wording/russian.ts'],
    outdir: 'out/text-keys',
    write: false,
  });
  const [file, ...more] = outputFiles ?? [];
  assert.ok(file && more.length === 0);
  assert.doesNotMatch(file.text, /Nobody|gradient accumulation/);
  // `import` of a script that tests load is a `require`, which takes no address.
  const module = { exports: {} as { RUSSIAN: Bundle } };
  const { outputFiles: scripts } = await build({
    stdin: { contents: file.text },
    format: 'cjs',
    write: false,
  });
  new Function('module', scripts[0]?.text ?? '')(module);
  return module.exports.RUSSIAN;
}
