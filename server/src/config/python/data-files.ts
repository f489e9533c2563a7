import type { Range } from '../../text/place';
import { interpolated } from '../interpolation';
import type { ConfigDocument, ConfigNode } from '../node';
import { sameFile } from '../plain-path';
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

  /** What the program has written, by path; undefined where that is not known. */
  private readonly own = new Map<string, PyValue | undefined>();

  /** `cells`: files that cells of a notebook write before anything is run. */
  constructor(
    private readonly known: ReadonlyMap<string, ConfigDocument> = new Map(),
    cells: ReadonlyMap<string, ConfigNode | undefined> = new Map(),
  ) {
    for (const [path, root] of cells) this.own.set(sameFile(path), root && heldIn(root, undefined, false));
  }

  get written(): ReadonlyMap<string, PyValue | undefined> {
    return this.own;
  }

  /** The program writes a file. One that several places write holds nobody knows what. */
  write(path: string, value: PyValue | undefined): void {
    const key = sameFile(path);
    const before = this.own.get(key);
    this.own.set(key, this.own.has(key) && before?.range !== value?.range ? undefined : value);
  }

  /** What a file holds; undefined where it is not at hand or could not be read whole. `fill`: as OmegaConf fills in references. */
  load(request: DataRequest, fill: boolean): PyValue | undefined {
    const path = sameFile(request.path);
    if (!request.composed && this.own.has(path)) return this.own.get(path);
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
function heldIn(node: ConfigNode, uri: string | undefined, fill: boolean, depth = 0): PyValue {
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

const placeOf = (range: Range, uri: string | undefined): Range =>
  uri === undefined ? range : { ...range, uri: range.uri ?? uri };
