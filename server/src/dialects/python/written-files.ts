import { sameFile } from '../../config/plain-path';
import type { PyProgram, PyValue } from '../../config/python/value';

/**
 * What an argument takes that names a file which the program writes itself: what it writes there, or what nobody knows. Other
 * values stay as they are.
 */
export function asWritten(program: PyProgram, value: PyValue): PyValue {
  if (program.written.size === 0) return value;
  if (value.kind === 'either')
    return { ...value, options: value.options.map((option) => asWritten(program, option)) };
  if (value.kind !== 'scalar' || typeof value.value !== 'string') return value;
  const path = sameFile(value.value);
  if (!program.written.has(path)) return value;
  return program.written.get(path) ?? { kind: 'unknown', range: value.range };
}
