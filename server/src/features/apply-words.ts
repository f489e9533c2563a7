import { sourcesOf } from '../advice/fixes';
import type { World } from '../advice/world';
import { fieldsOf, writeChanges } from '../advice/write/write';
import type { FieldPath, RunValues } from '../run/fields';
import { sameValue } from '../run/resolve';
import { type WriteValues, writeWhereStated } from './apply';
import { fileEdits } from './file-edits';

/**
 * Writes values in each family's own words, through the same edits as fixes. What no file of the run has words for is
 * replaced where it stands, or goes to the project file.
 */
export function writeInWords(world: World): WriteValues {
  return async (analysis, values, context) => {
    const { resolved } = analysis;
    const { run, origins } = resolved;
    if (!run) return writeWhereStated(analysis, values, context);
    const files = await sourcesOf(analysis, world);
    const changed = fieldsOf(values).filter((field) => !sameValue(values[field], resolved.values[field]));
    const write = (fields: readonly FieldPath[]) =>
      writeChanges({ files, run, origins, changes: values, fields });
    const spoken = changed.filter((field) => write([field]) !== undefined);
    const written = write(spoken) ?? [];
    const rest = changed.filter((field) => written.length === 0 || !spoken.includes(field));
    const left = Object.fromEntries(rest.map((field) => [field, values[field]])) as RunValues;
    const other = await writeWhereStated(analysis, left, context);
    return { edits: [...fileEdits(written), ...other.edits], left: other.left };
  };
}
