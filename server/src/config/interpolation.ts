import type { ConfigNode, MapNode, ScalarNode } from './node';
import { resolvePlain } from './pyyaml';

/** References are followed this deep: more is a circle. */
const DEEPEST = 20;
/** References of one file: far above any config, far below any harm. */
const MOST = 2_000;

/**
 * A config with its `${...}` filled in as OmegaConf does: references from the root (`${model.hidden_size}`) and from
 * where they stand (`${.seq_length}`, `${..batch}`), the arithmetic resolvers that training configs register (`mul`,
 * `sum`, `div`, ...), and `oc.env` with its default. A value that is nothing but a reference is the node it refers to,
 * at the place where that is written. What the file does not settle stays as it stands.
 */
export function interpolated(root: ConfigNode | null): ConfigNode | null {
  return root && new Interpolator(root).fill(root, [], 0);
}

class Interpolator {
  private readonly root: ConfigNode;
  private resolved = 0;

  constructor(root: ConfigNode) {
    this.root = root;
  }

  fill(node: ConfigNode, path: readonly string[], depth: number): ConfigNode {
    if (node.kind === 'map') return this.fillMap(node, path, depth);
    if (node.kind === 'list') {
      const items = node.items.map((item, i) => this.fill(item, [...path, String(i)], depth));
      return items.every((item, i) => item === node.items[i]) ? node : { ...node, items };
    }
    return this.scalar(node, path, depth);
  }

  private fillMap(node: MapNode, path: readonly string[], depth: number): MapNode {
    let changed = false;
    const entries = node.entries.map((entry) => {
      const value = this.fill(entry.value, [...path, entry.key], depth);
      if (value === entry.value) return entry;
      changed = true;
      return { ...entry, value };
    });
    return changed ? { ...node, entries } : node;
  }

  private scalar(node: ScalarNode, path: readonly string[], depth: number): ConfigNode {
    if (typeof node.value !== 'string' || !node.value.includes('${') || depth > DEEPEST) return node;
    const whole = inner(node.value);
    const target = whole === undefined ? undefined : this.resolve(whole, path, depth);
    if (target)
      return target.kind === 'scalar' && target.range === UNPLACED
        ? { ...target, range: node.range }
        : target;
    const text = this.text(node.value, path, depth);
    if (text === undefined || text === node.value) return node;
    return { ...node, value: node.quoted ? text : resolvePlain(text), text };
  }

  /** Every interpolation in a text replaced; undefined where one of them is not settled. */
  private text(text: string, path: readonly string[], depth: number): string | undefined {
    let result = '';
    let from = 0;
    for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', from)) {
      const end = closing(text, at + 2);
      if (end === undefined) return undefined;
      const value = this.resolve(text.slice(at + 2, end), path, depth);
      if (value?.kind !== 'scalar') return undefined;
      result += text.slice(from, at) + value.text;
      from = end + 1;
    }
    return result + text.slice(from);
  }

  /** What stands between the braces. */
  private resolve(expression: string, path: readonly string[], depth: number): ConfigNode | undefined {
    if (++this.resolved > MOST) return undefined;
    const call = /^\s*([A-Za-z_][\w.]*)\s*:(.*)$/s.exec(expression);
    if (call) return this.call(call[1] ?? '', call[2] ?? '', path, depth);
    const reference = this.text(expression, path, depth + 1)?.trim();
    if (reference === undefined) return undefined;
    const dots = /^\.*/.exec(reference)?.[0].length ?? 0;
    const keys = reference
      .slice(dots)
      .split(/[.[\]]+/)
      .filter((key) => key !== '');
    // One dot is the block that holds the key, two the block around that.
    const base = dots === 0 ? [] : path.slice(0, Math.max(0, path.length - dots));
    return this.at([...base, ...keys], depth);
  }

  private at(keys: readonly string[], depth: number): ConfigNode | undefined {
    let node: ConfigNode = this.root;
    for (const [i, key] of keys.entries()) {
      const next: ConfigNode | undefined =
        node.kind === 'map'
          ? node.entries.find((entry) => entry.key === key)?.value
          : node.kind === 'list'
            ? node.items[Number(key)]
            : undefined;
      if (!next) return undefined;
      node = next.kind === 'scalar' ? this.fill(next, keys.slice(0, i + 1), depth + 1) : next;
    }
    return node.kind === 'scalar' || depth > DEEPEST ? node : this.fill(node, keys, depth + 1);
  }

  /** `oc.select` takes what its key leads to, else what stands behind it; without that, null. */
  private select(parts: readonly string[], path: readonly string[], depth: number): ConfigNode | undefined {
    const [key = '', otherwise] = parts.map((part) => part.trim());
    if (!REFERENCE.test(key)) return undefined;
    const found = this.resolve(key, path, depth);
    if (found) return found;
    return constant((otherwise ?? 'null').replace(/^(["'])(.*)\1$/, '$2'));
  }

  private call(name: string, rest: string, path: readonly string[], depth: number): ConfigNode | undefined {
    const parts = commas(rest);
    if (name === 'oc.select') return this.select(parts, path, depth);
    if (name === 'oc.env') return parts.length > 1 ? constant((parts[1] ?? '').trim()) : undefined;
    const values = parts.map((part) => {
      const text = this.text(part.trim(), path, depth + 1);
      return text === undefined || text.trim() === '' ? Number.NaN : Number(text);
    });
    const called = name.slice(name.lastIndexOf('.') + 1);
    const result = Object.hasOwn(ARITHMETIC, called) ? ARITHMETIC[called]?.(values) : undefined;
    return result === undefined || !Number.isFinite(result) ? undefined : constant(String(result));
  }
}

const REFERENCE = /^[\w.[\]]+$/;
const ARITHMETIC: Readonly<Record<string, (values: readonly number[]) => number>> = {
  mul: (values) => values.reduce((a, b) => a * b, 1),
  multiply: (values) => values.reduce((a, b) => a * b, 1),
  sum: (values) => values.reduce((a, b) => a + b, 0),
  add: (values) => values.reduce((a, b) => a + b, 0),
  sub: ([a = Number.NaN, b = 0]) => a - b,
  subtract: ([a = Number.NaN, b = 0]) => a - b,
  div: ([a = Number.NaN, b = Number.NaN]) => a / b,
  divide: ([a = Number.NaN, b = Number.NaN]) => a / b,
  floor_divide: ([a = Number.NaN, b = Number.NaN]) => Math.floor(a / b),
  int_div: ([a = Number.NaN, b = Number.NaN]) => Math.floor(a / b),
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
};

/** Place of values that stand nowhere as they are: whoever takes them puts in the place of the expression. */
const UNPLACED = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

function constant(text: string): ScalarNode {
  return { kind: 'scalar', range: UNPLACED, value: resolvePlain(text), text, quoted: false };
}

/** The expression of a text that is one interpolation and nothing else. */
function inner(text: string): string | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('${')) return undefined;
  return closing(trimmed, 2) === trimmed.length - 1 ? trimmed.slice(2, -1) : undefined;
}

/** Place of the brace that closes what opened before `from`. */
function closing(text: string, from: number): number | undefined {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    if (text[i] === '{') depth++;
    else if (text[i] === '}' && --depth === 0) return i;
  }
  return undefined;
}

/** Splits at commas outside of braces. */
function commas(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '{') depth++;
    else if (text[i] === '}') depth--;
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...parts, text.slice(from)];
}
