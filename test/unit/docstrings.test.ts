import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { sourcesOf } from '../house/imports';

/** Folders of formulas. */
const FORMULAS = ['model', 'memory', 'compute'].map((folder) => `server/src/${folder}`);

const FUNCTION =
  /(?<doc>\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export function\*? (?<name>\w+)[\s\S]*?\n?\)(?:: (?<result>[^{\n]*))? \{/g;
/** What a figure is given in, or what it counts. */
const UNIT =
  /\b(?:bytes?|bits?|elements?|shares?|tokens?|FLOPs?|seconds?|Gi?B|MiB|watts?|GPUs?|ranks?|layers?|shards?|parameters?|models?|copies|batch(?:es)?|steps?|communicators|parallelism|samples?|images?|chunks|heads|stages?|processes|handles|groups?|costs?|dollars?|hours?|pixels|patches|columns|rows|events?|size)\b/i;

/** Sizes of a tensor's dimensions: `[b, s, h]`. */
const SHAPE = /`\[[^\]`]+\]`/;

interface Documented {
  readonly name: string;
  readonly doc?: string;
  readonly result: string;
}

function exportedFunctions(source: string): Documented[] {
  return [...source.matchAll(FUNCTION)].map(({ groups }) => ({
    name: groups?.name ?? '',
    doc: groups?.doc,
    result: groups?.result ?? '',
  }));
}

describe('docstrings of formulas', () => {
  const all = FORMULAS.flatMap((folder) => sourcesOf(folder)).flatMap((file) =>
    exportedFunctions(readFileSync(file, 'utf8')).map((one) => ({ ...one, name: `${file} ${one.name}` })),
  );

  it('stand at every function that another file may call', () => {
    assert.ok(all.length > 340, `only ${all.length} functions were found`);
    assert.deepEqual(
      all.filter(({ doc }) => doc === undefined).map(({ name }) => name),
      [],
    );
  });

  it('give the unit of what is a number, or what it counts', () => {
    const numbers = all.filter(({ result }) =>
      /^(?:readonly )?number(?:\[\])?(?: \| undefined)?$/.test(result),
    );
    assert.ok(numbers.length > 60, `only ${numbers.length} functions of numbers were found`);
    assert.deepEqual(
      numbers.filter(({ doc = '' }) => !UNIT.test(doc)).map(({ name, doc }) => `${name}: ${doc?.trim()}`),
      [],
    );
  });

  it('give the shapes of the tensors that a function of a model takes or makes', () => {
    const ofTensors = sourcesOf('server/src/model').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(FUNCTION)]
        .map(({ 0: text, groups }) => ({ text, name: `${file} ${groups?.name}`, doc: groups?.doc ?? '' }))
        .filter(({ text, doc }) => /:\s*Tensor\b/.test(text.slice(doc.length))),
    );
    assert.ok(ofTensors.length > 45, `only ${ofTensors.length} functions of tensors were found`);
    assert.deepEqual(
      ofTensors.filter(({ doc }) => !SHAPE.test(doc)).map(({ name }) => name),
      [],
    );
  });

  it('would be missed', () => {
    const source =
      '/** Of all. */\nexport function a(b: number): number {\n}\n\nexport function c(\n  d: number,\n): number {\n}\n';
    const [first, second] = exportedFunctions(source);
    assert.ok(first && second);
    assert.equal(UNIT.test(first.doc ?? ''), false);
    assert.deepEqual(second, { name: 'c', doc: undefined, result: 'number' });
  });
});
