import {
  asksForBf16,
  type Emulating,
  type Probe,
  type PyArgument,
  type PyProgram,
  type PyValue,
} from './value';

/** What is known of what a program asks. */
interface WhatIsAsked {
  /** Memory of the GPU. */
  readonly bytes?: number | undefined;
  /** Whether it computes in bf16. */
  readonly bf16?: boolean | undefined;
  /** Libraries that take it to, whatever it is. */
  readonly emulating?: ReadonlySet<Emulating>;
  /** The type that the model of a name is published in. */
  readonly published?: { readonly id: unknown; readonly type: string | undefined } | undefined;
}

/** Whether what a value hangs on holds; undefined where that is not known. */
function holds(
  { calls }: PyProgram,
  probe: Probe,
  { bytes, bf16, emulating, published }: WhatIsAsked,
): boolean | undefined {
  if (probe === 'bf16') return bf16;
  if ('emulatedBy' in probe) return emulating?.has(probe.emulatedBy) || bf16;
  if ('bytes' in probe) return bytes === undefined ? undefined : bytes >= probe.bytes;
  const load = calls[probe.typeOf];
  const key = 'pretrained_model_name_or_path';
  const name = load?.named.find((argument) => argument.key === key)?.value ?? load?.positional[0];
  const isIt = name?.kind === 'scalar' && name.value === published?.id;
  return isIt && /^(?:fp32|bf16|fp16)$/.test(published?.type ?? '')
    ? published?.type === probe.is
    : undefined;
}

/**
 * A program as it runs on a GPU with so many bytes of memory, with bf16 or without, in what libraries take for it, and with the model that it loads: of values that hang
 * on that those that hold there. Of a program that does not ask the same.
 */
export function onCard(program: PyProgram, around: WhatIsAsked): PyProgram {
  if (!program.asks) return program;
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
    if (probe === undefined) return { ...value, options: options.map(settled) };
    const known = holds(program, probe, around);
    const chosen = known === undefined ? undefined : options[known ? 0 : 1];
    if (chosen) return settled(chosen);
    // Without emulation it is the GPU that answers.
    const asked = asksForBf16(probe) ? 'bf16' : probe;
    return { ...value, probe: asked, options: options.map(settled) };
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
