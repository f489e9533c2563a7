import type { ConfigNode } from './node';
import { textsOfList } from './python/fire-literal';

/*
 * Reading scalars as the tools do, which is looser than the formats: YAML 1.1 types `1e-5` as text and `no` as a
 * flag, people quote numbers, and every tool coerces by the type of the field.
 */

/** `auto`: the caller (Accelerate, HF Trainer) fills the value in. */
export function isAuto(node: ConfigNode | undefined): boolean {
  return node?.kind === 'scalar' && node.value === 'auto';
}

/** Absent, blank, null or OmegaConf's `???`, which is still to come: the tool's default applies. */
export function isBlank(node: ConfigNode | undefined): boolean {
  return node === undefined || (node.kind === 'scalar' && (node.value === null || node.value === '???'));
}

const NUMBER = /^[-+]?(\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)([eE][-+]?\d+)?$/;

/** More characters are no number that anybody meant. */
const LONGEST_NUMBER = 200;
/** Longer texts are data: no name, path or choice. */
const LONGEST_TEXT = 4096;

/** A number, also when it is written as text (`"8"`, `5e8`). Undefined for anything else, NaN and infinities. */
export function numberOf(node: ConfigNode | undefined): number | undefined {
  if (node?.kind !== 'scalar') return undefined;
  if (typeof node.value === 'number') return Number.isFinite(node.value) ? node.value : undefined;
  if (typeof node.value !== 'string' || node.value.length > LONGEST_NUMBER) return undefined;
  const text = node.value.trim();
  if (!NUMBER.test(text)) return undefined;
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? value : undefined;
}

/** A whole number that JavaScript holds exactly; `5e8` counts. */
export function integerOf(node: ConfigNode | undefined): number | undefined {
  const value = numberOf(node);
  return value !== undefined && Number.isSafeInteger(value) ? value : undefined;
}

const TRUE = new Set(['true', 'yes', 'on', 'y', 't', '1']);
const FALSE = new Set(['false', 'no', 'off', 'n', 'f', '0']);

/** A flag, also when it is written as text or as 0 and 1. */
export function flagOf(node: ConfigNode | undefined): boolean | undefined {
  if (node?.kind !== 'scalar' || node.value === null) return undefined;
  if (typeof node.value === 'boolean') return node.value;
  const text = String(node.value).trim().toLowerCase();
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** What a switch means on and off; undefined where the value is neither, which is no reason to take one of them. */
export function switchOf<V>(node: ConfigNode | undefined, on: V, off: V): V | undefined {
  const flag = flagOf(node);
  if (flag === undefined) return undefined;
  return flag ? on : off;
}

/**
 * A word as written, so that YAML's `no` stays `no` although it is typed as a flag. Undefined for null and blank, and for
 * texts that are too long to be a name, a path or a choice.
 */
export function textOf(node: ConfigNode | undefined): string | undefined {
  if (node?.kind !== 'scalar' || node.value === null || node.text.length > LONGEST_TEXT) return undefined;
  return typeof node.value === 'string' ? node.value : node.text;
}

/** A text that is too long to be a name, which is a pattern all the same. */
export const longTextOf = (node: ConfigNode | undefined): string | undefined =>
  node?.kind === 'scalar' && typeof node.value === 'string' && node.text.length > LONGEST_TEXT
    ? node.value
    : undefined;

/** Items of a list, or of text that separates them with commas, or that writes them as a list of Python. */
export function textsOf(node: ConfigNode | undefined): string[] | undefined {
  if (node?.kind === 'list') return node.items.map(textOf).filter((item) => item !== undefined);
  if (node?.kind !== 'scalar' || node.value === null) return undefined;
  const text = typeof node.value === 'string' ? node.value : node.text;
  return (textsOfList(text) ?? text.split(','))
    .map((item) => item.trim())
    .filter((item) => item !== '' && item.length <= LONGEST_TEXT);
}

/** The node as plain data, for fields that take a whole object. */
export function plainOf(node: ConfigNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainOf);
  return Object.fromEntries(node.entries.map((entry) => [entry.key, plainOf(entry.value)]));
}
