import { spotAt } from '../config/lookup';
import type { ConfigDocument } from '../config/node';
import { suggestAccelerators } from '../hardware/catalog';
import { isMisspelt, suggestModels } from '../model/name-suggestions';
import type { RuleId } from '../rules/rule-id';
import { evenDataParallelSize, unevenLayout } from '../run/derive';
import type { FieldPath } from '../run/fields';
import type { Fact, Origin } from '../run/origin';
import { shortAlias } from '../run/parse-field';
import { type Resolution, sameValue } from '../run/resolve';
import { spelledKey } from '../run/spelled-key';
import type { Unread } from '../run/unread';
import { fileIn, PEFT } from '../sources/repositories';
import { beginTogether, type Range } from '../text/place';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName } from '../text/uri';
import { say } from '../wording/say';
import type { ConfigReading } from './config-reading';

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
const place = ({ location }: Origin) =>
  location ? `${location.uri}:${location.range.start.line}:${location.range.start.character}` : '';

function relatedTo(origin: Origin, message: string): Problem['related'] {
  return origin.location ? [{ ...origin.location, message }] : undefined;
}

/** A directive that states what the file itself states otherwise has no effect. */
export function directiveConflicts(resolution: Resolution, uri: string): Problem[] {
  return resolution.overruled.flatMap((lost) => {
    const { location, kind, key } = lost.origin;
    const winner = resolution.winners.get(lost.field);
    if (kind !== 'directive' || location?.uri !== uri || winner?.origin.kind !== 'file') {
      return [];
    }
    return {
      code: 'directive-overruled',
      severity: 'warning',
      message: say(
        '{0}={1} has no effect: the file itself says {2}.',
        key ?? shortAlias(lost.field),
        shown(lost.value),
        shown(winner.value),
      ),
      range: location.range,
      related: relatedTo(winner.origin, say('set here')),
    } satisfies Problem;
  });
}

/** Quantities that every framework compares, or computes with twice: a run whose files disagree on them does not start. */
const COMPARED: ReadonlySet<FieldPath> = new Set([
  'batch.micro',
  'batch.accumulation',
  'batch.global',
  'precision.compute',
]);

/** What a file states itself, the first statement of each field. */
function ownStatements(facts: readonly Fact[], uri: string): ReadonlyMap<FieldPath, Fact> {
  const own = new Map<FieldPath, Fact>();
  for (const stated of facts) {
    if (stated.origin.kind === 'file' && stated.origin.location?.uri === uri && !own.has(stated.field)) {
      own.set(stated.field, stated);
    }
  }
  return own;
}

/**
 * Accelerate hands `mixed_precision` to the script in the environment, where the Trainer's own arguments, or those of
 * `Accelerator`, take its place: such files disagree, and the run starts (`TrainingArguments.__post_init__`).
 */
const isGivenAnew = ({ field, origin }: Fact) =>
  field === 'precision.compute' && origin.key === 'mixed_precision';

/**
 * How a statement is named: by its key where that has the value, by the field where the value is computed, such as GPUs of all
 * machines. `documents` are the files of the run.
 */
function nameOf({ field, origin, value }: Fact, documents: readonly ConfigDocument[]): string {
  const { key, location } = origin;
  const document = location && documents.find(({ uri }) => canonicalUri(uri) === canonicalUri(location.uri));
  const node = document && spotAt(document.root, location.range.start)?.node;
  const written = node?.kind === 'scalar' && typeof node.value === 'number' ? node.value : value;
  return key === undefined || (typeof value === 'number' && written !== value) ? shortAlias(field) : key;
}

/**
 * What weights are held in follows from mixed precision: the type that they are loaded in is another, and no contradiction.
 */
const followsOnly = ({ field, origin: { key, note }, value }: Fact) =>
  (field === 'precision.weights' && (note !== undefined || /^[bf]\w*16\.enabled$/.test(key ?? ''))) ||
  (key === 'mixed_precision' && value === 'autocast');

/**
 * Whether something that decides the value is not understood in the file that states it, or is one of several: it contradicts nothing. The
 * condition that chooses may stand in a module of its own.
 */
const isUnsure = ({ field, origin }: Fact, unread: readonly Unread[]): boolean =>
  unread.some(
    ({ kind, fields, location }) =>
      fields?.includes(field) && (kind === 'branch' || location.uri === origin.location?.uri),
  );

/**
 * Two files of one run state different values for the same quantity. One problem per key of this file, none where one is
 * reported at that place already, or where one of the values is not sure.
 */
