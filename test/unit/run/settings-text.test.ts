import assert from 'node:assert/strict';
import { elsewhereText, traceText } from '../../../server/src/memory/remembered-trace';
import { FIELD_PATHS, type FieldPath, type TrainingRun } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

const textOf = (run: TrainingRun) => `${traceText(run)} ${elsewhereText(run)}`;
/** Values that are written alike, or much alike. */
const VALUES: readonly unknown[] = [
  0,
  1,
  '0',
  '1',
  false,
  true,
  'false',
  '',
  ';',
  '1;',
  [],
  ['1'],
  {},
  undefined,
];

describe('what is remembered of a run', () => {
  it('is of that run alone: another value of any field makes another text', () => {
    for (const field of FIELD_PATHS) {
      const texts = VALUES.map((value) =>
        textOf({ ...aRun({}), [field as FieldPath]: value } as TrainingRun),
      );
      assert.equal(new Set(texts).size, VALUES.length, field);
    }
  });

  it('is of every run with the same values, in whatever order they are given', () => {
    const run = aRun({ 'lora.targets': ['q_proj'], 'batch.micro': 2 });
    const other = Object.fromEntries(
      Object.entries(structuredClone(run)).reverse(),
    ) as unknown as TrainingRun;
    const stated = { ...other, 'lora.targets': ['q_proj'] as readonly string[] };
    assert.equal(textOf(stated), textOf(run));
    assert.notEqual(textOf(aRun({ 'batch.micro': 12 })), textOf(aRun({ 'batch.micro': 1 })));
  });
});
