import known from '../../../data/unsloth-checkpoints.json';
import { isAtLeast } from '../../terms/version';

interface Row {
  readonly checkpoint: string;
  /** In lower case. */
  readonly names: readonly string[];
  /** The first release that was read and loads the checkpoint for these names. */
  readonly since: string;
  /** The first after it that no longer does. */
  readonly before?: string;
}

const rows: readonly Row[] = known.rows;
const byName = new Map<string, Row[]>();
for (const row of rows) for (const name of row.names) byName.set(name, [...(byName.get(name) ?? []), row]);

/**
 * The partly quantized checkpoint that a release of Unsloth loads for a name in 4 bits (`loader_utils.py`, `get_model_name`); undefined where
 * it loads the name itself, or one that is quantized as a whole. An unknown release is the newest.
 */
export function mappedCheckpoint(name: string, release: string | undefined): string | undefined {
  const found = byName.get(name.toLowerCase())?.find(({ since, before }) => {
    const begun = isAtLeast(release, since) !== false;
    return begun && (before === undefined || isAtLeast(release, before) === false);
  });
  return found?.checkpoint;
}

/** Checkpoints that Unsloth does not load although they are named (`BAD_MAPPINGS`). */
export function isReplaced(name: string): boolean {
  return known.replaced.includes(name.toLowerCase());
}
