import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Lines } from '../../../server/src/config/lines';
import type { ConfigDocument, ConfigNode, ScalarNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect, Reading } from '../../../server/src/dialects/dialect';
import { detectDialect } from '../../../server/src/dialects/registry';
import { readDocument } from '../../../server/src/dialects/templated-values';
import { statedVersions } from '../../unit/dialects/reading';

/** A config as its family reads it, and what it states by field. */
export interface ReadConfig {
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  /** As JSON. */
  readonly facts: ReadonlyMap<string, string>;
}

/** Undefined of what is no config in YAML, JSON or TOML. */
export function configOf(uri: string, text: string): ReadConfig | undefined {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  if (!dialect || !/^(?:yaml|json|toml)$/.test(document.format)) return undefined;
  const reading = readDocument(dialect, document, { known: {}, versions: statedVersions() });
  const facts = new Map<string, string>(
    reading.facts.map(({ field, value }) => [field, JSON.stringify(value)]),
  );
  return { document, dialect, reading, facts };
}

/** A value of a config, at a key that stands on a line of its own. */
export interface WrittenValue {
  /** Path of the key. */
  readonly key: string;
  readonly node: ScalarNode;
  readonly line: number;
}

/** Every single value below a node; lists have none. */
export function valuesIn(node: ConfigNode | null, prefix = ''): WrittenValue[] {
  if (node?.kind !== 'map') return [];
  return node.entries.flatMap(({ key, keyRange, value }) => {
    const inner = prefix === '' ? key : `${prefix}.${key}`;
    if (value.kind === 'map') return valuesIn(value, inner);
    return value.kind === 'scalar' ? [{ key: inner, node: value, line: keyRange.start.line }] : [];
  });
}

/** The text with another value there; undefined where the value takes no room. */
export function withValue(text: string, { node }: WrittenValue, value: string): string | undefined {
  const lines = new Lines(text);
  const [start, end] = [lines.offset(node.range.start), lines.offset(node.range.end)];
  return end > start ? text.slice(0, start) + value + text.slice(end) : undefined;
}

/** The text without the line of a value. */
export function withoutValue(text: string, { line }: WrittenValue): string {
  return text
    .split('\n')
    .filter((_, i) => i !== line)
    .join('\n');
}

/** The configs of the examples, as they stand in a folder of their own. */
export function exampleConfigs(): { readonly uri: string; readonly text: string }[] {
  return readdirSync('examples')
    .filter((name) => /\.(?:ya?ml|json)$/.test(name))
    .map((name) => ({
      uri: `file:///examples/${name}`,
      text: readFileSync(path.join('examples', name), 'utf8'),
    }));
}
