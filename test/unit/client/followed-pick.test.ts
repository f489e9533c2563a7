import assert from 'node:assert/strict';
import { type Answer, answerOf, answersTo, isNamed } from '../../../client/src/supply/answers';
import { followTyping } from '../../../client/src/supply/followed-pick';
import { accelerators } from '../../../server/data/gpus.json';
import models from '../../../server/data/models.json';
import { plainNumber } from '../../../server/src/shared/words';
import { FakePicker } from './fake-picker';

const GPUS = accelerators.map(({ name, aliases }) => ({ label: name, description: aliases.join(' · ') }));
/** Families that what is typed below meets, and no more: each letter ranks them all. */
const MODELS = models.models
  .filter(({ id }) => /Qwen3|Llama-3\.1|gemma-2/.test(id))
  .map(({ id }) => ({ label: id }));
const WORDS = { asTyped: 'As typed', notInCatalog: 'not in the catalog' };
const NAMES = { read: (typed: string) => typed, isNumber: false, words: WORDS };
const NUMBERS = {
  read: (typed: string) => (/^\d+$/.test(plainNumber(typed, true)) ? plainNumber(typed, true) : undefined),
  isNumber: true,
  words: WORDS,
};
const numbers = (...values: readonly number[]) => values.map((value) => ({ label: String(value) }));

/** What is next in a made-up order of events, the same for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    // The constants of Numerical Recipes; the upper bits are the good ones.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Lets all that settled say so. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function opened(atOnce: readonly Answer[]) {
  const pick = new FakePicker<Answer>();
  let choices = atOnce;
  let arrive: () => void = () => undefined;
  let isWhole = false;
  const whole = new Promise<void>((resolve) => {
    arrive = () => {
      isWhole = true;
      resolve();
    };
  });
  pick.items = atOnce;
  pick.flush();
  while (pick.reachWindow() || pick.reachExtension());
  const followed = followTyping<Answer>(pick, {
    rowsFor: (text) => answersTo(text, { ...NAMES, choices }),
    isSame: (one, other) => answerOf(one) === answerOf(other),
    untilDrawn: () => pick.drawn(),
    untilWhole: (text) => (isWhole || text === '' || isNamed(choices, text) ? undefined : whole),
  });
  const answer = { accepted: undefined as string | undefined, isAsked: false };
  return {
    pick,
    answer,
    enter: () =>
      pick.enter(() => {
        answer.isAsked = true;
        void followed.answer().then((row) => {
          answer.accepted ??= row && answerOf(row);
        });
      }),
    /** The catalog comes. */
    more: (all: readonly Answer[]) => {
      choices = all;
      followed.more();
      arrive();
    },
    async settle() {
      for (let idle = 0; idle < 4; ) {
        await new Promise((resolve) => setTimeout(resolve));
        await turn();
        idle = pick.reachWindow() || pick.reachExtension() ? 0 : idle + 1;
      }
    },
  };
}

