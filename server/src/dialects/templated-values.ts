import { interpolated } from '../config/interpolation';
import { nodeAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode, MapEntry, ScalarNode } from '../config/node';
import { withChanges } from '../memo/on-demand';
import { oncePer } from '../memo/remembered';
import type { FieldPath } from '../run/fields';
import { mayShapeMemory, type Unread } from '../run/unread';
import { beginTogether, locationOf } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from './dialect';
import { KeyTable } from './key-table';

/**
 * What somebody fills in before the framework reads the file, or the framework from its surroundings: `${MICRO_BATCH}`,
 * `${oc.env:LENGTH}`, `{{ length }}`, `{% if %}`, `$LENGTH`, `<LENGTH>`. Stricter than `isFilledLater`: what stands here takes facts
 * away, and a dollar in a pattern or in a sentence does not. Looser in one: `<LENGTH>` is for a person to replace.
 */
const TEMPLATED = /\$\{[^{}]*\}|\{\{.*\}\}|\{%.*%\}|^\$[A-Za-z_]\w*$|^<[A-Za-z][\w .:-]*>$/s;

/** A value of a template, the path of the key that holds it, and what it decides. */
interface Templated {
  readonly entry: MapEntry;
  readonly node: ScalarNode;
  readonly path: readonly string[];
  /** Its place in the list that the key holds. */
  readonly item?: number;
}

/** Models are looked for by what stands there, and reported by who looks. */
const NAMES: readonly FieldPath[] = ['model.id'];

/**
 * Reads a document as its family does. Values that a template leaves open are no values: each that may shape memory is reported, nothing
 * that its key decides is stated or assumed, and no problem rests on it.
 */
export function readDocument(dialect: Dialect, document: ConfigDocument, context: ReadContext): Reading {
  const reading = dialect.read(document, context);
  const { format, root } = document;
  if (!root || (format !== 'yaml' && format !== 'json' && format !== 'toml')) return reading;
  const written = templatedOf(root);
  if (written.length === 0) return reading;
  // What the file itself gives, as OmegaConf fills it in, is a value.
  const filled = filledIn(root, dialect.wraps);
  const open = written.filter(({ path, item, node }) => isOpen(itemOf(nodeAt(filled, path), item), node));
  if (open.length === 0) return reading;
  const rowOf = rowsOf(dialect, reading);
  const decided = new Set<FieldPath>();
  const unread: Unread[] = [];
  for (const { entry, node, path } of open) {
    const row = rowOf(path);
    const fields = (row?.fields ?? []).filter((field) => !NAMES.includes(field));
    if (row ? fields.length === 0 : !mayShapeMemory(entry.key)) continue;
    for (const field of fields) decided.add(field);
    unread.push({
      kind: 'value',
      location: locationOf(node.range, document.uri),
      text: `${entry.key}: ${node.text}`,
      message: say('`{0}` takes `{1}`, which the file leaves open.', entry.key, node.text),
      ...(fields.length > 0 ? { fields } : {}),
    });
  }
  return withChanges(reading, {
    facts: reading.facts.filter(({ field }) => !decided.has(field)),
    autos: reading.autos.filter(({ range }) => !open.some(({ node }) => beginTogether(range, node.range))),
    unread: [...(reading.unread ?? []), ...unread],
    get problems() {
      return reading.problems.flatMap((problem) => tempered(problem, open, unread.length > 0));
    },
  });
}

function filledIn(root: ConfigNode, block: string | undefined): ConfigNode | null {
  const filled = interpolated(root);
  if (block === undefined || filled?.kind !== 'map') return filled;
  const entries = filled.entries.map((entry) =>
    entry.key === block ? { ...entry, value: interpolated(entry.value) ?? entry.value } : entry,
  );
  return { ...filled, entries };
}

/** Problems but those of values that are open; what the others say may hang on them, so that none is certain. */
function tempered(problem: Problem, open: readonly Templated[], matters: boolean): Problem[] {
  const { severity, range } = problem;
  // Words of choices are compared, and shown, in small letters.
  const message = problem.message.toLowerCase();
  if (open.some(({ node }) => beginTogether(range, node.range) || message.includes(node.text.toLowerCase())))
    return [];
  return severity === 'error' && matters ? [{ ...problem, severity: 'warning' }] : [problem];
}

/** Whether a place still holds what a template left there. */
function isOpen(filled: ConfigNode | undefined, written: ScalarNode): boolean {
  return !filled || (filled.kind === 'scalar' && filled.text === written.text);
}

/** What a template leaves open, or a script that writes the file (`$((GPUS / 2))`). */
const isTemplated = ({ text, open }: ScalarNode) => open !== undefined || TEMPLATED.test(text);

/** A file is read anew with what is known of its run: what a template leaves open stands as it stood. */
const templatedOf = oncePer((root: ConfigNode): readonly Templated[] => {
  const found: Templated[] = [];
  collectTemplated(root, [], found);
  return found;
});

/** Every value of a file is looked at with each key typed: those that a template leaves open alone are noted. */
function collectTemplated(node: ConfigNode, path: readonly string[], found: Templated[]): void {
  if (node.kind !== 'map') return;
  for (const entry of node.entries) {
    const { key, value } = entry;
    if (value.kind === 'map') collectTemplated(value, [...path, key], found);
    else if (value.kind === 'scalar') {
      if (isTemplated(value)) found.push({ entry, node: value, path: [...path, key] });
    } else
      value.items.forEach((one, item) => {
        if (one.kind === 'scalar' && isTemplated(one))
          found.push({ entry, node: one, path: [...path, key], item });
      });
  }
}

/** A value, or the item of the list that it is. */
const itemOf = (node: ConfigNode | undefined, item: number | undefined): ConfigNode | undefined =>
  item === undefined || node?.kind !== 'list' ? node : node.items[item];

/** The row of the key at a path. */
function rowsOf(dialect: Dialect, { keys = [] }: Reading): (path: readonly string[]) => KeySpec | undefined {
  const tables = [...keys, { below: [], rows: dialect.keys }].map(({ below, rows }) => ({
    below,
    table: new KeyTable(rows),
  }));
  return (path) => {
    for (const { below, table } of tables) {
      const inside = below.every((key, i) => path[i] === key);
      const row = inside ? table.find(path.slice(below.length).join('.')) : undefined;
      if (row) return row;
    }
    return dialect.rowAt?.(path);
  };
}
