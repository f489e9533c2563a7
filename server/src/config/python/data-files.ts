import type { Range } from '../../text/place';
import { interpolated } from '../interpolation';
import type { ConfigDocument, ConfigNode } from '../node';
import type { DataRequest, PyValue } from './value';

/** The same request is answered the same. */
export const requestKey = ({ path, composed }: Omit<DataRequest, 'range'>): string =>
  `${composed ? 'hydra:' : ''}${path}`;

/** Files of data around a program that is followed: those that are at hand, and those that it asks for. */
export class DataFiles {
  /** Every file that was asked for, by its request. */
  readonly wanted = new Map<string, DataRequest>();
  /** Addresses of those that were loaded. */
  readonly used = new Set<string>();

  constructor(private readonly known: ReadonlyMap<string, ConfigDocument> = new Map()) {}

  /** What a file holds; undefined where it is not at hand or could not be read whole. `fill`: as OmegaConf fills in references. */
  load(request: DataRequest, fill: boolean): PyValue | undefined {
    const key = requestKey(request);
    if (!this.wanted.has(key)) this.wanted.set(key, request);
    const document = this.known.get(key);
    if (!document?.root || document.problems.some(({ severity }) => severity === 'error')) return undefined;
    this.used.add(document.uri);
    const root = fill ? (interpolated(document.root) ?? document.root) : document.root;
    return heldIn(root, document.uri, fill);
  }
}

/** Deeper nests are no settings. */
const DEEPEST = 24;

/** A node of a config as a value of Python, with its places in that file. `fill`: what is a reference still is not known. */
function heldIn(node: ConfigNode, uri: string, fill: boolean, depth = 0): PyValue {
  const range = placeOf(node.range, uri);
  if (depth > DEEPEST) return { kind: 'unknown', range };
  if (node.kind === 'list')
    return { kind: 'list', items: node.items.map((item) => heldIn(item, uri, fill, depth + 1)), range };
  if (node.kind === 'map')
    return {
      kind: 'dict',
      range,
      ...(fill ? { attributes: true } : {}),
      entries: node.entries.map(({ key, keyRange, value }) => ({
        key,
        keyRange: placeOf(keyRange, uri),
        value: heldIn(value, uri, fill, depth + 1),
        used: placeOf(value.range, uri),
        text: key,
      })),
    };
  const isOpen = fill && typeof node.value === 'string' && /\$\{|^\?\?\?$/.test(node.value);
  return isOpen ? { kind: 'unknown', range } : { kind: 'scalar', value: node.value, range };
}

const placeOf = (range: Range, uri: string): Range => ({ ...range, uri: range.uri ?? uri });
