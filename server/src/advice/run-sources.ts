import type { Analysis } from '../workspace/analysis';
import type { World } from './world';
import { eachOnce, type SourceFile, withParts } from './write/source-file';

/** The files of the run that hold keys, the one at hand first. */
export async function sourcesOf(analysis: Analysis, world: World): Promise<SourceFile[]> {
  const sources = await Promise.all(analysis.files.map((uri) => world.source(uri)));
  return eachOnce(
    sources.flatMap((source, index) =>
      source ? withParts({ ...source, uri: analysis.files[index] ?? source.uri }) : [],
    ),
  );
}
