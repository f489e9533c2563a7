import { FIELD_PATHS } from '../run/fields';
import { type Fact, fact } from '../run/origin';
import { canonicalUri } from '../text/uri';
import type { Analysis } from '../workspace/analysis';
import type { World } from './world';
import { eachOnce, type SourceFile, withParts } from './write/source-file';

/** The files of the run that hold keys, the one at hand first. */
export async function sourcesOf(analysis: Analysis, world: World): Promise<SourceFile[]> {
  const sources = await Promise.all(analysis.files.map((uri) => world.source(uri)));
  const found = sources.flatMap((source, index) =>
    source ? withParts({ ...source, uri: analysis.files[index] ?? source.uri }) : [],
  );
  return eachOnce(found).map((source) => withTaken(source, analysis));
}

/** A file with what a program of the run takes from it, which the file does not state by itself: flags of a command, settings. */
function withTaken(source: SourceFile, { resolved }: Analysis): SourceFile {
  const own = canonicalUri(source.uri);
  const { facts } = source.reading;
  const taken = FIELD_PATHS.flatMap((field): Fact[] => {
    const [origin, value] = [resolved.origins[field], resolved.values[field]];
    const isHere = origin?.location && canonicalUri(origin.location.uri) === own;
    if (!origin || !isHere || value === undefined || facts.some((stated) => stated.field === field))
      return [];
    const isStated = /^(?:file|linked-file|overriding-file)$/.test(origin.kind);
    return isStated ? [fact(field, value as never, { ...origin, kind: 'file' })] : [];
  });
  return taken.length === 0
    ? source
    : { ...source, reading: { ...source.reading, facts: [...facts, ...taken] } };
}
