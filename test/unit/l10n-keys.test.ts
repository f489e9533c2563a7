import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { KeySpec } from '../../server/src/dialects/dialect';
import { PROGRAMS } from '../../server/src/dialects/families';
import { ENVIRONMENT_KEYS, LAUNCHER_KEYS, SBATCH_KEYS } from '../../server/src/dialects/launch/launch-keys';
import { DIALECTS } from '../../server/src/dialects/registry';
import { RULE_KEYS, VOCABULARY_KEYS } from '../../server/src/dialects/vocabulary/vocabulary-keys';
import { FIELDS } from '../../server/src/run/fields';
import { PROJECT_SECTIONS } from '../../server/src/workspace/project-keys';
import { RULES } from '../../server/src/workspace/rules';
import { mayWait } from './translations';

type Texts = Readonly<Record<string, string>>;

const read = (file: string): Texts => JSON.parse(readFileSync(file, 'utf8'));
const KEYS = read('l10n/keys.ru.json');
const OF_FIELDS = read('l10n/fields.ru.json');
const OF_MESSAGES = read('l10n/messages.ru.json');
const OF_RULES = read('l10n/rules.ru.json');

const TABLES: readonly (readonly KeySpec[])[] = [
  ...DIALECTS.map(({ keys }) => keys),
  ...PROGRAMS.map(({ keys }) => keys),
  LAUNCHER_KEYS,
  ENVIRONMENT_KEYS,
  SBATCH_KEYS,
  VOCABULARY_KEYS,
  RULE_KEYS,
  PROJECT_SECTIONS,
];
const ABOUT_FIELDS = new Set<string>(Object.values(FIELDS).map(({ doc }) => doc));
const ABOUT_KEYS = new Set(
  TABLES.flat()
    .flatMap(({ doc, sentences }) => sentences?.map(([text]) => text) ?? [doc])
    .filter((text) => !ABOUT_FIELDS.has(text)),
);
/** Hovers, completions and schemas of an `oomlint.yaml` have them; some are the message of the problem, too. */
const ABOUT_RULES = new Set<string>(
  Object.values(RULES)
    .map(({ summary }) => summary)
    .filter((text) => !OF_MESSAGES[text]),
);

/** Code, links and emphasis, which a translation leaves as they are. */
const marks = (text: string) =>
  (text.match(/\]\([^)]*\)|`[^`]*`|\$\([\w-]+\)|\*\*|\{\d+/g) ?? []).sort().join();

/** Names alone are the same in every language. */
const isName = (text: string) => /^[\w./ -]+\.$/.test(text) && !/ [a-z]{3,}/.test(text);

for (const [what, texts, russian, file] of [
  ['keys', ABOUT_KEYS, KEYS, 'l10n/keys.ru.json'],
  ['run fields', ABOUT_FIELDS, OF_FIELDS, 'l10n/fields.ru.json'],
  ['rules', ABOUT_RULES, OF_RULES, 'l10n/rules.ru.json'],
] as const) {
  describe(`the Russian documentation of ${what}`, () => {
    it('covers every text of the tables', () => {
      assert.ok(texts.size > 100, `only ${texts.size} texts were found`);
      mayWait(
        [...texts].filter((text) => !russian[text]),
        `not in ${file}`,
      );
    });

    it('covers nothing else', () => {
      assert.deepEqual(
        Object.keys(russian).filter((text) => !texts.has(text)),
        [],
        `nothing says what stands in ${file}`,
      );
    });

    it('is Russian, but for names', () => {
      assert.deepEqual(
        Object.entries(russian).filter(([text, translation]) =>
          isName(text) ? false : !/[а-яё]{2}/i.test(translation) || text === translation,
        ),
        [],
      );
    });

    it('has the code, links and ends of the English text', () => {
      const wrong = Object.entries(russian).filter(
        ([text, translation]) =>
          marks(text) !== marks(translation) || /[.!?]$/.test(text) !== /[.!?]$/.test(translation),
      );
      assert.deepEqual(wrong, []);
    });

    it('has no words of the English text left over', () => {
      // Words of English grammar: names of frameworks and the terms of the field have none.
      const words = /\b(the|of|is|are|and|or|that|with|which|from|by|per|its|their|at|in|to)\b/i;
      const wrong = Object.entries(russian).filter(([, translation]) =>
        words.test(translation.replace(/`[^`]*`/g, '').replace(/mixture of (experts|depths)/i, '')),
      );
      assert.deepEqual(wrong, []);
    });
  });
}

/** Words of the field in Russian (CONTRIBUTING.md), and what else might be written for them. */
const WORDS: readonly (readonly [english: RegExp, other: RegExp])[] = [
  [/\bprompt/i, /запрос/i],
  [/\bhost\b/i, /хост/i],
  [/batch/i, /пакет(?!н)|бэтч/i],
  [/checkpoint/i, /контрольн\p{L}+ точ/iu],
  [/\boffload/i, /оффлоад/i],
  [/\bmaster/i, /мастер/i],
  [/\bshard/i, /шард/i],
  [/\bbucket/i, /бакет|корзин/i],
  [/\bfused/i, /слит(?:ый|ое|ые|ого)(?!\p{L})/iu],
  [/low.precision/i, /пониженн/i],
  [/\bloss scal/i, /функции потерь/i],
  [/\breward/i, /наград/i],
  [/\bpad/i, /заполнени|паддинг/i],
  [/\bdropout/i, /дропаут/i],
  [/\bcontext.parallel/i, /параллелизм\p{L}* контекста/iu],
  [/\bexpert.parallel/i, /параллелизм\p{L}* экспертов/iu],
  // A GPU is он.
  [/GPU/, /кажд(?:ая|ую) GPU|GPU[^.;]*, (?:а она|на каждую|на каждой)\b/u],
];

describe('Russian texts', () => {
  it('use one word for one thing', () => {
    const files = [
      'keys.ru.json',
      'fields.ru.json',
      'rules.ru.json',
      'details.ru.json',
      'messages.ru.json',
      'bundle.l10n.ru.json',
    ];
    const texts = files.flatMap((file) => Object.entries(read(`l10n/${file}`)));
    assert.deepEqual(
      texts.filter(([text, translation]) =>
        WORDS.some(([english, other]) => english.test(text) && other.test(translation)),
      ),
      [],
    );
  });
});
