import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

type Texts = Readonly<Record<string, string>>;
const read = (file: string): Texts => JSON.parse(readFileSync(file, 'utf8'));

/** Every English text that a person may read: tests of the translations hold that each is used, and each that is used is here. */
const TEXTS = [
  ...['messages', 'details', 'keys', 'fields', 'rules'].flatMap((name) =>
    Object.keys(read(`l10n/${name}.ru.json`)),
  ),
  ...Object.keys(read('l10n/bundle.l10n.json')),
  ...Object.values(read('package.nls.json')),
];

/** What stood there when the words were reviewed, and what stands there since: by the field's usage, and without old words. */
const REWRITTEN: readonly (readonly [before: RegExp, since: RegExp])[] = [
  [/Where Shall It Be Written/, /^Save Where\?$/],
  [/How it is reckoned/i, /^Formula$/],
  [/Who says so/i, /^Source$/],
  [/^as fast$/, /^same$/],
  [/about \{0\} ?% (?:slower|faster)|times (?:slower|faster)/, /^\{0\}× slower$/],
  [/needs \{0\} of \{1\}/, /^Does not fit: needs \{0\}, \{1\} has \{2\} \(\{3\} over\)\.$/],
  [/weighs? most/, /^Largest: \{0\}, \{1\}\.$/],
  [/\bB x \{|G parameters/, /^\{1\} parameters × \{0\} \{0\|byte\|bytes\}$/],
  [/nothing at the peak/, /^not held at the peak \(\{0\}\)$/],
  [/model sees less context/, /^A shorter length cuts or splits longer samples\.$/],
  [/keeps no weights.*away/, /^Saves activations only\.$/],
  [/Where the time goes/, /^Time at peak hardware speed \(lower bound\)$/],
  [/Work (?:of a|per) step/, /^FLOPs per step$/],
  [/In PyTorch's terms/, /^As PyTorch reports it$/],
  [/stage of ZeRO/, /^ZeRO stage$/],
  [/preparation for k-bit/, /^prepare_model_for_kbit_training$/],
  [/held against/, /^GPU to check runs against where neither/],
  [/Run that this file is shown in/, /^Show as Part of Run$/],
  [/whichever that is/, /^Worst case$/],
  [/no other beats/, /best trade-offs of memory, time and cost$/],
  [/Weakest: any file/, /^Used only where no file says otherwise\.$/],
  [/Supply (?:Missing )?Facts/, /^Set Missing Values(?:\.\.\.)?$/],
  [/Not known yet/, /^Set \{0\|it\|them\} in an oomlint\.yaml beside this file or above it\.$/],
  [/Turn a knob/i, /^Change a value to see its effect\./],
  [/At the cursor: .*shape/, /^Key at cursor affects: /],
  [/^Behind the few keys/, /^Next to the keys that decide most of the memory\.$/],
  [/follow each key that you press/, /updates as you type/],
  [/stated twice: the later one counts/, /^"\{0\}" is a duplicate: the last one wins\.$/],
  [/^Nested mappings are not allowed here/, /^A second "key:" on the line: quote the value/],
  [/precision\.(?:weights|scheme)` \{/, /^\{0\} weights and compute, \{1\} masters$/],
  [/found by playing/, /^caching-allocator fragmentation: .* \(two steps simulated\)$/],
  [
    /beyond which no published run lies|hardly a published run/,
    /\(few published runs of this kind lie higher\)/,
  ],
  [/default of Oomlint/i, /^\{0\} default$/],
  [/Each kind of work alone/, /^Each at full hardware speed; in reality they overlap\.$/],
  [/Page to print|Figures as JSON/, /^Report \(HTML\)$/],
  [/No GPU called|can state its memory instead/, /^Unknown GPU "\{0\}"\./],
];

describe('texts that were reviewed', () => {
  for (const [before, since] of REWRITTEN)
    it(`read ${since.source} now`, () => {
      assert.deepEqual(
        TEXTS.filter((text) => before.test(text)),
        [],
      );
      assert.ok(
        TEXTS.some((text) => since.test(text)),
        'nobody says it',
      );
    });

  it('have one term for activation checkpointing, for the peak and for what a file sets', () => {
    const before =
      /gradient checkpointing|worst moment|rated speed|\bstated\b|(?<!whose )\bstates (?:it|the|a|what)\b|\b(?:not|to|and) state\b/i;
    assert.deepEqual(
      TEXTS.filter((text) => before.test(text)),
      [],
    );
  });

  it('have no old words', () => {
    const old = /\b(?:shall|reckon\w*|thereof|whereof|hereby|wherein|amidst|ought)\b/i;
    assert.deepEqual(
      TEXTS.filter((text) => old.test(text)),
      [],
    );
  });
});
