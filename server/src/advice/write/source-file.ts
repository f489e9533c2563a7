import type { KeyPath } from '../../config/lookup';
import type { ConfigDocument } from '../../config/node';
import type { Dialect, Reading } from '../../dialects/dialect';
import { canonicalUri } from '../../text/uri';
import type { Whole } from '../../workspace/config-reading';

/** A file of the run as it stands, and what its family reads in it. */
export interface SourceFile {
  readonly uri: string;
  readonly text: string;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  /** The config that this one is read as, where it starts from others or is one that another starts from. */
  readonly whole?: Whole;
  /** The block of the merged config that this file is put into. */
  readonly package?: KeyPath;
}

/** A config, and the files that it is merged with as far as it takes values from them: keys may be written into each. */
export function withParts(source: SourceFile): SourceFile[] {
  const parts = source.whole?.parts ?? [];
  const views = parts.map((part): SourceFile => {
    const facts = source.reading.facts.flatMap((stated) =>
      stated.origin.location?.uri === part.uri && stated.origin.kind === 'linked-file'
        ? { ...stated, origin: { ...stated.origin, kind: 'file' as const } }
        : [],
    );
    return { ...source, ...part, reading: { facts, links: [], problems: [], autos: [] } };
  });
  return [source, ...views];
}

/** Where a key of the family stands in the file itself; undefined where it lies in no block of this file. */
export function pathInFile({ whole, package: own = [] }: SourceFile, path: KeyPath): KeyPath | undefined {
  const full = [...(whole?.block ?? []), ...path];
  return own.every((key, index) => full[index] === key) && full.length > own.length
    ? full.slice(own.length)
    : undefined;
}

/** Files once each; what a file is as part of a merged config counts before what it is alone. */
export function eachOnce(sources: readonly SourceFile[]): SourceFile[] {
  const byUri = new Map<string, SourceFile>();
  for (const source of sources) {
    const key = canonicalUri(source.uri);
    const known = byUri.get(key);
    if (!known) byUri.set(key, source);
    else if (source.package && !known.package) byUri.set(key, { ...source, uri: known.uri });
  }
  return [...byUri.values()];
}
