import ignore from 'ignore';
import type { ConfigDocument, ConfigNode, MapEntry, MapNode } from '../config/node';
import { parseConfig } from '../config/parse';
import type { RuleId } from '../rules/rule-id';
import { FIELDS, type FieldPath, type FieldSpec, type RunValues } from '../run/fields';
import { modelField } from '../run/model-field';
import type { Fact } from '../run/origin';
import { fieldNames, findField, parseFact, unknownFieldMessage } from '../run/parse-field';
import type { Range } from '../text/place';
import type { Problem, Severity } from '../text/problem';
import { relativePath } from '../text/uri';
import { closest, didYouMean, MOST_LOOKED_FOR } from '../wording/closest';
import { say } from '../wording/say';
import { isRuleId, RULES } from './rules';
import { unknownRule } from './unknown-rule';

/** What becomes of a rule: how bad its problems are, or that they are not reported. */
type RuleLevel = Severity | 'off';
const LEVELS: Readonly<Record<string, RuleLevel>> = {
  off: 'off',
  false: 'off',
  hint: 'hint',
  info: 'information',
  information: 'information',
  warn: 'warning',
  warning: 'warning',
  error: 'error',
};
/** Levels by the names of rules. */
export type RuleLevels = ReadonlyMap<string, RuleLevel>;

/** What a run measured, and what it was then: facts of runs that are still like it. */
export interface MeasuredEntry {
  /** Log or folder of the run, as the person named it. */
  readonly source: string;
  /** Configs of the run, as in .gitignore. */
  readonly match: readonly string[];
  /** Values that the run had. */
  readonly when: RunValues;
  /** Keys at the top of the config with the values that they had, as JSON: the data, which no field holds. */
  readonly keys: ReadonlyMap<string, string>;
  readonly facts: readonly Fact[];
  readonly range: Range;
}

/** What an `oomlint.yaml` states: the hardware runs go to, facts for every file, and facts for some. */
export interface ProjectFile {
  readonly uri: string;
  /** Facts for all files: `targets` (hardware), then `defaults`. */
  readonly facts: readonly Fact[];
  readonly files: readonly {
    readonly match: readonly string[];
    readonly facts: readonly Fact[];
    readonly rules: RuleLevels;
  }[];
  readonly measured: readonly MeasuredEntry[];
  /** Levels of rules for all files. */
  readonly rules: RuleLevels;
  /** Vocabulary files that it names. */
  readonly vocabularies: readonly { readonly path: string; readonly range: Range }[];
  readonly problems: readonly Problem[];
}

/** Value of a node as plain data. */
export function plainValue(node: ConfigNode): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(plainValue);
    case 'map':
      return Object.fromEntries(node.entries.map((entry) => [entry.key, plainValue(entry.value)]));
  }
}

class Reader {
  readonly problems: Problem[] = [];
  readonly #uri: string;

  constructor(uri: string) {
    this.#uri = uri;
  }

  /** More problems than anybody reads: the file is of another kind. */
  get full(): boolean {
    return this.problems.length >= MOST_LOOKED_FOR;
  }

  report(code: RuleId, message: string, range: Range, replacement?: string): void {
    const data = replacement === undefined ? undefined : { replacement };
    this.problems.push({ code, severity: 'warning', message, range, data });
  }

  /** Facts of one mapping. Groups may be nested: `batch: {micro: 2}` is `batch.micro`. */
  facts(map: MapNode, path: readonly string[], skip: readonly string[] = [], prefix = ''): Fact[] {
    return map.entries.flatMap((entry) => {
      if (prefix === '' && skip.includes(entry.key)) {
        return [];
      }
      const name = `${prefix}${entry.key}`;
      const field = findField(name);
      const spec: FieldSpec | undefined = field && FIELDS[field];
      if (entry.value.kind === 'map' && spec?.type !== 'object') {
        return this.facts(entry.value, [...path, entry.key], skip, `${name}.`);
      }
      return field ? this.#fact(entry, field, [...path, entry.key]) : this.#unknown(entry, name);
    });
  }

