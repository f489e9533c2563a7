import { sameFile } from '../../config/python/plain-path';
import type { PyProgram, PyValue } from '../../config/python/value';

/** Arguments that are a file of settings, or the settings themselves. */
const TAKES_FILE = /^(?:deepspeed|fsdp_config|accelerator_config|config|config_params|hf_ds_config)$/;

/**
 * What an argument takes that names a file which the program writes itself: what it writes there, or what nobody knows. Other
 * values stay as they are.
 */
export function asWritten(program: PyProgram, key: string, value: PyValue): PyValue {
  if (program.written.size === 0 || !TAKES_FILE.test(key)) return value;
  if (value.kind === 'either')
    return { ...value, options: value.options.map((option) => asWritten(program, key, option)) };
  if (value.kind !== 'scalar' || typeof value.value !== 'string') return value;
  const path = sameFile(value.value);
  if (!program.written.has(path)) return value;
  return program.written.get(path) ?? { kind: 'unknown', range: value.range };
}
