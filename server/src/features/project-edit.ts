import { entryOf } from '../config/lookup';
import { parseConfig } from '../config/parse';
import type { FieldPath } from '../run/fields';
import { shortAlias } from '../run/parse-field';
import { linesOf } from '../text/lines';
import type { Position } from '../text/place';
import type { ActionContext, FileEdit } from './action';

/** A fact to write down: what stands there, and the same as a snippet. */
export interface Entry {
  readonly field: FieldPath;
  readonly value: string;
  readonly snippet: string;
}

type Section = 'targets' | 'defaults';
const sectionOf = (field: FieldPath): Section => (field.startsWith('hardware.') ? 'targets' : 'defaults');

/** Puts facts into a project file, under the sections that it has; undefined where its text leaves no safe place. */
export function projectEdits(
  project: NonNullable<ActionContext['project']>,
  entries: readonly Entry[],
): FileEdit[] | undefined {
  const { uri, text } = project;
  const sections = (['targets', 'defaults'] as const)
    .map((section) => ({ section, entries: entries.filter(({ field }) => sectionOf(field) === section) }))
    .filter((group) => group.entries.length > 0);
  if (text === undefined || text.trim() === '') {
    const start = { line: 0, character: 0 };
    return [insertion(uri, start, sections.map(whole), text === undefined)];
  }
  const root = parseConfig(uri, text).root;
  if (root !== null && root.kind !== 'map' && !(root.kind === 'scalar' && root.value === null)) {
    return undefined;
  }
  const lines = linesOf(text);
  const edits: FileEdit[] = [];
  const fresh: Block[] = [];
  for (const group of sections) {
    const present = entryOf(root, group.section);
    if (!present) {
      fresh.push(whole(group));
      continue;
    }
    const { value, keyRange } = present;
    const first = value.kind === 'map' ? value.entries[0] : undefined;
    const isBlock = first !== undefined && first.keyRange.start.line > keyRange.end.line;
    const isBlank = value.kind === 'scalar' && value.value === null && !value.quoted;
    if (!isBlock && !isBlank) {
      return undefined;
    }
    const indent = first && isBlock ? ' '.repeat(first.keyRange.start.character) : '  ';
    const next = { line: keyRange.end.line + 1, character: 0 };
    const block = body(group.entries, indent);
    edits.push(
      next.line < lines.length
        ? insertion(uri, next, [block])
        : insertion(uri, endOf(lines), [block], false, '\n'),
    );
  }
  if (fresh.length > 0) {
    const gap = lines.at(-1) === '' ? '' : '\n';
    edits.push(insertion(uri, endOf(lines), fresh, false, gap));
  }
  return edits;
}

interface Block {
  readonly text: string;
  readonly snippet: string;
}

function body(entries: readonly Entry[], indent: string): Block {
  return {
    text: entries.map(({ field, value }) => `${indent}${shortAlias(field)}: ${value}\n`).join(''),
    snippet: entries.map(({ field, snippet }) => `${indent}${shortAlias(field)}: ${snippet}\n`).join(''),
  };
}

function whole({ section, entries }: { section: Section; entries: readonly Entry[] }): Block {
  const { text, snippet } = body(entries, '  ');
  return { text: `${section}:\n${text}`, snippet: `${section}:\n${snippet}` };
}

function insertion(
  uri: string,
  place: Position,
  blocks: readonly Block[],
  create = false,
  gap = '',
): FileEdit {
  return {
    uri,
    create,
    range: { start: place, end: place },
    newText: gap + blocks.map(({ text }) => text).join(''),
    snippet: gap + blocks.map(({ snippet }) => snippet).join(''),
  };
}

function endOf(lines: readonly string[]): Position {
  return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
}