  #unknown(entry: MapEntry, name: string): Fact[] {
    if (this.full) return [];
    this.report(
      'unknown-field',
      unknownFieldMessage(name),
      entry.keyRange,
      closest(name, fieldNames(), 1)[0],
    );
    return [];
  }

  #fact(entry: MapEntry, named: FieldPath, path: readonly string[]): Fact[] {
    const raw = plainValue(entry.value);
    // A blank value takes no side, as in the configs themselves.
    if (raw === null) {
      return [];
    }
    const field = named === 'model.id' ? modelField(raw) : named;
    const parsed = parseFact(field, raw, {
      kind: 'project',
      location: { uri: this.#uri, range: entry.value.range },
      key: path.join('.'),
      note: 'oomlint.yaml',
    });
    if ('error' in parsed) {
      this.report('bad-value', `${entry.key}: ${parsed.error}.`, entry.value.range);
      return [parsed.rejected];
    }
    return [parsed.value];
  }

  /** A mapping of rules to levels. A rule that a vocabulary teaches may have any name. */
  levels(entry: MapEntry | undefined): RuleLevels {
    if (!entry || (entry.value.kind === 'scalar' && entry.value.value === null)) return new Map();
    if (entry.value.kind !== 'map') {
      this.report('project-file', say('rules is a mapping of rules to levels.'), entry.keyRange);
      return new Map();
    }
    return new Map(
      entry.value.entries.flatMap(({ key, keyRange, value }): [string, RuleLevel][] => {
        const level = value.kind === 'scalar' ? LEVELS[String(value.value)] : undefined;
        if (!isRuleId(key) && closest(key, Object.keys(RULES), 1).length > 0)
          this.problems.push(unknownRule(key, keyRange));
        if (level === undefined) {
          const words = [...new Set(Object.values(LEVELS))].join(', ');
          this.report('bad-value', say('{0}: one of {1} is needed.', key, words), value.range);
          return [];
        }
        return [[key, level]];
      }),
    );
  }

  /** An entry of `files`; none where it is no mapping. */
  files(item: ConfigNode): ProjectFile['files'] {
    if (item.kind !== 'map') {
      this.report('project-file', say('files is a list of mappings, each with a match.'), item.range);
      return [];
    }
    const own = (name: string) => item.entries.find(({ key }) => key === name);
    return [
      {
        match: this.patterns(own('match'), item),
        facts: this.facts(item, ['files'], ['match', 'rules']),
        rules: this.levels(own('rules')),
      },
    ];
  }

  /** An entry of `vocabularies`; none where it is no text. */
  vocabulary(item: ConfigNode): ProjectFile['vocabularies'] {
    if (item.kind === 'scalar' && typeof item.value === 'string')
      return [{ path: item.value, range: item.range }];
    this.report('project-file', say('vocabularies is a list of files that teach flags.'), item.range);
    return [];
  }

  /** An entry of `measured`; none where it is no mapping, or states no source. */
  measured(map: ConfigNode): MeasuredEntry[] {
    if (map.kind !== 'map') {
      const message = say('measured is a list of mappings, each with a source and a match.');
      this.report('project-file', message, map.range);
      return [];
    }
    const own = (name: string) => map.entries.find(({ key }) => key === name)?.value;
    const source = own('source');
    const when = own('when');
    const keys = own('keys');
    const match = this.patterns(
      map.entries.find(({ key }) => key === 'match'),
      map,
    );
    const name = source?.kind === 'scalar' && typeof source.value === 'string' ? source.value : undefined;
    if (name === undefined) {
      this.report(
        'bad-value',
        say('source: the log or the folder is needed that this was measured in.'),
        source?.range ?? map.entries[0]?.keyRange ?? map.range,
      );
      return [];
    }
    const conditions = when?.kind === 'map' ? this.facts(when, ['measured', 'when']) : [];
    const values = Object.fromEntries(conditions.map(({ field, value }) => [field, value])) as RunValues;
    const note = say('measured in {0}', name);
    return [
      {
        source: name,
        match,
        when: values,
        keys: new Map(
          keys?.kind === 'map'
            ? keys.entries.map(({ key, value }): [string, string] => [key, JSON.stringify(plainValue(value))])
            : [],
        ),
        facts: this.facts(map, ['measured'], ['source', 'match', 'when', 'keys']).map(
          (stated): Fact => ({ ...stated, origin: { ...stated.origin, note, while: values } }),
        ),
        range: map.entries[0]?.keyRange ?? map.range,
      },
    ];
  }

  /** Patterns of a `files` entry, as in .gitignore. */
  patterns(entry: MapEntry | undefined, map: MapNode): string[] {
    const value = entry ? plainValue(entry.value) : undefined;
    const patterns = typeof value === 'string' ? [value] : value;
    if (
      Array.isArray(patterns) &&
      patterns.length > 0 &&
      patterns.every((item) => typeof item === 'string')
    ) {
      return patterns;
    }
    const range = entry?.keyRange ?? map.entries[0]?.keyRange ?? map.range;
    this.report(
      'bad-value',
      say('match: a pattern such as "configs/*.json" is needed, or a list of them.'),
      range,
    );
    return [];
  }
}

