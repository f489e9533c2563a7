import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { FieldPath, RunValues } from '../run/fields';
import { shortAlias } from '../run/parse-field';
import { parentUri, relativePath } from '../text/uri';

/**
 * The text of a project file in which values hold for one config alone, in an entry of `files`. An entry that names just this
 * config takes them; else one at the end does, where nothing behind it can say otherwise. Comments and order stay. Undefined
 * where the text cannot be read, or the config lies outside of the project file's folder.
 */
export function noteForFile(
  project: { readonly uri: string; readonly text?: string },
  config: string,
  values: RunValues,
): string | undefined {
  const folder = parentUri(project.uri);
  const path = folder && relativePath(folder, config);
  if (path === undefined || path === '') return undefined;
  const document = parseDocument(project.text ?? '');
  if (document.errors.length > 0) return undefined;
  if (document.contents !== null && !isMap(document.contents)) return undefined;
  const match = patternOf(path);
  const files = document.get('files');
  if (files !== undefined && files !== null && !isSeq(files)) return undefined;
  let entry = isSeq(files) ? files.items.filter(isMap).findLast((item) => names(item, match)) : undefined;
  if (!entry) {
    entry = document.createNode({ match }) as YAMLMap;
    if (isSeq(files)) files.add(entry);
    else document.set('files', document.createNode([entry]));
  }
  for (const [field, value] of Object.entries(values)) {
    const name = entry.has(field) ? field : shortAlias(field as FieldPath);
    entry.set(name, value);
  }
  return document.toString({ lineWidth: 0 });
}

/**
 * The text of a project file in which values hold for every config, hardware under `targets`. Comments and order stay. Undefined where
 * the text cannot be read.
 */
export function noteForProject(text: string | undefined, values: RunValues): string | undefined {
  const document = parseDocument(text ?? '');
  if (document.errors.length > 0 || (document.contents !== null && !isMap(document.contents)))
    return undefined;
  for (const [field, value] of Object.entries(values)) {
    const section = field.startsWith('hardware.') ? 'targets' : 'defaults';
    const present = document.get(section);
    if (present !== undefined && present !== null && !isMap(present)) return undefined;
    const name = document.hasIn([section, field]) ? field : shortAlias(field as FieldPath);
    if (isMap(present)) present.set(name, value);
    else document.set(section, document.createNode({ [name]: value }));
  }
  return document.toString();
}

/** As in .gitignore: a name without a slash would stand for files of that name in any folder. */
function patternOf(path: string): string {
  const escaped = path.replace(/[\\*?[\]]/g, '\\$&');
  return path.includes('/') ? escaped.replace(/^[!#]/, '\\$&') : `/${escaped}`;
}

function names(item: YAMLMap, match: string): boolean {
  const value: unknown = item.toJSON().match;
  const patterns = Array.isArray(value) ? value : [value];
  return patterns.length === 1 && (patterns[0] === match || `/${patterns[0]}` === match);
}
