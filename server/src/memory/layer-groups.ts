/**
 * Copies of a layer that are played request by request on the allocator. A deeper run is played as this many groups of
 * layers: of each group one layer is played, and what the others keep is added to it, so that depth costs nothing. So many that what the
 * allocator reserves comes out as layer by layer, to which a test holds it.
 */
const GROUPS = 12;

/** Layers beside the played one in each group of a run of so many. The first layer is a group of its own. */
export function groupsOf(layers: number): readonly number[] {
  if (layers <= GROUPS) return new Array<number>(layers).fill(0);
  const others = layers - GROUPS;
  const upTo = (i: number) => Math.floor((i * others) / (GROUPS - 1));
  return Array.from({ length: GROUPS }, (_, i) => (i === 0 ? 0 : upTo(i) - upTo(i - 1)));
}
