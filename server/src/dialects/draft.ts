import type { ConfigDocument, ConfigNode, Problem, Severity } from '../config/node';
import { FIELDS, type FieldPath, type FieldSpec, type FieldValue } from '../run/fields';
import { type Fact, fact, locationOf, type Range } from '../run/origin';
import { fieldError } from '../run/parse-field';
import type { AutoValue, FileLink, KeyGroup, Reading } from './dialect';

/** More about a problem than where and what. */
export interface ProblemDetail {
  readonly related?: readonly { readonly range: Range; readonly message: string }[];
  readonly source?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A reading in the making: a dialect states, assumes and reports while it walks its file. */
export class Draft {
  readonly facts: Fact[] = [];
  readonly links: FileLink[] = [];
  readonly problems: Problem[] = [];
  readonly autos: AutoValue[] = [];
  readonly keys: KeyGroup[] = [];
  instance?: Reading['instance'];
  private silent = false;

  readonly uri: string;
  /** Values are words of a command: whoever is started reads them as it needs. */
  readonly commandLine: boolean;
  /** Lines with broken syntax: what is read there is a guess, and complaints about it are noise. */
  private readonly broken: ReadonlySet<number>;

  constructor(document: ConfigDocument) {
    this.uri = document.uri;
    this.commandLine = document.format === 'shell';
    this.broken = new Set(
      document.problems
        .filter((problem) => problem.code === 'syntax')
        .map((problem) => problem.range.start.line),
    );
  }

  /**
   * The file says so, at this value. Values that the vocabulary cannot hold are dropped: rules report them. Only where no run
   * can be without the field they go on, so that whoever resolves the run says why it is unknown.
   */
  state<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    node: { range: Range },
    key: string,
    note?: string,
  ): void {
    if (fieldError(field, value) !== undefined && !isSlipped(field, value)) return;
    // What comes out of a file that this one starts from counts as that file's.
    const kind = node.range.uri === undefined ? 'file' : 'linked-file';
    this.facts.push(fact(field, value, { kind, location: locationOf(node.range, this.uri), key, note }));
  }

  /** From here on nothing is assumed: another file, which is linked, speaks where this one is silent. */
  assumesNothing(): void {
    this.silent = true;
  }

  /** The framework's default, because the file is silent. */
  assume<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    note: string,
    source?: string,
    key?: string,
  ): void {
    if (this.silent) return;
    this.facts.push(fact(field, value, { kind: 'default', note, source, key }));
  }

  /** Follows from what the file says together with something that it does not say. */
  infer<P extends FieldPath>(
    field: P,
    value: FieldValue<P>,
    note: string,
    node?: { range: Range },
    key?: string,
  ): void {
    if (this.silent || fieldError(field, value) !== undefined) return;
    const location = node && locationOf(node.range, this.uri);
    this.facts.push(fact(field, value, { kind: 'inferred', note, location, key }));
  }

  /** What is wrong in another file, which this one starts from, is reported there. */
  report(code: string, severity: Severity, message: string, range: Range, detail: ProblemDetail = {}): void {
    if (range.uri !== undefined || this.broken.has(range.start.line)) return;
    const related = detail.related?.map(({ range: place, message: said }) => ({
      ...locationOf(place, this.uri),
      message: said,
    }));
    this.problems.push({ code, severity, message, range, ...detail, related });
  }

  /** Whether something was said about a field already. */
  knows(field: FieldPath): boolean {
    return this.facts.some((known) => known.field === field);
  }

  auto(key: string, node: ConfigNode): void {
    if (!this.autos.some((known) => known.key === key)) this.autos.push({ key, range: node.range });
  }

  /** Takes what another family read out of a part of this document: a config that a script writes, for example. */
  take(part: Reading, family: string): void {
    // The file is still what it is.
    this.facts.push(...part.facts.filter(({ field }) => field !== 'framework'));
    this.links.push(...part.links);
    this.problems.push(...part.problems);
    this.autos.push(...part.autos.map((auto) => ({ ...auto, family })));
  }

  reading(): Reading {
    const { facts, links, problems, autos, instance, keys } = this;
    const own = keys.length > 0 ? { keys } : {};
    return instance
      ? { facts, links, problems, autos, instance, ...own }
      : { facts, links, problems, autos, ...own };
  }
}

/** A number of a field that every run needs; as a length, 0 and -1 are ways to say none. */
function isSlipped(field: FieldPath, value: unknown): boolean {
  const spec: FieldSpec = FIELDS[field];
  return (
    spec.required === true &&
    typeof value === 'number' &&
    !(field === 'batch.sequence' && (value === 0 || value === -1))
  );
}