export function linkConflicts(
  facts: readonly Fact[],
  uri: string,
  reported: readonly Problem[] = [],
  unread: readonly Unread[] = [],
  documents: readonly ConfigDocument[] = [],
): Problem[] {
  const saying = (stated: Fact) => `${spelledKey(nameOf(stated, documents))} = ${shown(stated.value)}`;
  const own = ownStatements(facts, uri);
  const reportedLines = new Set(
    reported.flatMap(({ code, range }) => (code === 'cross-file-conflict' ? [range.start.line] : [])),
  );
  const problems = new Map<string, Problem>();
  for (const other of facts) {
    const mine = own.get(other.field);
    if (!mine?.origin.location || other.origin.kind !== 'linked-file' || !other.origin.location) {
      continue;
    }
    const key = place(mine.origin);
    const known = reportedLines.has(mine.origin.location.range.start.line);
    if (known || sameValue(mine.value, other.value) || problems.has(key)) {
      continue;
    }
    if ([mine, other].some((fact) => followsOnly(fact) || isUnsure(fact, unread))) continue;
    const name = fileName(other.origin.location.uri);
    problems.set(key, {
      code: 'cross-file-conflict',
      severity: COMPARED.has(mine.field) && ![mine, other].some(isGivenAnew) ? 'error' : 'warning',
      message: say(
        'Files of one run disagree on {0}: {1} here, {2} in {3}.',
        shortAlias(mine.field),
        saying(mine),
        saying(other),
        name,
      ),
      range: mine.origin.location.range,
      related: relatedTo(other.origin, saying(other)),
    });
  }
  return [...problems.values()];
}

/**
 * What a file that takes this one in states in the place of its values, at the value: it has no effect in this run. `documents` are
 * the files of the run, `heirs` those that inherit from others in place of starting them.
 */
export function overriddenValues(
  facts: readonly Fact[],
  uri: string,
  documents: readonly ConfigDocument[],
  heirs: ReadonlySet<string>,
  unread: readonly Unread[] = [],
): Problem[] {
  const own = ownStatements(facts, uri);
  const problems = new Map<string, Problem>();
  for (const other of facts) {
    const mine = own.get(other.field);
    const { kind, location } = other.origin;
    if (!mine?.origin.location || kind !== 'overriding-file' || !location) continue;
    const at = place(mine.origin);
    if (sameValue(mine.value, other.value) || problems.has(at) || isUnsure(other, unread)) continue;
    const flag = nameOf(other, documents).split('.').at(-1) ?? shortAlias(other.field);
    const words = [fileName(location.uri), flag, shown(other.value), shown(mine.value)] as const;
    problems.set(at, {
      code: 'overridden-value',
      severity: 'information',
      message: heirs.has(canonicalUri(location.uri))
        ? say('{0} inherits this file with {1} = {2}, which counts in the place of {3}.', ...words)
        : say('{0} starts this run with {1} = {2}, which counts in the place of {3}.', ...words),
      range: mine.origin.location.range,
      related: relatedTo(other.origin, `${flag} = ${shown(other.value)}`),
    });
  }
  return [...problems.values()];
}

/** Values of this file that cannot be meant, where its dialect did not say so already. */
export function rejectedValues(
  resolution: Resolution,
  { uri, document: { format } }: Pick<ConfigReading, 'uri' | 'document'>,
  reported: readonly Problem[],
): Problem[] {
  // A command has many values in a line.
  const isReported = (at: Range) =>
    reported.some(({ range }) =>
      format === 'shell' ? beginTogether(range, at) : range.start.line === at.start.line,
    );
  const problems = new Map<string, Problem>();
  for (const { fact: stated, reason } of resolution.rejected) {
    const { location, key } = stated.origin;
    if (location?.uri === uri && !isReported(location.range)) {
      problems.set(place(stated.origin), {
        code: 'bad-value',
        severity: 'error',
        message: `${spelledKey(key ?? shortAlias(stated.field))}: ${reason}.`,
        range: location.range,
      });
    }
  }
  return [...problems.values()];
}

/** Where a problem over several fields is shown: at the first of them that this file states. */
function firstOwn(resolution: Resolution, uri: string, fields: readonly FieldPath[]): Origin | undefined {
  return fields
    .map((field) => resolution.origins[field])
    .find((origin) => origin?.location?.uri === uri && origin.kind !== 'default');
}

function involved(resolution: Resolution, fields: readonly FieldPath[], shownAt: Origin): Problem['related'] {
  return fields.flatMap((field) => {
    const origin = resolution.origins[field];
    return origin?.location && origin !== shownAt
      ? [{ ...origin.location, message: `${shortAlias(field)} = ${shown(resolution.values[field])}` }]
      : [];
  });
}

