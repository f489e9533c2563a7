import { cardsPrinted, colabGpu, type JoinedCells, joinCells } from '../config/python/cells';

/** What of a notebook's metadata tells where it runs, as Colab writes it. */
interface Metadata {
  readonly accelerator?: unknown;
  readonly colab?: { readonly gpuType?: unknown };
}

/** The notebook's own metadata, below what an editor's reader of the format puts around them. */
function ownMetadata(metadata: unknown): Metadata {
  const around = (metadata ?? {}) as {
    readonly metadata?: Metadata;
    readonly custom?: { readonly metadata?: Metadata };
  };
  return around.metadata ?? around.custom?.metadata ?? (around as Metadata);
}

/** Code cells that an editor shows, as the text that is analysed in place of the file. `saved`: the file, with its outputs. */
export function notebookText(
  cells: readonly string[],
  metadata: unknown,
  saved: string | undefined,
): JoinedCells {
  const { accelerator, colab } = ownMetadata(metadata);
  return joinCells(cells, colabGpu(colab?.gpuType, accelerator, saved));
}

/** Whether the outputs of the file have a say in which GPU the notebook runs on. */
export function asksForGpu(metadata: unknown): boolean {
  const { accelerator, colab } = ownMetadata(metadata);
  return typeof colab?.gpuType === 'string' || accelerator === 'GPU';
}

/** What of a saved notebook its text is made with: the cards that it printed. */
export const savedCards = cardsPrinted;
