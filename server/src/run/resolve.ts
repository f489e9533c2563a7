import { findAccelerator, matchAccelerator, suggestAccelerators, tooManyCounted } from '../hardware/catalog';
import { oncePer } from '../memo/remembered';
import { isAtLeast } from '../terms/version';
import { suggested } from '../wording/closest';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { derive } from './derive';
import {
  FIELD_PATHS,
  FIELDS,
  type FieldPath,
  type FieldSpec,
  type RunValues,
  type TrainingRun,
} from './fields';
import { joinReleases } from './joint-releases';
import { type Needs, neededByPackages, raiseOldest } from './oldest-releases';
import { type Fact, fact, ORIGIN_KINDS, type Origin } from './origin';
import { fieldError, shortAlias } from './parse-field';
import type { ResolvedRun } from './resolved-run';

/** A statement that cannot be meant, such as a micro batch of 0; it does not count. */
interface RejectedFact {
  readonly fact: Fact;
  /** Why, as a sentence without the field's name. */
  readonly reason: string;
}

export interface Resolution extends ResolvedRun {
  readonly rejected: readonly RejectedFact[];
  /** Winning statements, table defaults not among them. */
  readonly winners: ReadonlyMap<FieldPath, Fact>;
  /** What it was joined with: first releases that have what the run takes of packages. */
  readonly needs: Needs;
}

const STRENGTHS: ReadonlyMap<string, number> = new Map(ORIGIN_KINDS.map((kind, index) => [kind, index]));
const strength = (origin: Origin) => STRENGTHS.get(origin.kind) ?? ORIGIN_KINDS.length;

/** Strongest first, earlier statements before later ones of equal strength. */
function byStrength(facts: readonly Fact[]): Fact[] {
  const ranks: Fact[][] = ORIGIN_KINDS.map(() => []);
  for (const stated of facts) ranks[strength(stated.origin)]?.push(stated);
  return ranks.flat();
}

/** Why a statement cannot be meant, with its sentence in the language that it is asked in; undefined where it can. */
const isMeant = oncePer(({ field, value }: Fact) => fieldError(field, value) === undefined);
const errorOf = (stated: Fact) => (isMeant(stated) ? undefined : fieldError(stated.field, stated.value));

/** The statement of a field that counts; undefined where there is none that can be meant. */
export function strongest(facts: readonly Fact[], field: FieldPath): Fact | undefined {
  return byStrength(facts.filter((stated) => stated.field === field)).find(isMeant);
}

const REQUIRED: readonly FieldPath[] = FIELD_PATHS.filter((field) => {
  const spec: FieldSpec = FIELDS[field];
  return spec.required === true;
});

/** Every field in its order, with the default of the vocabulary where it has one. */
const DEFAULTS: readonly (readonly [FieldPath, unknown])[] = FIELD_PATHS.map((field) => {
  const spec: FieldSpec = FIELDS[field];
  return [field, spec.default];
});

const OWN_DEFAULT: Origin = {
  kind: 'default',
  get note() {
    return say('{0} default', 'Oomlint');
  },
};

/** Nobody states the value, not even a framework by its default: it is what the vocabulary takes. */
export function isAssumed(origin: Origin | undefined): boolean {
  return origin === OWN_DEFAULT;
}

/** Structural equality of field values; objects are compared as written. */
export function sameValue(a: unknown, b: unknown): boolean {
  return (
    a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
  );
}

/** The three ways to name a model exclude each other: the strongest statement of any of them is the model. */
const MODEL_FIELDS: readonly FieldPath[] = ['model.config', 'model.path', 'model.id'];

function pickModel(winners: Map<FieldPath, Fact>, overruled: Fact[]): void {
  const stated = MODEL_FIELDS.flatMap((field) => winners.get(field) ?? []);
  const best = stated.reduce<Fact | undefined>(
    (chosen, other) => (!chosen || strength(other.origin) < strength(chosen.origin) ? other : chosen),
    undefined,
  );
  for (const other of stated) {
    // One source may give a name and a path for the same model.
    if (best && strength(other.origin) > strength(best.origin)) {
      winners.delete(other.field);
      overruled.push(other);
    }
  }
  // Sizes of another model than the one that is taken. Embeddings of another length any model may get.
  const changes = winners.get('model.changes');
  const isOfAny = changes && Object.keys(changes.value).every((key) => key === 'vocab_size');
  if (best && changes && !isOfAny && strength(changes.origin) > strength(best.origin)) {
    winners.delete('model.changes');
    overruled.push(changes);
  }
}

