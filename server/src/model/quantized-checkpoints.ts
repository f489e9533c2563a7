import published from '../../data/quantized-checkpoints.json';

/** Copies of models that are quantized already, by bitsandbytes, and keep some of their linear layers in 16 bits. */
const PARTLY_QUANTIZED = /[-_.]unsloth[-_]bnb[-_]4bit$/i;

/** Copies that bitsandbytes quantized before they were published. */
const QUANTIZED_BEFORE = /[-_.]bnb[-_](?:4bit|nf4(?:[-_]bf16)?)$/i;

/** Whether a checkpoint of this name was quantized by bitsandbytes before it was published. */
export function isQuantizedBefore(name: string): boolean {
  return QUANTIZED_BEFORE.test(name.trim());
}

interface CheckpointSize {
  /** All files of weights. Bytes, as far as three digits of each file go. */
  readonly bytes: number;
  /** Address of the list of its files. */
  readonly source: string;
}

const sizes = new Map(
  published.rows.map(({ id, gigabytes, source }): [string, CheckpointSize] => [
    ownName(id),
    { bytes: Math.round(gigabytes.reduce((sum, file) => sum + file * 1e9, 0)), source },
  ]),
);

function ownName(id: string): string {
  return (id.split('/').at(-1) ?? '').toLowerCase();
}

/** Whether a checkpoint of this name keeps some of its linear layers in 16 bits. */
export function isPartlyQuantized(name: string): boolean {
  return PARTLY_QUANTIZED.test(name);
}

/** What the files of a checkpoint of this name hold; undefined where no published list of them is known. */
export function checkpointSize(name: string): CheckpointSize | undefined {
  return sizes.get(ownName(name));
}
