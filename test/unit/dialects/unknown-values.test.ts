import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Lines } from '../../../server/src/config/lines';
import type { ConfigNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { readDocument } from '../../../server/src/dialects/templated-values';
import { corpusIsThere, sampled } from '../../corpus/corpus-files';
import { runs } from '../long';
import { statedVersions } from './reading';

/** What nobody can know, as people write it. */
const UNKNOWN = '"${oc.env:NOT_KNOWN_HERE}"';
/** Options of an optimizer and of a loss that move the peak by less than a percent, in blocks whose keys have no rows. */
const SLIGHT = new Set([
  'nemo-automodel loss_fn.fp32_upcast',
  'nemo-automodel optimizer.foreach',
  'nemo-rl policy.optimizer.kwargs.foreach',
]);

function readingOf(uri: string, text: string) {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  if (!dialect || !/^(?:yaml|json|toml)$/.test(document.format)) return undefined;
  const reading = readDocument(dialect, document, { known: {}, versions: statedVersions() });
  const facts = new Map(reading.facts.map(({ field, value }) => [field, JSON.stringify(value)]));
  return { document, id: dialect.id, facts, reading };
}

interface Value {
  readonly key: string;
  readonly node: ConfigNode;
  readonly line: number;
}

function valuesIn(node: ConfigNode | null, prefix = ''): Value[] {
  if (node?.kind !== 'map') return [];
  return node.entries.flatMap(({ key, keyRange, value }) => {
    const inner = prefix === '' ? key : `${prefix}.${key}`;
    if (value.kind === 'map') return valuesIn(value, inner);
    return value.kind === 'scalar' ? [{ key: inner, node: value, line: keyRange.start.line }] : [];
  });
}

const withoutLine = (text: string, line: number) =>
  text
    .split('\n')
    .filter((_, i) => i !== line)
    .join('\n');

/** Keys whose unknown value passes for their default, and serious problems that an unknown value draws. */
function assumedIn(uri: string, text: string, tried: Set<string>): string[] {
  const whole = readingOf(uri, text);
  if (!whole) return [];
  const lines = new Lines(text);
  return valuesIn(whole.document.root).flatMap(({ key, node, line }) => {
    const name = `${whole.id} ${key}`;
    const [start, end] = [lines.offset(node.range.start), lines.offset(node.range.end)];
    if (end <= start || tried.has(name) || SLIGHT.has(name)) return [];
    tried.add(name);
    const unknown = readingOf(uri, text.slice(0, start) + UNKNOWN + text.slice(end));
    if (!unknown || unknown.id !== whole.id) return [];
    const isReported = (unknown.reading.unread ?? []).some(({ text: left }) => left.includes('NOT_KNOWN'));
    const changed = [...whole.facts.keys()].filter((field) => {
      const now = unknown.facts.get(field);
      return now !== undefined && now !== whole.facts.get(field) && !isReported;
    });
    const without = changed.length > 0 ? readingOf(uri, withoutLine(text, line)) : undefined;
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
    const assumed = readdirSync('examples')
      .filter((name) => /\.(?:ya?ml|json)$/.test(name))
      .flatMap((name) =>
        assumedIn(`file:///examples/${name}`, readFileSync(path.join('examples', name), 'utf8'), tried),
      );
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
