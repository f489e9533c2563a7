import assert from 'node:assert/strict';
import { corpusIsThere, sampled } from '../../corpus/corpus-files';
import { runs } from '../../unit/long';
import { configOf, exampleConfigs, valuesIn, withoutValue, withValue } from './replaced-values';

/** What nobody can know, as people write it. */
const UNKNOWN = '"${oc.env:NOT_KNOWN_HERE}"';
/** Options of an optimizer and of a loss that move the peak by less than a percent, in blocks whose keys have no rows. */
const SLIGHT = new Set([
  'nemo-automodel loss_fn.fp32_upcast',
  'nemo-automodel optimizer.foreach',
  'nemo-rl policy.optimizer.kwargs.foreach',
]);

/** Keys whose unknown value passes for their default, and serious problems that an unknown value draws. */
function assumedIn(uri: string, text: string, tried: Set<string>): string[] {
  const whole = configOf(uri, text);
  if (!whole) return [];
  return valuesIn(whole.document.root).flatMap((value) => {
    const name = `${whole.dialect.id} ${value.key}`;
    const open = withValue(text, value, UNKNOWN);
    if (open === undefined || tried.has(name) || SLIGHT.has(name)) return [];
    tried.add(name);
    const unknown = configOf(uri, open);
    if (!unknown || unknown.dialect.id !== whole.dialect.id) return [];
    const isReported = (unknown.reading.unread ?? []).some(({ text: left }) => left.includes('NOT_KNOWN'));
    const changed = [...whole.facts.keys()].filter((field) => {
      const now = unknown.facts.get(field);
      return now !== undefined && now !== whole.facts.get(field) && !isReported;
    });
    const without = changed.length > 0 ? configOf(uri, withoutValue(text, value)) : undefined;
    const assumed = changed.flatMap((field) => {
      const now = unknown.facts.get(field);
      return now === without?.facts.get(field) ? [`${name}: ${field} is ${now}`] : [];
    });
    const drawn = unknown.reading.problems.flatMap(({ severity, message }) =>
      (severity === 'error' || severity === 'warning') && /NOT_KNOWN/i.test(message)
        ? [`${name}: ${message}`]
        : [],
    );
    return [...assumed, ...drawn];
  });
}

describe('a value that nobody can know', function () {
  this.timeout(600_000);

  it('is never taken for the default of its key, whichever key of the examples it is', () => {
    const tried = new Set<string>();
    const assumed = exampleConfigs().flatMap(({ uri, text }) => assumedIn(uri, text, tried));
    assert.ok(tried.size > 30, `${tried.size} keys`);
    assert.deepEqual(assumed, []);
  });

  it('nor whichever key of published configs', () => {
    if (!corpusIsThere) {
      console.log('      the corpus is not here: no published configs to read');
      return;
    }
    const tried = new Set<string>();
    const assumed = sampled(runs(2, 30)).flatMap(({ uri, text }) =>
      text.length > 40_000 ? [] : assumedIn(uri, text, tried),
    );
    assert.ok(tried.size > 300, `${tried.size} keys`);
    assert.deepEqual(assumed, []);
  });
});
