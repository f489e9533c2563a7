import type { Origin } from './origin';

/**
 * How surely a version is known: somebody states it; a lock file or an installation holds it; a release that is known asks for
 * exactly it; a requirement allows a range of which it is the newest; or nobody names any, and today's is taken.
 */
type VersionSource = 'stated' | 'locked' | 'pinned' | 'range' | 'assumed';

export interface KnownVersion {
  readonly version: string;
  readonly source: VersionSource;
  /** The oldest that a range allows. */
  readonly oldest?: string;
}

/** Versions of packages, by the name that pip knows them by. */
export type Versions = Readonly<Partial<Record<string, KnownVersion>>>;

/** How surely the version is known that an origin states. */
export function versionSourceOf({ kind, orElse, pinned }: Origin): VersionSource {
  if (orElse !== undefined) return 'range';
  if (kind === 'environment') return pinned === 'by-newest-release' ? 'assumed' : 'locked';
  if (kind === 'default' || kind === 'inferred') return pinned === 'by-known-release' ? 'pinned' : 'assumed';
  return 'stated';
}
