import { isFilledLater } from '../config/filled-later';
import type { ConfigDocument, ConfigNode, ScalarNode } from '../config/node';
import { VERSION_FIELDS, type VersionedPackage } from '../environment/versions';
import { rememberedOf } from '../memo/remembered';
import type { RuleId } from '../rules/rule-id';
import { FIELDS, type FieldPath, type FieldSpec, type FieldValue } from '../run/fields';
import { newerOf } from '../run/oldest-releases';
import { type Fact, fact, isStated, type Origin } from '../run/origin';
import { fieldError } from '../run/parse-field';
import type { Unread, UnreadKind } from '../run/unread';
import type { KnownVersion, Versions } from '../run/versions';
import type { UnmodelledFeature } from '../terms/unmodelled-features';
import { isAtLeast } from '../terms/version';
import { beginTogether, locationOf, type Range } from '../text/place';
import type { Problem, ProblemCode, Severity } from '../text/problem';
import { closest, MOST_LOOKED_FOR } from '../wording/closest';
import { say } from '../wording/say';
import type {
  Asking,
  AutoValue,
  FileLink,
  KeyGroup,
  ReadContext,
  Reading,
  TrainerNotModelled,
} from './dialect';
import { type Releases, type Standing, standingOf } from './release';

/** What stands for nothing, or is data. */
const STATES_NOTHING = /^(none|null|nil|no|off|false|auto|)$|\n|^.{80}/i;

/** More about a problem than where and what. */
interface ProblemDetail {
  readonly related?: readonly { readonly range: Range; readonly message: string }[];
  readonly source?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** More about what a framework refuses. */
export interface RefusalDetail extends ProblemDetail {
  /** Where the framework's source states it, at the release that was read. */
  readonly source: string;
  /**
   * Set where it is a matter of the release: a key, or a value by itself, that one release knows and another does not. Unset
   * where what the file states contradicts itself, which no release takes.
   */
  readonly releases?: Releases;
}

/** Scripts of one project give the same words that nobody knows again and again: so many are remembered of each list. */
const MOST_NEAREST = 64;
const nearest = rememberedOf<readonly string[], string[]>(MOST_NEAREST);

/** A reading in the making: a dialect states, assumes and reports while it walks its file. */
export class Draft {
  readonly facts: Fact[] = [];
  readonly links: FileLink[] = [];
  readonly problems: Problem[] = [];
  /** What the framework stops on at values of other files. */
  private readonly elsewhere: Problem[] = [];
  readonly autos: AutoValue[] = [];
  readonly keys: KeyGroup[] = [];
  readonly unread: Unread[] = [];
  joinsOnly = false;
  notModelled?: TrainerNotModelled;
  wholeAt?: Range | undefined;
  asking?: Asking | undefined;
  givesOptimizer = false;
  earlier: NonNullable<Reading['earlier']> = { bytes: 0, besideTrained: false };
  readonly needs: Partial<Record<FieldPath, string>> = {};
  private withoutDefaults = false;
  private lookedFor = 0;
  private readonly waiting: (() => void)[] = [];
  /** Where values of other files are taken, by their places. */
  private readonly takenAt = new Map<string, Range>();

  readonly uri: string;
  /** Values are words of a command: whoever is started reads them as it needs. */
  readonly commandLine: boolean;
  /** Lines with broken syntax: what is read there is a guess, and complaints about it are noise. */
  private readonly broken: ReadonlySet<number>;

  private readonly versions: Versions;

  constructor(document: ConfigDocument, { versions = {} }: Pick<ReadContext, 'versions'> = {}) {
    this.uri = document.uri;
    this.versions = versions;
    this.commandLine = document.format === 'shell';
    this.broken = new Set(
      document.problems
        .filter((problem) => problem.code === 'syntax')
        .map((problem) => problem.range.start.line),
    );
  }

  /**
   * The file states it, at this value. A number that cannot be meant (a rank of -8) goes on, so that whoever resolves the run
   * reports it and estimates nothing in its place; numbers by which frameworks say "none" state nothing, nor do words that
   * the vocabulary does not have, which rules report.
   */
  state<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    node: ConfigNode | { range: Range },
    key: string,
    note?: string,
    guess?: boolean,
  ): void {
    if (fieldError(field, value) !== undefined && !isSlip(field, value)) {
      if (typeof value === 'string' && 'kind' in node) this.leaveWord([field], node, key);
      return;
    }
    // What comes out of a file that this one starts from counts as that file's.
    const kind = node.range.uri === undefined ? 'file' : 'linked-file';
    const location = locationOf(node.range, this.uri);
    this.facts.push(fact(field, value, { kind, location, key, note, ...(guess ? { guess } : {}) }));
  }

