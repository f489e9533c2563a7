import { oncePer } from '../memo/remembered';
import { FIELDS, type FieldPath, type FieldSpec, type TrainingRun } from './fields';

/**
 * Some fields of a run as a key of what is remembered of it: equal where their values are. What the vocabulary takes by default, which
 * is most of a run, is left out.
 */
export function settingsText(paths: readonly FieldPath[]): (run: TrainingRun) => string {
  const fields = paths.map((path) => {
    const spec: FieldSpec = FIELDS[path];
    return { path, ordinary: spec.default, written: JSON.stringify(spec.default) };
  });
  return oncePer((run) => {
    let text = '';
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i];
      if (!field) continue;
      const value: unknown = run[field.path];
      if (value === field.ordinary) continue;
      if (typeof value === 'number' || typeof value === 'boolean') text += `${i}=${value};`;
      else {
        const written = JSON.stringify(value);
        if (written !== field.written) text += `${i}:${written};`;
      }
    }
    return text;
  });
}
