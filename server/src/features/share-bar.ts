/** Of a bar that is full. */
const CELLS = 4;
/** The left eighths of a cell, by how many there are. */
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;
const FULL = '█';

/** A share as a tiny bar, to an eighth of a character: full where the part takes all there is, or more; what there is at all is seen. */
export function shareBar(bytes: number, ofBytes: number): string {
  const eighths = Math.round((bytes / ofBytes) * CELLS * EIGHTHS.length);
  const drawn = Math.min(CELLS * EIGHTHS.length, Math.max(1, eighths));
  return FULL.repeat(Math.floor(drawn / EIGHTHS.length)) + (EIGHTHS[drawn % EIGHTHS.length] ?? '');
}
