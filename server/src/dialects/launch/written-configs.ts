import { mapAt } from '../../config/lookup';
import type { ConfigDocument, MapEntry } from '../../config/node';
import { accelerate } from '../accelerate/accelerate';
import { deepspeed } from '../deepspeed/deepspeed';
import type { Dialect, FileLink, ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { readDocument } from '../templated-values';

const FAMILIES: Partial<Record<FileLink['role'], Dialect>> = { deepspeed, accelerate };

/**
 * Configs that a script writes itself and then names: they are read where they stand in it. Links to them are taken away,
 * as are those whose paths hold variables that nobody knows: no such file is missing. `own` is the family of the program's
 * configs.
 */
export function readWrittenConfigs(
  document: ConfigDocument,
  own: Dialect | undefined,
  draft: Draft,
  context: ReadContext,
): void {
  const files = mapAt(document.root, ['files']);
  for (const link of draft.links.splice(0)) {
    const written = files && fileAt(files.entries, link.path);
    if (!written) {
      if (!/[$`]/.test(link.path)) draft.links.push(link);
      continue;
    }
    const family = link.role === 'include' ? own : FAMILIES[link.role];
    const root = written.value;
    if (!family || root.kind !== 'map' || draft.keys.some(({ below }) => below[1] === written.key)) continue;
    const part: ConfigDocument = {
      ...document,
      format: /\.json$/i.test(link.path) ? 'json' : 'yaml',
      root,
      problems: [],
      relaxedJson: false,
    };
    draft.take(readDocument(family, part, context), family.id);
    draft.keys.push({ below: ['files', written.key], rows: family.keys, words: family.words });
  }
}

/** `./ds.json` and `ds.json` are one file; so are `$DIR/ds.json` and itself. */
function fileAt(entries: readonly MapEntry[], path: string): MapEntry | undefined {
  const plain = (name: string) => name.replace(/^\.\//, '');
  return entries.find(({ key }) => plain(key) === plain(path));
}
