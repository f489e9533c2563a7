import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { ReadContext, Reading } from '../../../server/src/dialects/dialect';
import { detectDialect } from '../../../server/src/dialects/registry';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import type { FieldPath } from '../../../server/src/run/fields';
import type { Fact } from '../../../server/src/run/origin';
import type { Versions } from '../../../server/src/run/versions';
import type { Problem, Severity } from '../../../server/src/text/problem';

/** Packages at the releases whose rules are tested, and those that a reading is given. */
export function statedVersions(known: ReadContext['known'] = {}): Versions {
  const releases = {
    deepspeed: '0.19.5',
    accelerate: '1.14.0',
    transformers: '5.23.0',
    trl: '1.9.0',
    axolotl: '0.19.0',
    'llm-foundry': '0.21.0',
    llamafactory: '0.9.5',
    'ms-swift': '4.6.0',
    'megatron-core': '0.19.0',
    torchtune: '0.6.1',
    ...Object.fromEntries(
      Object.entries(known).flatMap(([field, version]) =>
        field.startsWith('version.') ? [[field.slice('version.'.length), String(version)]] : [],
      ),
    ),
  };
  return Object.fromEntries(
    Object.entries(releases).map(([name, version]) => [name, { version, source: 'stated' as const }]),
  );
}

/** Reads a text that must be of a family, with versions that are stated unless others are given. */
export function read(
  id: string,
  uri: string,
  text: string,
  known: ReadContext['known'] = {},
  versions: Versions = statedVersions(known),
  model?: Model,
): Reading {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  assert.equal(dialect?.id, id);
  return dialect.read(document, { known, versions, ...(model ? { model } : {}) });
}

export function factOf(reading: Reading, field: FieldPath): Fact | undefined {
  const facts = reading.facts.filter((fact) => fact.field === field);
  assert.ok(facts.length <= 1, `${field} is stated ${facts.length} times`);
  return facts[0];
}

/** `value kind`, for short tables. */
export function stated(reading: Reading, field: FieldPath): string | undefined {
  const fact = factOf(reading, field);
  return fact && `${String(fact.value)} ${fact.origin.kind}`;
}

export function problemsOf(reading: Reading, ...severities: Severity[]): Problem[] {
  return reading.problems.filter(
    (problem) => severities.length === 0 || severities.includes(problem.severity),
  );
}

/** Codes of what the framework refuses. */
export function refused(reading: Reading): string[] {
  return problemsOf(reading, 'error').map((problem) => problem.code);
}

/** A model from its config, which must be one. */
export function modelOfConfig(config: unknown): Model {
  const model = modelFromConfig(config, 'test', 'inline');
  assert.ok('parameters' in model, JSON.stringify(model));
  return model;
}

/** The model that a reading spells out. */
export function modelOf(reading: Reading): Model {
  const config = factOf(reading, 'model.config');
  assert.ok(config, 'no model.config');
  return modelOfConfig(config.value);
}

/** Asserts what a reading states of fields: `value kind`, or undefined where it states nothing. */
export function assertStates(
  reading: Reading,
  expected: Partial<Record<FieldPath, string | undefined>>,
): void {
  const fields = Object.keys(expected) as FieldPath[];
  assert.deepEqual(Object.fromEntries(fields.map((field) => [field, stated(reading, field)])), expected);
}

/** `code: text of the line` of every problem of a severity, in order of the file. */
export function complaints(reading: Reading, text: string, severity: Severity): string[] {
  const lines = text.split('\n');
  return problemsOf(reading, severity)
    .toSorted((a, b) => a.range.start.line - b.range.start.line)
    .map(({ code, range }) => `${code}: ${lines[range.start.line]?.trim()}`);
}
