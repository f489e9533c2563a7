import type { PyArgument, PyProgram, PyValue } from './value';

/**
 * A program as it runs on a GPU with so many bytes of memory: of values that hang on how much it has those that hold there. Of a program
 * that does not ask the same.
 */
export function onCard(program: PyProgram, bytes: number): PyProgram {
  if (!program.asksMemory) return program;
  const seen = new Map<PyValue, PyValue>();
  const settled = (value: PyValue): PyValue => {
    const found = seen.get(value);
    if (found) return found;
    // What contains itself is left as it is.
    seen.set(value, value);
    const made = settle(value);
    seen.set(value, made);
    return made;
  };
  const entriesOf = (entries: readonly PyArgument[]) =>
    entries.map((entry) => ({ ...entry, value: settled(entry.value) }));
  const settle = (value: PyValue): PyValue => {
    if (value.kind === 'list') return { ...value, items: value.items.map(settled) };
    if (value.kind === 'dict') return { ...value, entries: entriesOf(value.entries) };
    if (value.kind !== 'either') return value;
    const { probe, options } = value;
    if (probe === undefined || probe === 'bf16') return { ...value, options: options.map(settled) };
    const chosen = options[bytes >= probe.bytes ? 0 : 1];
    return chosen ? settled(chosen) : value;
  };
  return {
    ...program,
    calls: program.calls.map((call) => ({
      ...call,
      positional: call.positional.map(settled),
      named: entriesOf(call.named),
    })),
    assignments: program.assignments.map((one) => ({ ...one, value: settled(one.value) })),
    attributes: new Map(
      [...program.attributes].map(([id, held]) => [
        id,
        new Map([...held].map(([name, value]) => [name, settled(value)])),
      ]),
    ),
    environment: entriesOf(program.environment),
  };
}