describe('a list that is typed into, whatever order its events have', () => {
  const best = (text: string, choices: readonly Answer[]) => {
    const row = answersTo(text.trim(), { ...NAMES, choices }).best;
    return row && answerOf(row);
  };

  for (const { what, atOnce, all, typed } of [
    {
      what: 'GPUs',
      atOnce: GPUS,
      all: [{ label: 'RTX-5090-32GB' }, ...GPUS],
      typed: ['h100', 'h200', 'a100 ', 'rtx 40'],
    },
    {
      what: 'models',
      atOnce: [{ label: 'Qwen/Qwen3-32B' }, { label: 'meta-llama/Llama-3.1-8B-Instruct' }],
      all: MODELS,
      typed: ['qwen3-8b', 'llama 3.1 8b', 'gemma 2 9b ', 'my-own/model'],
    },
  ])
    it(`takes of ${what} what is meant by what stands there, or what is shown once that is drawn`, async () => {
      for (let seed = 1; seed <= 25; seed++) {
        const next = random(seed);
        const text = typed[next(typed.length)] ?? '';
        const letters = [...text];
        const list = opened(atOnce);
        let comes = 2 + next(20);
        while (letters.length > 0) {
          const event = next(5);
          if (event === 0) list.pick.type(letters.shift() ?? '');
          else if (event < 3) list.pick.reachWindow();
          else if (event === 3) list.pick.reachExtension();
          else await new Promise((resolve) => setTimeout(resolve));
          if (--comes === 0) list.more(all);
          await turn();
        }
        list.enter();
        await list.settle();
        if (comes > 0) {
          list.more(all);
          await list.settle();
        }
        const meant = [best(text, all), ...(isNamed(atOnce, text) ? [best(text, atOnce)] : [])];
        assert.ok(
          list.answer.accepted !== undefined && meant.includes(list.answer.accepted),
          `seed ${seed}: "${text}" took ${list.answer.accepted}, not ${meant}`,
        );
      }
    });

  it('a blank behind a name that is whole leaves Enter where it was', async () => {
    const list = opened(GPUS);
    list.more(GPUS);
    for (const letter of 'h100') list.pick.type(letter);
    await list.settle();
    assert.equal(list.pick.shown, 'H100-SXM5-80GB');
    list.pick.type(' ');
    await list.settle();
    assert.equal(list.pick.shown, 'H100-SXM5-80GB');
  });

  it('takes the row that a person went to, and leaves them there when the catalog comes', async () => {
    const list = opened([{ label: 'Qwen/Qwen3-32B' }, { label: 'Qwen/Qwen3-14B' }]);
    for (const letter of 'qwen3') list.pick.type(letter);
    await list.settle();
    list.pick.down();
    if (list.pick.shown?.includes('As typed')) list.pick.down();
    await list.settle();
    const { shown } = list.pick;
    assert.match(shown ?? '', /^Qwen/);
    list.more(MODELS);
    await list.settle();
    assert.equal(list.pick.shown, shown);
    list.enter();
    await list.settle();
    assert.equal(list.answer.accepted, shown);
  });

  it('Enter before the catalog waits for it, but not where a name is whole', async () => {
    const named = opened(GPUS);
    for (const letter of 'h200') named.pick.type(letter);
    named.enter();
    await named.settle();
    assert.equal(named.answer.accepted, 'H200-SXM-141GB');

    const unknown = opened([]);
    for (const letter of 'llama 3.1 8b') unknown.pick.type(letter);
    await unknown.settle();
    unknown.enter();
    await unknown.settle();
    assert.deepEqual([unknown.answer.isAsked, unknown.answer.accepted], [true, undefined]);
    unknown.more(MODELS);
    await unknown.settle();
    assert.equal(unknown.answer.accepted, 'meta-llama/Llama-3.1-8B');
  });
});

describe('answers to what is typed', () => {
  const labels = (text: string, choices: readonly Answer[]) =>
    answersTo(text, { ...NUMBERS, choices }).rows.map(({ label }) => label);
  const GPUS_OF_A_RUN = numbers(1, 2, 4, 8, 16, 32, 64);

  it('a number that is typed is the answer, marked where no row is that number', () => {
    const { rows, best } = answersTo('3', { ...NUMBERS, choices: GPUS_OF_A_RUN });
    assert.deepEqual(
      rows.map(({ label }) => label),
      ['3', '32'],
    );
    assert.equal(best, rows[0]);
    assert.equal(best?.description, 'As typed');
    assert.deepEqual(labels('1', GPUS_OF_A_RUN), ['1', '16']);
    assert.equal(answersTo('1', { ...NUMBERS, choices: GPUS_OF_A_RUN }).best?.description, undefined);
    assert.deepEqual(labels('12', GPUS_OF_A_RUN), ['12']);
    assert.deepEqual(labels('zero', GPUS_OF_A_RUN), []);
  });

  it('a number may be typed as people write it', () => {
    const lengths = numbers(512, 4096, 8192, 32768);
    for (const typed of ['4096', '4,096', '4 096', '4.096'])
      assert.deepEqual(labels(typed, lengths), ['4096'], typed);
    assert.deepEqual(labels('3,000', lengths), ['3000']);
  });

  it('a name that is typed stands below what was found, marked', () => {
    const { rows, best } = answersTo('rtx 40', { ...NAMES, choices: GPUS });
    assert.match(best?.label ?? '', /^RTX/);
    assert.equal(rows.at(-1)?.label, '$(warning) As typed');
    assert.equal(answersTo('no such card', { ...NAMES, choices: GPUS }).best?.value, 'no such card');
  });
});