  /** A feature of the run that is not modelled, beside those that are known of it. */
  bring(feature: UnmodelledFeature, node: ConfigNode | { range: Range }, key: string): void {
    if (!this.features().includes(feature))
      this.state('features.unmodelled', this.takeFeatures(feature), node, key);
  }

  /** The same, where no file states it. */
  bringByDefault(feature: UnmodelledFeature, note: string, source: string): void {
    this.assume('features.unmodelled', this.takeFeatures(feature), note, source);
  }

  private features(): string[] {
    const known = this.valueOf('features.unmodelled');
    return Array.isArray(known) ? known.map(String) : [];
  }

  /** What is not modelled so far and one feature more, to be stated anew. */
  private takeFeatures(more: UnmodelledFeature): string[] {
    const all = [...this.features(), more];
    this.forget('features.unmodelled');
    return all;
  }

  /** What stands there cannot be read as these fields: nothing else is taken for them without a word. */
  reject(fields: readonly FieldPath[], node: ScalarNode, key: string): void {
    const kind = node.range.uri === undefined ? 'file' : 'linked-file';
    const origin = { kind, location: locationOf(node.range, this.uri), key } as const;
    for (const field of fields) this.facts.push(fact(field, node.value as FieldValue<FieldPath>, origin));
  }

  /** From here on nothing is assumed: another file, which is linked, states what this one does not. */
  assumesNothing(): void {
    this.withoutDefaults = true;
  }

