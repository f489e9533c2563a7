import type { KeySpec } from '../dialects/dialect';
import { inVersion } from '../dialects/key-value';
import { fieldLabel } from '../run/field-labels';
import { FIELDS, type FieldPath, type FieldSpec, type RunValues } from '../run/fields';
import type { Origin } from '../run/origin';
import type { Location } from '../text/place';
import { formatBytes, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { HoverText } from './hover-text';
import type { WhatIfTexts } from './hover-what-if';
import type { KeyPlace } from './key-at';
import { keyDocumentation } from './key-documentation';
import { code, escapeMarkdown, lineLink, placeLink, sourceLink } from './markdown';
import { memoryEffect } from './memory-effects';
import { within } from './ranges';

/** Neighbouring values of the fields that a key sets, as Markdown: by the engine, which is loaded when it is needed. */
type WhatIfText = (analysis: Analysis, fields: readonly FieldPath[]) => WhatIfTexts | undefined;

/** What the engine adds to a hover. */
export interface HoverTexts {
  readonly whatIf?: WhatIfText;
  /** What the whole run hangs on: at the first key of a file, which speaks for it. */
  readonly decisions?: (analysis: Analysis) => string | undefined;
  /** Another extension shows beside it what the schema of a YAML file states of a key. */
  readonly schemaShown?: boolean;
}

function isFirst({ document: { root } }: Analysis, place: KeyPlace): boolean {
  const first = root?.kind === 'map' ? root.entries[0] : undefined;
  return first?.keyRange === place.keyRange;
}

/** A known key: what it means, what it is set to and by whom, what that costs, and what holds without it. */
export function keyHover(
  analysis: Analysis,
  place: KeyPlace,
  spec: KeySpec,
  { whatIf, decisions, schemaShown }: HoverTexts = {},
): HoverText {
  const fields = spec.fields ?? [];
  const { default: value } = inVersion(spec, analysis.resolved.values).row;
  const filled = filledPhrase(analysis, place);
  const values = valuePhrases(analysis, place, fields);
  const memory = memoryEffect(analysis, fields);
  const whatIfs = whatIf?.(analysis, fields);
  // What is stated stands in the title where it is one thing.
  const [alone, ...others] = [...(filled ? [filled] : []), ...values.map(({ words }) => words)];
  const titled = whatIfs && alone !== undefined && others.length === 0;
  const lines = [
    titled || filled === undefined ? undefined : `- ${filled}`,
    ...(titled ? [] : values.map(({ name, words }) => `- **${name}** ${words}`)),
    whatIfs || memory === undefined ? undefined : `- **${say('Memory')}** ${memory}`,
    value === undefined || value === null ? undefined : `- **${say('Default')}** ${code(String(value))}`,
    usersLine(analysis, place),
    spec.deprecated ? `- **${say('Deprecated:')}** ${say('use {0}', code(spec.deprecated))}` : undefined,
  ].filter((line) => line !== undefined);
  const name = escapeMarkdown(analysis.dialect.name);
  const inCode = spec.source?.startsWith('https://github.com/');
  // Who serves the schema has its sentences in the language of the person.
  const isShown = schemaShown === true && analysis.document.format === 'yaml';
  const doc = isShown ? undefined : keyDocumentation(spec);
  const sections = [
    `**${code(place.path)}** ${titled ? `${alone} ` : ''}· ${name}`,
    // The answer first: an editor shows some ten lines and hides the rest below a scroll bar.
    ...(whatIfs
      ? [whatIfs.glance, memory && `${say('Memory')}: ${memory}.`, doc, lines.join('\n'), whatIfs.rest]
      : [doc, lines.join('\n')]),
    isFirst(analysis, place) ? decisions?.(analysis) : undefined,
    sourceLink(inCode ? say('{0} source', name) : say('{0} documentation', name), spec.source),
  ].filter((section) => section);
  return { markdown: sections.join('\n\n'), range: place.onValue ? place.node.range : place.keyRange };
}

/** What the caller puts in the place of `auto`, where no field of the run holds it. */
function filledPhrase({ filled = [] }: Analysis, place: KeyPlace): string | undefined {
  const found = filled.find(({ key }) => key === place.path);
  if (!found) return undefined;
  const from = found.location ? ` — ${placeLink(found.location)}` : '';
  const argument = found.argument === undefined ? '' : ` (${code(found.argument)})`;
  return `${code('auto')} → ${code(found.value)}${argument}${from}`;
}

/** Files that use this one, with links to the places that name it: at the first key of the file. */
function usersLine(analysis: Analysis, place: KeyPlace): string | undefined {
  const { usedBy = [] } = analysis;
  if (usedBy.length === 0 || !isFirst(analysis, place)) return undefined;
  return `- **${say('Used by')}** ${usedBy.map((user) => placeLink(user)).join(', ')}`;
}

/** One phrase for each source of values: fields that share theirs share it. */
function valuePhrases(
  analysis: Analysis,
  place: KeyPlace,
  fields: readonly FieldPath[],
): { readonly name: string; readonly words: string }[] {
  const { values, origins } = analysis.resolved;
  const bySource = new Map<string, FieldPath[]>();
  const alone = fields.length === 1 && place.node.kind === 'scalar';
  for (const field of fields) {
    const value = values[field];
    if (value === undefined) {
      continue;
    }
    const origin = origins[field];
    const source = origin ? originPhrase(analysis, origin, place) : '';
    bySource.set(source, [...(bySource.get(source) ?? []), field]);
  }
  const named = (field: FieldPath) => {
    const shown = formatFieldValue(field, values[field]);
    return alone && !isTranslated(field, values[field], place) ? shown : `${fieldLabel(field)} ${shown}`;
  };
  return [...bySource].map(([source, group]) => {
    const precision = precisionWords(group, values);
    const others = group.filter((field) => !precision?.of.includes(field));
    const shown = [...(precision ? [precision.words] : []), ...others.map(named)];
    return {
      name: shown.length > 1 ? say('Values') : say('Value'),
      words: `${shown.join(', ')}${source && ` — ${source}`}`,
    };
  });
}

/** `bf16 weights and compute, fp32 masters`: what one switch sets together; undefined where types differ. */
function precisionWords(
  fields: readonly FieldPath[],
  values: RunValues,
): { readonly words: string; readonly of: readonly FieldPath[] } | undefined {
  const {
    'precision.weights': weights,
    'precision.compute': compute,
    'precision.scheme': scheme,
    'precision.masterWeights': masters = FIELDS['precision.masterWeights'].default,
  } = values;
  const both: readonly FieldPath[] = ['precision.weights', 'precision.compute'];
  if (weights === undefined || weights !== compute || !both.every((field) => fields.includes(field)))
    return undefined;
  return scheme === 'deepspeed' && fields.includes('precision.scheme')
    ? {
        words: say('{0} weights and compute, {1} masters', code(weights), code(masters)),
        of: [...both, 'precision.scheme'],
      }
    : { words: say('{0} weights and compute', code(weights)), of: both };
}

/** `DEEPSPEED` is written, `zero` is meant: then the field has to be named for the value to be understood. */
function isTranslated(field: FieldPath, value: unknown, { node }: KeyPlace): boolean {
  return (
    FIELDS[field].type === 'choice' && node.kind === 'scalar' && node.text !== 'auto' && node.text !== value
  );
}

/** Counts of something, by the unit of a field. */
export const COUNTED = {
  elements: '{0} {0|element|elements}',
  tokens: '{0} {0|token|tokens}',
  GPUs: '{0} {0|GPU|GPUs}',
} as const;

/** A field's value with its unit, in inline code where it is an identifier. */
export function formatFieldValue(field: FieldPath, value: unknown): string {
  const spec: FieldSpec = FIELDS[field];
  if (typeof value === 'number') {
    const unit = spec.type === 'integer' ? spec.unit : undefined;
    if (unit === 'bytes') {
      return formatBytes(value);
    }
    if (unit) return say(COUNTED[unit], value);
    return Number.isInteger(value) ? formatInteger(value) : String(value);
  }
  if (Array.isArray(value)) {
    return value.length === 0 ? say('none') : value.map((item) => code(String(item))).join(', ');
  }
  if (typeof value === 'object' && value !== null) {
    return say('given inline');
  }
  return code(String(value));
}

/** Who states it, for example `accelerate.yaml:12`, `DeepSpeed 0.19 default`, `setting`. */
function originPhrase(analysis: Analysis, origin: Origin, place?: KeyPlace): string {
  const note = origin.note ? escapeMarkdown(origin.note) : undefined;
  const location = origin.location;
  if (location && place && isHere(analysis, location, place)) {
    return note ?? say('set here');
  }
  if (location) {
    const link = location.uri === analysis.uri ? lineLink(location) : placeLink(location);
    const overrules =
      place && analysis.resolved.overruled.some((lost) => statedAt(lost.origin, analysis, place));
    const words = origin.kind === 'directive' ? say('directive in {0}', link) : say('from {0}', link);
    return [overrules ? say('{0}, which overrules this', words) : words, note].filter(Boolean).join(', ');
  }
  return sourcedNote(origin, note);
}

export const KIND_PHRASES: Readonly<Record<Origin['kind'], string>> = {
  'command-line': 'command line',
  'overriding-file': 'a file that overrides this one',
  file: 'this file',
  directive: 'directive',
  'linked-file': 'a linked file',
  project: 'oomlint.yaml',
  setting: 'editor setting',
  environment: 'environment',
  detected: 'detected on this machine',
  default: 'default',
  inferred: 'inferred',
};

function sourcedNote(origin: Origin, note: string | undefined): string {
  const phrase = note ?? say(KIND_PHRASES[origin.kind]);
  return sourceLink(phrase, origin.source) ?? phrase;
}

function isHere(analysis: Analysis, location: Location, place: KeyPlace): boolean {
  return location.uri === analysis.uri && within(location.range, spanOf(place));
}

function statedAt(origin: Origin, analysis: Analysis, place: KeyPlace): boolean {
  return origin.location !== undefined && isHere(analysis, origin.location, place);
}

function spanOf(place: KeyPlace) {
  return { start: place.keyRange.start, end: place.node.range.end };
}