const BATCH: readonly FieldPath[] = ['batch.global', 'batch.micro', 'batch.accumulation', 'hardware.gpus'];
const SIZES: readonly FieldPath[] = [
  'parallel.tensor',
  'parallel.pipeline',
  'parallel.context',
  'parallel.ulysses',
  'hardware.gpus',
];
const STATED: ReadonlySet<string> = new Set([
  'overriding-file',
  'file',
  'directive',
  'linked-file',
  'project',
  'setting',
]);

/** Arithmetic between quantities that several files state: batch sizes, and how the GPUs are divided. */
export function arithmeticConflicts(
  resolution: Resolution,
  uri: string,
  reported: readonly Problem[],
  unread: readonly Unread[] = [],
): Problem[] {
  const { values, origins } = resolution;
  const problems: Problem[] = [];
  const add = (code: RuleId, message: string, fields: readonly FieldPath[]) => {
    const origin = firstOwn(resolution, uri, fields);
    if (origin?.location && !reported.some((problem) => problem.code === code)) {
      const related = involved(resolution, fields, origin);
      problems.push({ code, severity: 'error', message, range: origin.location.range, related });
    }
  };
  const copies = evenDataParallelSize(values);
  // A number that merely follows from something may be given anew where the run is started.
  const known = origins['hardware.gpus']?.kind !== 'inferred';
  const uneven = unevenLayout(values);
  if (uneven !== undefined && known) add('world-size', uneven, SIZES);
  const global = values['batch.global'];
  const micro = values['batch.micro'];
  const accumulation = values['batch.accumulation'];
  // Values given on the command line are what-ifs: the files need not agree with them.
  const stated = BATCH.slice(0, 3).every((field) => {
    const fact = resolution.winners.get(field);
    return fact !== undefined && STATED.has(fact.origin.kind) && !isUnsure(fact, unread);
  });
  if (
    stated &&
    copies !== undefined &&
    global !== undefined &&
    micro !== undefined &&
    accumulation !== undefined
  ) {
    const product = micro * accumulation * copies;
    if (product !== global && origins['hardware.gpus']?.kind !== 'command-line') {
      const sum = `${micro} × ${accumulation} × ${copies} = ${product}`;
      add(
        'batch-triangle',
        say(
          'The global batch is {0}, but micro batch × accumulation × data-parallel GPUs is {1}.',
          String(global),
          sum,
        ),
        BATCH,
      );
    }
  }
  return problems;
}

/** A model that is not in the catalog states something of the catalog; of the file it does where the name is misspelt. */
function severityOf(field: FieldPath, value: string): Problem['severity'] {
  return field === 'hardware.gpu' || isMisspelt(value) ? 'warning' : 'information';
}

/** A GPU or model that this file names and nobody knows, at the name, with the nearest known one as replacement. */
export function unknownNames(
  resolution: Resolution,
  uri: string,
): (Problem & { readonly field: FieldPath })[] {
  return resolution.unknown.flatMap(({ field, reason }) => {
    const stated =
      field === 'model.id' && resolution.values['model.path'] !== undefined ? 'model.path' : field;
    const origin = resolution.origins[stated];
    const value = resolution.values[stated];
    if (typeof value !== 'string' || origin?.location?.uri !== uri) {
      return [];
    }
    const near = field === 'hardware.gpu' ? suggestAccelerators(value)[0] : suggestModels(value, 1)[0];
    // The range of a directive's fact holds its name, too.
    const replacement = near && origin.kind === 'directive' ? `${origin.key}=${near}` : near;
    return {
      field,
      code: field === 'hardware.gpu' ? 'unknown-gpu' : 'unknown-model',
      severity: severityOf(field, value),
      message: reason,
      range: origin.location.range,
      data: { fields: [field], ...(replacement === undefined ? {} : { replacement }) },
    };
  });
}

/**
 * An adapter without modules, of a type of which PEFT lists none: at the key that asks for the adapter. Modules that the run states with
 * a value that is not known are named.
 */
export function unnamedTargets(resolution: Resolution, uri: string, unread: readonly Unread[]): Problem[] {
  if (unread.some(({ fields }) => fields?.includes('lora.targets'))) return [];
  return resolution.unknown.flatMap(({ field, reason }) => {
    if (field !== 'lora.targets') return [];
    const origins = [resolution.origins['lora.rank'], resolution.origins['method.kind']];
    const there = origins.find((origin) => origin?.location?.uri === uri)?.location;
    return there
      ? [
          {
            code: 'no-lora-targets',
            severity: 'warning',
            message: reason,
            range: there.range,
            source: PEFT_TARGETS,
          },
        ]
      : [];
  });
}

/** The types that PEFT lists modules for. */
const PEFT_TARGETS = fileIn(PEFT, 'src/peft/utils/constants.py');