/**
 * A range of releases, or a release that nobody names, gives way to what the file's own arguments tell: a newer release would not
 * take them. Outside of the range they prove nothing.
 */
function narrowVersions(winners: Map<FieldPath, Fact>, overruled: Fact[]): void {
  for (const other of overruled) {
    const winner = winners.get(other.field);
    if (!winner || !other.field.startsWith('version.') || other.origin.kind !== 'inferred') continue;
    const { kind, orElse, pinned } = winner.origin;
    const isHead = kind === 'environment' && pinned === 'by-newest-release';
    const isOfNobody = kind === 'default' && pinned === undefined;
    if (orElse === undefined && !isHead && !isOfNobody) continue;
    const isOlder = isAtLeast(other.value, String(winner.value)) === false;
    const isAllowed = orElse === undefined || isAtLeast(other.value, orElse) !== false;
    if (!isOlder || !isAllowed) continue;
    const least = orElse === undefined || orElse === other.value ? {} : { orElse };
    winners.set(other.field, { ...other, origin: { ...other.origin, ...least } });
    overruled.splice(overruled.indexOf(other), 1, winner);
  }
}

/** What is missing where nobody states a field that every run needs. */
export const REASONS: Partial<Record<FieldPath, string>> = {
  'model.id': 'Nothing that is read of the files names the model.',
  'batch.micro': 'Nothing that is read of the files says how many samples a GPU takes per forward pass.',
  'batch.sequence': 'Nothing that is read of the files says how many tokens a sample has.',
  'hardware.gpu': 'Nothing that is read of the files says which GPU the run uses.',
  'hardware.gpus': 'Nothing that is read of the files says how many GPUs the run uses.',
};

/** Why a field is unknown that nobody states. */
export function unstated(field: FieldPath): string {
  const reason = REASONS[field];
  return reason === undefined ? say('No file sets it.') : say(reason);
}

/** What has no part in the memory of a training step. */
const INDECISIVE = /^(schedule|evaluation|version)\./;

/**
 * A value that cannot be meant, of something that the estimate depends on, where nothing of its strength or more states
 * another: what holds in its place is a guess.
 */
function decides({ fact: stated }: RejectedFact, winners: ReadonlyMap<FieldPath, Fact>): boolean {
  const winner = winners.get(stated.field);
  if (INDECISIVE.test(stated.field)) return false;
  if (!winner || strength(winner.origin) > strength(stated.origin)) return true;
  // One key of a shape among many: the rest of it is stated all the same.
  return stated.field === 'model.config' && strength(winner.origin) === strength(stated.origin);
}

function unknownFields(
  values: RunValues,
  rejected: readonly RejectedFact[],
  winners: ReadonlyMap<FieldPath, Fact>,
): ResolvedRun['unknown'] {
  const unknown: { field: FieldPath; reason: string }[] = [];
  const reasonOf = (field: FieldPath) => {
    const bad = rejected.find((entry) => entry.fact.field === field);
    return bad ? `${shortAlias(field)}: ${bad.reason}.` : unstated(field);
  };
  if (MODEL_FIELDS.every((field) => values[field] === undefined)) {
    unknown.push({ field: 'model.id', reason: reasonOf('model.id') });
  }
  for (const field of rejected.length > 0 ? FIELD_PATHS : REQUIRED) {
    const bad = rejected.some((entry) => entry.fact.field === field && decides(entry, winners));
    if (bad || (REQUIRED.includes(field) && values[field] === undefined)) {
      unknown.push({ field, reason: reasonOf(field) });
    }
  }
  const gpu = values['hardware.gpu'];
  if (gpu !== undefined && values['hardware.gpuMemory'] === undefined && !findAccelerator(gpu)) {
    const hint = suggested(suggestAccelerators(gpu));
    unknown.push({
      field: 'hardware.gpu',
      reason:
        tooManyCounted(gpu) ??
        say('Unknown GPU "{0}".{1} Choose one, or set `hardware.gpuMemory`.', gpu, hint),
    });
  }
  return unknown;
}

