import { breakOf } from '../advice/write/splice';
import { entryOf } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { parseConfig } from '../config/parse';
import { linesOf } from '../text/lines';
import { plainValue } from '../workspace/project-file';
import type { LearnedEntry } from './learned-facts';

const SECTION = 'measured';
const SOURCE = 'source';

/** What is written down of a measured run. */
interface MeasuredRun {
  /** As the project file names the log or the folder. */
  readonly source: string;
  /** Pattern of the config, relative to the project file. */
  readonly match: string;
  readonly entries: readonly LearnedEntry[];
}

/**
 * Text of a project file with the entries of a run, the newest first, so that they win; entries of the same run that
 * say nothing more are replaced. Undefined where the text leaves no safe place.
 */
export function withMeasured(uri: string, text: string, run: MeasuredRun): string | undefined {
  const { root } = parseConfig(uri, text);
  const blank = root === null || (root.kind === 'scalar' && root.value === null);
  if (!blank && root.kind !== 'map') return undefined;
  const present = blank ? undefined : entryOf(root, SECTION);
  const newline = breakOf(text);
  const lines = linesOf(text);
  if (!present) {
    const before = text === '' || /\n$/.test(text) ? text : `${text}${newline}`;
    return before + [`${SECTION}:`, ...itemLines(run, '  '), ''].join(newline);
  }
  const { value, keyRange } = present;
  if (value.kind === 'scalar' && value.value === null && !value.quoted) {
    lines.splice(keyRange.end.line + 1, 0, ...itemLines(run, '  '));
    return lines.join(newline);
  }
  const [first] = value.kind === 'list' ? value.items : [];
  if (value.kind !== 'list' || !first || first.range.start.line <= keyRange.end.line) return undefined;
  const dash = /^(\s*)- /.exec(lines[first.range.start.line] ?? '')?.[1];
  if (dash === undefined) return undefined;
  for (const item of [...value.items].reverse()) {
    if (!isOf(item, run)) continue;
    const [from, to] = spanOf(item);
    lines.splice(from, to - from + 1);
  }
  lines.splice(keyRange.end.line + 1, 0, ...itemLines(run, dash));
  return lines.join(newline);
}

/** Whether an entry is of the same run and states nothing that the new ones do not. */
function isOf(item: ConfigNode, { source, match, entries }: MeasuredRun): boolean {
  const own = plainValue(item);
  const fields = new Set<string>(entries.flatMap(({ facts }) => facts.map(({ field }) => field)));
  return (
    typeof own === 'object' &&
    own !== null &&
    'source' in own &&
    'match' in own &&
    own.source === source &&
    own.match === match &&
    Object.keys(own).every((key) => /^(?:source|match|when|keys)$/.test(key) || fields.has(key))
  );
}

/** Lines from the first key to the last value. */
function spanOf(item: ConfigNode): readonly [number, number] {
  const end = item.range.end.character === 0 ? item.range.end.line - 1 : item.range.end.line;
  return [item.range.start.line, Math.max(item.range.start.line, end)];
}

function itemLines({ source, match, entries }: MeasuredRun, indent: string): string[] {
  return entries.flatMap(({ facts, when, keys }) => {
    const inside = `${indent}  `;
    const block = (name: string, values: Readonly<Record<string, unknown>>) => {
      const pairs = Object.entries(values);
      if (pairs.length === 0) return [];
      return [
        `${inside}${name}:`,
        ...pairs.map(([key, value]) => `${inside}  ${scalar(key)}: ${scalar(value)}`),
      ];
    };
    return [
      `${indent}- ${SOURCE}: ${scalar(source)}`,
      `${inside}match: ${scalar(match)}`,
      ...block('when', when),
      ...block('keys', keys),
      ...facts.map(
        ({ field, value, words }) => `${inside}${field}: ${scalar(value)}  # ${words.replace(/\s+/g, ' ')}`,
      ),
    ];
  });
}

/** JSON is YAML; plain words need no quotes. */
function scalar(value: unknown): string {
  const plain =
    typeof value === 'string' &&
    /^[A-Za-z][\w./-]*$/.test(value) &&
    !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return plain ? value : JSON.stringify(value);
}
