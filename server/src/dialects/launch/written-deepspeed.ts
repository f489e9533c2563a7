import type { MapNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import { textOf } from '../../config/scalar';
import { deepspeed } from '../deepspeed';
import type { Draft } from '../draft';

/**
 * A DeepSpeed JSON that the script writes itself from a here-document: what it states counts, at the place where it stands in
 * the script. False where the script writes no such file.
 */
export function readWrittenDeepspeed(files: MapNode | undefined, path: string, draft: Draft): boolean {
  const plain = (name: string) => name.replace(/^\.\//, '');
  const entry = files?.entries.find(({ key }) => plain(key) === plain(path));
  const text = textOf(entry?.value);
  if (!entry || text === undefined) return false;
  const document = parseConfig('file:///written/ds_config.json', text);
  if (document.root?.kind !== 'map') return false;
  const { facts } = deepspeed.read(document, { known: {} });
  const from = entry.value.range.start.line;
  const last = entry.value.range.end;
  for (const fact of facts) {
    const { location } = fact.origin;
    // Variables that are filled in keep their line, but not their columns.
    if (!location || fact.origin.kind !== 'file' || draft.knows(fact.field)) continue;
    const line = Math.min(from + location.range.start.line, last.line);
    const range = { start: { line, character: 0 }, end: { line: line + 1, character: 0 } };
    draft.state(fact.field, fact.value as never, { range }, fact.origin.key ?? path, `written to ${path}`);
  }
  return true;
}