  /** The framework's default, because the file does not state it. */
  assume<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    note: string,
    source?: string,
    key?: string,
  ): void {
    if (this.withoutDefaults) return;
    this.facts.push(fact(field, value, { kind: 'default', note, source, key }));
  }

  /** The file cannot run on older releases of a package than this one. */
  need(name: string, release: string | undefined): void {
    const field = VERSION_FIELDS[name as VersionedPackage] as FieldPath | undefined;
    if (field !== undefined && release !== undefined) this.needs[field] = newerOf(this.needs[field], release);
  }

  /** The file runs on no newer release of a package than this one: of several limits the oldest counts. */
  limitRelease(
    field: 'version.transformers',
    release: string,
    note: string,
    range: Range,
    key: string,
  ): void {
    const known = this.facts.findIndex((one) => one.field === field && one.origin.kind === 'inferred');
    const before = this.facts[known];
    if (before && isAtLeast(release, String(before.value)) !== false) return;
    if (before) this.facts.splice(known, 1);
    this.infer(field, release, note, { range }, key);
  }

  /** Follows from what the file states together with something that it does not say. */
  infer<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    note: string,
    node?: { range: Range },
    key?: string,
    guess?: boolean,
  ): void {
    this.#inferred(field, value, { note, key, guess }, node);
  }

  /** Not what the field cannot be: whoever works a value out may come upon one. */
  #inferred<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    origin: Omit<Origin, 'kind' | 'location'>,
    node: { range: Range } | undefined,
  ): void {
    if (this.withoutDefaults || fieldError(field, value) !== undefined) return;
    const location = node && locationOf(node.range, this.uri);
    this.facts.push(fact(field, value, { ...origin, kind: 'inferred', location }));
  }

  /** The same of one of two values that are as likely as each other: the estimate covers both. */
  inferEither<P extends 'precision.weights' | 'rollout.sleep'>(
    field: P,
    [value, orElse]: readonly [FieldValue<P>, FieldValue<P>],
    note: string,
    node?: { range: Range },
    key?: string,
  ): void {
    this.#inferred(field, value, { note, key, orElse: String(orElse) }, node);
  }

  /** The same of a limit, which stands for what is below it: a guess, and the most that it may be. */
  limit<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    note: string,
    node: { range: Range } | undefined,
    key?: string,
  ): void {
    this.#inferred(field, value, { note, key, guess: true, atMost: true }, node);
  }

  /** A guess that another value may be as right as: what that one needs is reported with it. */
  suppose(
    field: 'batch.sequence',
    value: number,
    otherwise: number,
    note: string,
    node?: { range: Range },
    key?: string,
  ): void {
    this.#inferred(field, value, { note, key, guess: true, orElse: String(otherwise) }, node);
  }

  /** A value of another file that is no config of its own: what is wrong with it is reported where this file takes it. */
  takes(range: Range, at: Range): void {
    if (range.uri !== undefined && at.uri === undefined) this.takenAt.set(spelled(range), at);
  }

  /** What is wrong in another file, which this one starts from, is reported there. */
  report(
    code: ProblemCode,
    severity: Severity,
    message: string,
    range: Range,
    detail: ProblemDetail = {},
  ): void {
    const here = range.uri === undefined ? range : this.takenAt.get(spelled(range));
    if (!here || this.broken.has(here.start.line)) return;
    const related = detail.related?.map(({ range: place, message: sentence }) => ({
      ...locationOf(place, this.uri),
      message: sentence,
    }));
    // What mends a value is written where it stands: not here, where only its name does.
    const data = range.uri === undefined ? detail.data : undefined;
    this.problems.push({ code, severity, message, ...detail, range: here, related, data });
  }

  /**
   * Rules of the framework: they report and say nothing else. They are looked at when somebody asks for the problems of the
   * reading: most readings are made for their facts.
   */
  rules(look: () => void): void {
    this.waiting.push(look);
  }

  /**
   * The framework stops on this: every refusal of every family comes through here. It is an error where it holds for sure, and a
   * warning that names the version where that is not known to refuse it. False where the version is known to take it.
   */
  refuse(code: RuleId, message: string, range: Range, { releases, ...detail }: RefusalDetail): boolean {
    const standing = releases && standingOf(detail.source, releases, this.versions);
    if (releases && !standing) return false;
    const { severity = 'error', doubt = '' } = standing ?? {};
    const sentence = doubt === '' ? message : `${message} ${doubt}`;
    if (range.uri === undefined || this.takenAt.has(spelled(range)))
      this.report(code, severity, sentence, range, detail);
    else this.elsewhere.push({ code, severity, message: sentence, source: detail.source, range });
    return true;
  }

  /** The release of a package that somebody names. */
  statedVersion(name: string): KnownVersion | undefined {
    const known = this.versions[name];
    return known?.source === 'assumed' ? undefined : known;
  }

  /** How surely a release refuses something; undefined where it is known to take it. */
  standing(source: string, releases: Releases): Standing | undefined {
    return standingOf(source, releases, this.versions);
  }

  /** Whether a release that somebody names refuses something: of one that nobody names, whoever wrote the file has one that takes it. */
  isRefusedByNamed(source: string, releases: Releases): boolean {
    return this.standing(source, releases)?.doubt === '';
  }

  /** Names that somebody may have meant by one that is unknown; none in a file that is full of unknown ones. */
  near(name: string, names: readonly string[], limit?: number): string[] {
    return ++this.lookedFor > MOST_LOOKED_FOR
      ? []
      : nearest.of(names, `${limit} ${name}`, () => closest(name, names, limit));
  }

  /** Something here is not understood; `fields` are those that it decides, where that is known. */
  leave(
    kind: UnreadKind,
    node: { range: Range },
    text: string,
    message: string,
    fields?: readonly FieldPath[],
    examples?: Unread['examples'],
  ): void {
    const location = locationOf(node.range, this.uri);
    this.unread.push({
      kind,
      location,
      text,
      message,
      ...(fields ? { fields } : {}),
      ...(examples ? { examples } : {}),
    });
  }

  /** Words stand there for certain, which are read or printed as the script runs. */
  leaveWords(node: { range: Range }, text: string): void {
    const message = say('`{0}` holds words that are known only when the script runs.', text);
    const location = locationOf(node.range, this.uri);
    this.unread.push({ kind: 'words', location, text, message, holdsWords: true });
  }

  /** What is passed there is known, and what it changes is not part of the estimate. */
  leaveUncounted(node: { range: Range }, name: string, fields?: readonly FieldPath[]): void {
    this.leave('value', node, name, say('What `{0}` changes is not counted.', name), fields);
  }

  /** What is trained is known, and is of no kind that is estimated. */
  refuseTask(node: { range: Range }, name: string): void {
    this.leave('refused', node, name, say('What `{0}` trains is not estimated.', name));
  }

  /** The run is on CPUs, and takes no GPU memory. */
  refuseCpu(node: { range: Range }, name: string): void {
    this.unread.push({ ...this.refusedDevice(node, name, say('CPUs')), onCpu: true });
  }

  /** The run is on devices of another kind than is estimated. */
  refuseDevice(node: { range: Range }, name: string, devices: string): void {
    this.unread.push(this.refusedDevice(node, name, devices));
  }

  private refusedDevice(node: { range: Range }, text: string, devices: string): Unread {
    const message = say('Oomlint estimates GPU memory: runs on {0} are read but not estimated.', devices);
    return { kind: 'refused', location: locationOf(node.range, this.uri), text, message };
  }

  /**
   * A word that nobody here knows states nothing: what its framework makes of it is not known. `kind` is a flag where the code of a script
   * has it, which tells where it is followed.
   */
  leaveWord(
    fields: readonly FieldPath[] | undefined,
    node: ConfigNode,
    key: string,
    kind: 'flag' | 'value' = 'value',
  ): void {
    if (statesNothing(node)) return;
    if (
      fields?.every((field) => this.statesWhole(field)) ||
      this.statesBy(node.range) ||
      this.hasLeft(node.range)
    )
      return;
    const name = this.commandLine ? `--${key.split('.').at(-1)}` : key;
    if (node.kind !== 'scalar') {
      const what = node.kind === 'map' ? say('a mapping') : say('a list');
      this.leave(kind, node, name, say('`{0}` takes {1}, which is not known.', name, what), fields);
      return;
    }
    const message = say('`{0}` takes `{1}`, which is not known.', name, node.text);
    this.leave(kind, node, `${name}: ${node.text}`, message, fields);
  }

  /** Whether something is left at a place. */
  hasLeft(range: Range): boolean {
    const { uri, range: at } = locationOf(range, this.uri);
    return this.unread.some(({ location }) => location.uri === uri && beginTogether(location.range, at));
  }

  /** Takes back what was assumed of fields that the file states with a value that is not known. */
  withdraw(fields: readonly FieldPath[]): void {
    const stated = this.facts.filter(({ field, origin }) => !fields.includes(field) || isStated(origin));
    this.facts.splice(0, this.facts.length, ...stated);
  }

  /** Takes back whatever was stated or assumed of fields: something else decides them. */
  forget(...fields: readonly FieldPath[]): void {
    const others = this.facts.filter(({ field }) => !fields.includes(field));
    this.facts.splice(0, this.facts.length, ...others);
  }

  /** What was stated or assumed of a field first. */
  valueOf(field: FieldPath): Fact['value'] | undefined {
    return this.facts.find((known) => known.field === field)?.value;
  }

  /** The version of a package that was stated already, by its name; what is stated elsewhere goes before what is inferred here. */
  versionOf(name: string): string | undefined {
    const field: FieldPath | undefined = VERSION_FIELDS[name as VersionedPackage];
    const here = field && this.facts.findLast((known) => known.field === field);
    const elsewhere = this.versions[name];
    const isWeak = !here || here.origin.kind === 'inferred' || here.origin.kind === 'default';
    if (isWeak && elsewhere && elsewhere.source !== 'assumed') return elsewhere.version;
    const own = here?.value as string | undefined;
    // What is inferred of one package may narrow what is inferred of another.
    const isNarrowed = isWeak && elsewhere && isAtLeast(elsewhere.version, own ?? '0') === false;
    return isNarrowed && own !== undefined ? elsewhere.version : own;
  }

  /** Whether something was stated about a field already. */
  knows(field: FieldPath): boolean {
    return this.facts.some((known) => known.field === field);
  }

  /** Whether a value states something. */
  private statesBy(range: Range): boolean {
    const at = locationOf(range, this.uri);
    return this.facts.some(
      ({ origin }) => origin.location?.uri === at.uri && beginTogether(origin.location.range, at.range),
    );
  }

  /** Whether the file itself states a field. */
  states(field: FieldPath): boolean {
    return this.facts.some((known) => known.field === field && known.origin.kind !== 'default');
  }

  /** Whether the file states a field at another place than this one. */
  statesElsewhere(field: FieldPath, range: Range): boolean {
    const at = locationOf(range, this.uri);
    return this.facts.some(
      ({ field: known, origin: { kind, location } }) =>
        known === field &&
        (kind === 'file' || kind === 'linked-file') &&
        !(location && location.uri === at.uri && beginTogether(location.range, at.range)),
    );
  }

  /** The same of a field that one key states alone: a model's shape has many. */
  private statesWhole(field: FieldPath): boolean {
    return field !== 'model.config' && this.states(field);
  }

  auto(key: string, node: ConfigNode): void {
    if (!this.autos.some((known) => known.key === key)) this.autos.push({ key, range: node.range });
  }

  /** What `read` finds to be `auto` is filled by those that fill it in the files of another family, whose settings these are. */
  filledAs<T>(family: string, read: () => T): T {
    const before = this.autos.length;
    const result = read();
    const own = this.autos.splice(before).map((auto) => ({ ...auto, family }));
    this.autos.push(...own);
    return result;
  }

  /** Takes what another family read out of a part of this document: a config that a script writes, for example. */
  take(part: Reading, family: string): void {
    // The file is still what it is.
    this.facts.push(...part.facts.filter(({ field }) => field !== 'framework'));
    this.links.push(...part.links);
    this.problems.push(...part.problems);
    this.unread.push(...(part.unread ?? []));
    this.autos.push(...part.autos.map((auto) => ({ ...auto, family })));
  }

  reading(): Reading {
    const { facts, links, problems, elsewhere, autos, keys, unread, waiting } = this;
    const own = {
      ...(keys.length > 0 ? { keys } : {}),
      ...(unread.length > 0 ? { unread } : {}),
      ...(this.joinsOnly ? { joinsOnly: true } : {}),
      ...(this.wholeAt ? { wholeAt: this.wholeAt } : {}),
      ...(Object.keys(this.needs).length > 0 ? { needs: this.needs } : {}),
      ...(this.asking ? { asking: this.asking } : {}),
      ...(this.earlier.bytes > 0 ? { earlier: this.earlier } : {}),
      ...(this.givesOptimizer ? { givesOptimizer: true as const } : {}),
      ...(this.notModelled ? { notModelled: this.notModelled } : {}),
    };
    let shown: readonly Problem[] | undefined;
    const look = () => {
      for (const one of waiting.splice(0)) one();
    };
    return {
      facts,
      links,
      get problems() {
        look();
        shown ??= withoutHintsBeside(problems);
        return shown;
      },
      get refusedElsewhere() {
        look();
        return elsewhere;
      },
      autos,
      ...own,
    };
  }
}