const SECTIONS: readonly string[] = ['targets', 'defaults', 'files', 'measured', 'vocabularies', 'rules'];

/** Reads a project file as far as it can be read; what cannot be is reported at its place. Never throws. */
function readProjectFile(document: ConfigDocument): ProjectFile {
  const reader = new Reader(document.uri);
  const facts: Fact[] = [];
  const files: ProjectFile['files'][number][] = [];
  const measured: MeasuredEntry[] = [];
  let rules: RuleLevels = new Map();
  const vocabularies: ProjectFile['vocabularies'][number][] = [];
  const { root } = document;
  if (root !== null && root.kind !== 'map' && !(root.kind === 'scalar' && root.value === null)) {
    reader.report(
      'project-file',
      say('A project file is a mapping with targets, defaults and files.'),
      root.range,
    );
  }
  for (const entry of root?.kind === 'map' ? root.entries : []) {
    const { key, value } = entry;
    if (value.kind === 'scalar' && value.value === null) {
      continue;
    }
    const items = value.kind === 'list' ? value.items : [value];
    if (key === 'targets' || key === 'defaults') {
      if (value.kind === 'map') {
        facts.push(...reader.facts(value, [key]));
      } else {
        reader.report('project-file', say('{0} is a mapping of fields to values.', key), entry.keyRange);
      }
    } else if (key === 'files') {
      files.push(...items.flatMap((item) => reader.files(item)));
    } else if (key === 'measured') {
      measured.push(...items.flatMap((item) => reader.measured(item)));
    } else if (key === 'rules') {
      rules = reader.levels(entry);
    } else if (key === 'vocabularies') {
      vocabularies.push(...items.flatMap((item) => reader.vocabulary(item)));
    } else if (findField(key) || value.kind === 'map') {
      // Short project files need no `defaults:` around their facts.
      facts.push(...reader.facts({ kind: 'map', range: value.range, entries: [entry] }, []));
    } else if (!reader.full) {
      const hint = didYouMean(key, [...SECTIONS, ...fieldNames()]);
      const replacement = closest(key, [...SECTIONS, ...fieldNames()], 1)[0];
      reader.report(
        'unknown-key',
        say('"{0}" is no field and no section ({1}).{2}', key, SECTIONS.join(', '), hint),
        entry.keyRange,
        replacement,
      );
    }
  }
  return {
    uri: document.uri,
    facts,
    files,
    measured,
    rules,
    vocabularies,
    problems: [...document.problems, ...reader.problems],
  };
}

/** Parses and reads a project file. */
export function parseProjectFile(uri: string, text: string): ProjectFile {
  return readProjectFile(parseConfig(uri, text));
}

/**
 * Facts of a project file for one config, strongest first: later `files` entries before earlier ones, then what holds
 * for all files.
 */
export function projectFacts(project: ProjectFile, uri: string): Fact[] {
  return [...matching(project, uri).flatMap(({ facts }) => facts), ...project.facts];
}

/** Levels of rules for one config: later `files` entries before earlier ones, then what holds for all files. */
export function projectLevels(project: ProjectFile, uri: string): RuleLevels {
  const strongestLast = [...matching(project, uri)].reverse();
  return new Map(
    [project.rules, ...strongestLast.map(({ rules }) => rules)].flatMap((levels) => [...levels]),
  );
}

/** Entries of `files` that are about a config, the strongest first. */
function matching(project: ProjectFile, uri: string): ProjectFile['files'] {
  return project.files.filter(({ match }) => isAbout(match, uri, project)).reverse();
}

/** Whether patterns of a project file take in a config. */
export function isAbout(match: readonly string[], uri: string, project: Pick<ProjectFile, 'uri'>): boolean {
  const path = relativePath(project.uri.replace(/\/[^/]*$/, ''), uri);
  try {
    return (
      path !== undefined &&
      match.length > 0 &&
      ignore({ ignorecase: false })
        .add([...match])
        .ignores(path)
    );
  } catch {
    return false;
  }
}
