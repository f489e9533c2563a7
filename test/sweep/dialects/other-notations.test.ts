import assert from 'node:assert/strict';
import { corpusIsThere, sampled } from '../../corpus/corpus-files';
import { runs } from '../../unit/long';
import {
  configOf,
  exampleConfigs,
  type ReadConfig,
  valuesIn,
  type WrittenValue,
  withValue,
} from './replaced-values';

/** Other ways to write a value: most frameworks take them for the same, the others refuse them. */
function notationsOf({ node }: WrittenValue, format: string): string[] {
  const { value } = node;
  const quoted = `"${value}"`;
  if (typeof value === 'boolean') {
    const python = value ? 'True' : 'False';
    const words =
      format === 'yaml' ? [python, ...(value ? ['yes', 'on', 'TRUE'] : ['no', 'off', 'FALSE'])] : [];
    return [quoted, `"${python}"`, value ? '1' : '0', ...words];
  }
  if (typeof value === 'number') {
    const whole = Number.isInteger(value);
    return [quoted, ...(whole ? [`${value}.0`] : []), ...(format === 'yaml' ? [`+${value}`] : [])];
  }
  return typeof value === 'string' && format === 'yaml' && /^[\w.-]+$/.test(value)
    ? [quoted, `'${value}'`]
    : [];
}

/** How much is reported of a file: problems, and what was not understood. */
const remarksOn = ({ reading }: ReadConfig) => reading.problems.length + (reading.unread ?? []).length;

/** A model that is spelled out holds values as they stand, and is read where it is built. */
const HELD = /^(model\.config|features\.unmodelled)$/;

/** Fields that another notation changes without a word. */
function changedIn(uri: string, text: string, tried: Set<string>): string[] {
  const whole = configOf(uri, text);
  if (!whole || whole.reading.notModelled) return [];
  return valuesIn(whole.document.root).flatMap((value) => {
    const name = `${whole.dialect.id} ${value.key} ${typeof value.node.value} ${value.node.value === true}`;
    if (tried.has(name)) return [];
    tried.add(name);
    return notationsOf(value, whole.document.format).flatMap((notation) => {
      const changed = withValue(text, value, notation);
      const other = changed === undefined || changed === text ? undefined : configOf(uri, changed);
      if (!other || other.dialect.id !== whole.dialect.id || remarksOn(other) > remarksOn(whole)) return [];
      const fields = [...new Set([...whole.facts.keys(), ...other.facts.keys()])].filter(
        (field) => !HELD.test(field) && whole.facts.get(field) !== other.facts.get(field),
      );
      return fields.map(
        (field) => `${name} as ${notation}: ${field} ${whole.facts.get(field)}, ${other.facts.get(field)}`,
      );
    });
  });
}

describe('a value in another notation', function () {
  this.timeout(600_000);

  it('states the same, or is reported, whichever key of the examples it is', () => {
    const tried = new Set<string>();
    const changed = exampleConfigs().flatMap(({ uri, text }) => changedIn(uri, text, tried));
    assert.ok(tried.size > 30, `${tried.size} values`);
    assert.deepEqual(changed, []);
  });

  it('and of published configs', () => {
    if (!corpusIsThere) {
      console.log('      the corpus is not here: no published configs to read');
      return;
    }
    const tried = new Set<string>();
    const changed = sampled(runs(2, 200)).flatMap(({ uri, text }) =>
      text.length > 15_000 ? [] : changedIn(uri, text, tried),
    );
    assert.ok(tried.size > 300, `${tried.size} values`);
    assert.deepEqual(changed, []);
  });
});