/** That a key is an old spelling goes without a hint where it is refused, or does nothing: one message for one fault. */
function withoutHintsBeside(problems: readonly Problem[]): readonly Problem[] {
  const isSpelling = ({ code, severity }: Problem) => code === 'deprecated-key' && severity === 'hint';
  const judged = new Set(
    problems.flatMap(({ severity, range }) =>
      severity === 'error' || severity === 'warning' ? [spelled(range)] : [],
    ),
  );
  if (!problems.some((problem) => isSpelling(problem) && judged.has(spelled(problem.range)))) return problems;
  return problems.filter((problem) => !(isSpelling(problem) && judged.has(spelled(problem.range))));
}

const spelled = ({ uri, start, end }: Range) =>
  [uri, start.line, start.character, end.line, end.character].join(':');

/** No word: blank, or a switch that is off, which states that there is none; an empty block or list holds nothing. */
function statesNothing(node: ConfigNode): boolean {
  if (node.kind === 'map') return node.entries.length === 0;
  if (node.kind === 'list') return node.items.length === 0;
  if (node.value === null || node.value === false) return true;
  return STATES_NOTHING.test(String(node.value)) || isFilledLater(String(node.value));
}

/** A number that is no way to say none. */
function isSlip(field: FieldPath, value: unknown): boolean {
  const spec: FieldSpec = FIELDS[field];
  if ((spec.type !== 'integer' && spec.type !== 'number') || !Number.isFinite(value)) return false;
  const none = spec.type === 'integer' ? spec.none : undefined;
  return none === 'negative' ? (value as number) > 0 : !none?.includes(value as number);
}
