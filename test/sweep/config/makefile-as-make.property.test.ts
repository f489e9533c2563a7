import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { nodeAt } from '../../../server/src/config/lookup';
import { makeRecipes } from '../../../server/src/config/make-recipes';
import { textOf } from '../../../server/src/config/scalar';

const HAS_MAKE = spawnSync('make', ['--version'], { stdio: 'ignore' }).status === 0;

/** Words of the launch as make prints it; undefined where make itself refuses the file. */
function inMake(makefile: string): string[] | undefined {
  const { status, stdout } = spawnSync('make', ['-n', '-f', '-', 'train'], {
    input: makefile,
    cwd: tmpdir(),
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  if (status !== 0) return undefined;
  return stdout.replaceAll('\\\n', ' ').trim().split(/\s+/).slice(1);
}

/** The same as it is read here; undefined where not all of it is known. */
function here(makefile: string): string[] | undefined {
  const [first] = makeRecipes('file:///Makefile', makefile, (script) => script.includes('torchrun'));
  const commands = nodeAt(first?.root ?? null, 'commands');
  const words = commands?.kind === 'list' ? nodeAt(commands.items[0] ?? null, ['words']) : undefined;
  if (words?.kind !== 'list') return undefined;
  if (words.items.some((item) => item.kind !== 'scalar' || item.open !== undefined)) return undefined;
  return words.items.map((item) => textOf(item) ?? '');
}

const NAMES = ['A', 'B', 'C'];
const name = fc.constantFrom(...NAMES);
const text = fc.stringMatching(/^[a-z][a-z0-9./]{0,4}$/);
const value = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: text },
      name.map((each) => `$(${each})`),
      name.map((each) => `\${${each}}`),
      fc.constant(' '),
    ),
    {
      maxLength: 4,
    },
  )
  .map((parts) => parts.join(''));
const assignment = fc
  .tuple(
    fc.constantFrom('', 'train: ', 'other: '),
    name,
    fc.constantFrom(' = ', ' := ', '=', ' ?= ', ' += ', '::='),
    value,
    fc.constantFrom('', ' # why'),
  )
  .map((parts) => parts.join(''));
const line = fc.oneof(assignment, fc.constantFrom('', '# a comment', '.PHONY: train', 'other:\n\techo $(A)'));
const makefile = fc
  .tuple(
    fc.array(line, { maxLength: 6 }),
    fc.array(fc.oneof(value, fc.constant(' \\\n\t  ')), { maxLength: 4 }),
    fc.array(line, { maxLength: 2 }),
  )
  .map(([before, words, after]) =>
    [...before, `train:\n\t@torchrun x.py ${words.join(' ')}`, ...after, ''].join('\n'),
  );

describe('makefiles, held to make', () => {
  before(function () {
    if (HAS_MAKE) return;
    console.log('      make is not here: what makefiles start is not held to it');
    this.skip();
  });

  it('have the words of a recipe as make prints them, or do not know them', () => {
    let known = 0;
    fc.assert(
      fc.property(makefile, (source) => {
        const theirs = inMake(source);
        fc.pre(theirs !== undefined);
        const ours = here(source);
        if (ours === undefined) return;
        known++;
        assert.deepEqual(ours, theirs?.slice(1), source);
      }),
      { numRuns: 150 },
    );
    assert.ok(known > 50, `${known} of 150 are known`);
  });
});
