import type { Range } from '../../text/place';
import type { ConfigNode, ScalarNode } from '../node';
import { LIBRARY } from './imports';
import { asksForBf16, type PyEither, type PyValue } from './value';

/** How values that are not settled are taken. */
interface Taking {
  /** The expression that stands where the value is used. */
  readonly used?: Range;
  /** Whether the GPU computes in bf16; unset: it does. */
  readonly bf16?: boolean;
  /** One of several, of the entry of a dictionary that has it. Unset: the last. */
  readonly choose?: (value: PyEither, key?: string) => PyValue;
  readonly key?: string;
}

/** A value of a Python text as a value of a config. What is not known is open, as it is of a script. */
export function nodeOf(value: PyValue, taking: Taking = {}): ConfigNode {
  const { used } = taking;
  const inner = { ...taking, used: undefined };
  if (value.kind === 'either') {
    const [yes, no] = value.options;
    const chosen = asksForBf16(value.probe)
      ? taking.bf16 === false
        ? no
        : yes
      : (taking.choose?.(value, taking.key) ?? value.options.at(-1));
    const node = nodeOf(chosen ?? { kind: 'unknown', range: value.range }, taking);
    return node.kind === 'scalar' && !asksForBf16(value.probe) ? { ...node, guessed: value.because } : node;
  }
  if (value.kind === 'list')
    return { kind: 'list', items: value.items.map((item) => nodeOf(item, inner)), range: value.range };
  if (value.kind === 'dict') {
    const entries = value.entries.map((entry) => ({
      key: entry.key,
      keyRange: entry.keyRange,
      value: nodeOf(entry.value, { ...inner, used: entry.used, key: entry.key }),
    }));
    return { kind: 'map', entries, range: value.range };
  }
  if (value.kind === 'scalar')
    return scalar(value.value, spoken(value.value), value.range, typeof value.value === 'string', used);
  if (value.kind === 'name' && !isForeign(value))
    return scalar(value.name, value.name, value.range, false, used);
  return { ...scalar('', '', value.range, false, used), open: 'unknown' };
}

/** The same of a value that is known; undefined of others, and where there is none. */
export const knownNode = (value: PyValue | undefined, taking?: Taking): ConfigNode | undefined =>
  value && value.kind !== 'unknown' && !isForeign(value) ? nodeOf(value, taking) : undefined;

/**
 * A name that no library of the field defines, such as `settings.batch_size` of a module that is not at hand, or one that nothing sets:
 * what it stands for nobody knows. Names of libraries are words (`torch.bfloat16`).
 */
export const isForeign = (value: PyValue): boolean => value.kind === 'name' && !LIBRARY.test(value.name);

/** A text that is known, as it stands. */
export const stringOf = (value: PyValue | undefined): string | undefined =>
  value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;

/** Python's `True`. */
export const isTrue = (value: PyValue | undefined): boolean =>
  value?.kind === 'scalar' && value.value === true;

/** Python's `None`. */
export const isNone = (value: PyValue): boolean => value.kind === 'scalar' && value.value === null;

function spoken(value: ScalarNode['value']): string {
  if (value === null) return 'None';
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}

function scalar(
  value: ScalarNode['value'],
  text: string,
  range: Range,
  quoted: boolean,
  used: Range | undefined,
): ScalarNode {
  const elsewhere =
    used &&
    (used.uri !== range.uri ||
      used.start.line !== range.start.line ||
      used.start.character !== range.start.character);
  return { kind: 'scalar', value, text, range, quoted, ...(elsewhere ? { used } : {}) };
}
