import { type Node, parseTree } from 'jsonc-parser';
import { MadeOfTexts } from '../../memo/made-of-texts';
import type { Position, Range } from '../../text/place';
import { Lines } from '../lines';
import { cardsPrinted, colabGpu, type RanElsewhere } from './cells';
import { type Install, installedOnColab, installsIn, withoutMagics } from './magics';

/** A notebook's code, cell after cell, as one text whose places are those of the file. */
interface Notebook {
  readonly lines: Lines;
  /** As they are written, one after the other at the places of `lines`. */
  readonly cells: readonly string[];
  /** Packages that its cells install. */
  readonly installs: readonly Install[];
  /** The GPU that the notebook asks its service for. */
  readonly gpu?: { readonly name: string; readonly range: Range };
  /** It asks for one, and printed another. */
  readonly elsewhere?: RanElsewhere & { readonly range: Range };
}

/** Lines of source, each a string of the file. */
interface Segment {
  /** Offset in the joined text. */
  readonly start: number;
  /** Offset in the file, behind the opening quote. */
  readonly at: number;
  /** As the file has it, with its escapes. */
  readonly raw: string;
}

/** A text that is put together of strings of a file: its positions are those in the file. */
class CellLines extends Lines {
  constructor(
    text: string,
    private readonly segments: readonly Segment[],
    private readonly file: Lines,
  ) {
    super(text);
  }

  override position(offset: number): Position {
    let [low, high] = [0, this.segments.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.segments[middle]?.start ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const segment = this.segments[low];
    return this.file.position(segment ? segment.at + writtenLength(segment.raw, offset - segment.start) : 0);
  }
}

/** Characters that the first `count` characters of a JSON string take as they are written. */
function writtenLength(raw: string, count: number): number {
  if (!raw.includes('\\')) return Math.min(count, raw.length);
  let at = 0;
  for (let i = 0; i < count && at < raw.length; i++) at += raw[at] !== '\\' ? 1 : raw[at + 1] === 'u' ? 6 : 2;
  return Math.min(at, raw.length);
}

const inner = (node: Node | undefined, key: string): Node | undefined =>
  node?.type === 'object'
    ? node.children?.find(({ children }) => children?.[0]?.value === key)?.children?.[1]
    : undefined;

/** Characters of the notebooks that are remembered: one is asked for its code, its commands and its installs, each by whoever looks for them. */
const MOST_CHARACTERS = 4_000_000;
const notebooks = new MadeOfTexts<Notebook>(MOST_CHARACTERS);

/** Reads a Jupyter notebook, also one that ends early; undefined where the text is none. Never throws. */
export function readNotebook(text: string): Notebook | undefined {
  return notebooks.of(text, text, () => notebookOf(text));
}

function notebookOf(text: string): Notebook | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const root = parseTree(text);
  const cells = inner(root, 'cells') ?? inner(inner(root, 'worksheets')?.children?.[0], 'cells');
  if (!cells?.children || !isPython(inner(root, 'metadata'))) return undefined;
  const file = new Lines(text);
  const segments: Segment[] = [];
  let joined = '';
  const written: string[] = [];
  for (const cell of cells.children) {
    if (inner(cell, 'cell_type')?.value !== 'code') continue;
    const own: Segment[] = [];
    let source = '';
    for (const part of partsOf(inner(cell, 'source') ?? inner(cell, 'input'))) {
      own.push({
        start: joined.length + source.length,
        at: part.offset + 1,
        raw: text.slice(part.offset + 1, part.offset + part.length - 1),
      });
      source += part.value;
    }
    segments.push(...own);
    written.push(`${source}\n`);
    joined += `${withoutMagics(source)}\n`;
  }
  const asked = gpuOf(inner(root, 'metadata'), file);
  const lines = new CellLines(joined, segments, file);
  const installs = installsIn(written.join(''), lines, written);
  return {
    lines,
    cells: written,
    installs: asked.gpu ? installedOnColab(installs) : installs,
    ...asked,
  };
}

/** Whether the kernel runs Python, as far as the metadata tell. */
function isPython(metadata: Node | undefined): boolean {
  const language =
    inner(inner(metadata, 'language_info'), 'name')?.value ??
    inner(inner(metadata, 'kernelspec'), 'language')?.value;
  return typeof language !== 'string' || language === '' || /python|sage/i.test(language);
}

/** A source is one text, or a list of its lines. */
function partsOf(source: Node | undefined): Node[] {
  if (source?.type === 'string') return [source];
  return (source?.children ?? []).filter(({ type }) => type === 'string');
}

/** The GPU that the notebook's metadata ask for, at the place that states it. */
function gpuOf(metadata: Node | undefined, file: Lines): Pick<Notebook, 'gpu' | 'elsewhere'> {
  const asks = inner(metadata, 'accelerator');
  const named = inner(inner(metadata, 'colab'), 'gpuType');
  const node = named?.type === 'string' ? named : asks;
  const gpu = colabGpu(named?.value, asks?.value, cardsPrinted(file.text));
  if (!node || gpu === undefined) return {};
  const range = file.range(node.offset, node.offset + node.length);
  return typeof gpu === 'string' ? { gpu: { name: gpu, range } } : { elsewhere: { ...gpu, range } };
}