/** Machine names (`p4d.24xlarge`) become the card they hold, and say how many of it there are. */
function readHardware(winners: Map<FieldPath, Fact>): void {
  const gpu = winners.get('hardware.gpu');
  if (gpu?.field !== 'hardware.gpu') {
    const memory = winners.get('hardware.gpuMemory');
    if (memory?.field === 'hardware.gpuMemory') {
      const note = say('named after its memory, {0}', formatBytes(memory.value));
      winners.set(
        'hardware.gpu',
        fact('hardware.gpu', say('GPU with {0}', formatBytes(memory.value)), { kind: 'inferred', note }),
      );
    }
    return;
  }
  const match = matchAccelerator(gpu.value);
  if (!match) {
    return;
  }
  if (match.accelerator.name !== gpu.value) {
    const note = [gpu.origin.note, match.note ?? `"${gpu.value}"`]
      .filter((part) => part !== undefined)
      .join('; ');
    winners.set('hardware.gpu', fact('hardware.gpu', match.accelerator.name, { ...gpu.origin, note }));
  }
  if (match.instance && !winners.has('hardware.instance')) {
    winners.set('hardware.instance', fact('hardware.instance', match.instance.instance, gpu.origin));
  }
  if (match.gpus !== undefined && !winners.has('hardware.gpus')) {
    const nodes = winners.get('hardware.nodes');
    const count = match.gpus * (nodes?.field === 'hardware.nodes' ? nodes.value : 1);
    winners.set(
      'hardware.gpus',
      fact('hardware.gpus', count, {
        ...gpu.origin,
        note: say('{0} in one "{1}"', String(match.gpus), gpu.value),
      }),
    );
  }
}

function complete(values: RunValues, unknown: ResolvedRun['unknown']): TrainingRun | undefined {
  // Every field with a default has one by now, and no required field is unknown.
  return unknown.length === 0 ? (values as TrainingRun) : undefined;
}

/**
 * Joins statements into one run. The strongest origin of each field wins (`ORIGIN_KINDS`, earlier statements before
 * later ones of equal strength), losers with another value are kept as overruled, what follows from the rest is
 * derived, and the vocabulary's defaults fill what is left. `needs`: first releases that have what the run takes of packages. Never throws.
 */
export function resolveRun(facts: readonly Fact[], needs: Needs = {}): Resolution {
  const rejected: RejectedFact[] = [];
  const overruled: Fact[] = [];
  const winners = new Map<FieldPath, Fact>();
  for (const stated of byStrength(facts)) {
    const reason = errorOf(stated);
    if (reason !== undefined) {
      rejected.push({ fact: stated, reason });
      continue;
    }
    const winner = winners.get(stated.field);
    if (!winner) {
      winners.set(stated.field, stated);
    } else if (!sameValue(winner.value, stated.value)) {
      overruled.push(stated);
    }
  }
  narrowVersions(winners, overruled);
  raiseOldest(winners, needs);
  joinReleases(winners, overruled, needs);
  raiseOldest(winners, neededByPackages(winners, needs));
  pickModel(winners, overruled);
  readHardware(winners);
  derive(winners);

  const values: Record<string, unknown> = {};
  const origins: Partial<Record<FieldPath, Origin>> = {};
  for (const [field, otherwise] of DEFAULTS) {
    const winner = winners.get(field);
    if (winner) {
      values[field] = winner.value;
      origins[field] = winner.origin;
    } else if (otherwise !== undefined) {
      values[field] = otherwise;
      origins[field] = OWN_DEFAULT;
    }
  }
  const unknown = unknownFields(values, rejected, winners);
  return { values, origins, overruled, unknown, run: complete(values, unknown), rejected, winners, needs };
}
