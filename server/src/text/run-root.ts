import { canonicalUri } from './uri';

const LINE = /#L(\d+)$/;

/** What a run is called after: the file that starts it, and its line where that starts several. Lines count from 1. */
export const runRoot = (uri: string, line?: number): string => (line === undefined ? uri : `${uri}#L${line}`);

/** The line of a root; undefined where its file starts one run. */
export function lineOfRoot(root: string): number | undefined {
  const line = LINE.exec(root)?.[1];
  return line === undefined ? undefined : Number(line);
}

/** One spelling of a root, which keeps its line. */
export const canonicalRoot = (root: string): string => runRoot(canonicalUri(root), lineOfRoot(root));
