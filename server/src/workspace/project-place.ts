import { fileName, parentUri, relativePath } from '../text/uri';
import type { Analysis } from './analysis';
import type { Host } from './host';
import { PROJECT_FILE_NAMES } from './project-file-names';

/** The project file that holds for a config, or that would if it existed: then it has no text. */
export interface ProjectPlace {
  readonly uri: string;
  readonly text?: string;
}

/** The project file that holds for a config: the one that took part, or where a new one would be found. */
export async function projectPlace(
  host: Host,
  analysis: Pick<Analysis, 'uri' | 'files'>,
): Promise<ProjectPlace | undefined> {
  const present = analysis.files.find(
    (uri) => uri !== analysis.uri && PROJECT_FILE_NAMES.includes(fileName(uri)),
  );
  const uri = present ?? freshUri(host, analysis.uri);
  return uri === undefined ? undefined : { uri, text: await host.readText(uri) };
}

/** Beside the workspace folder's other files, or beside the config where no folder holds it. */
function freshUri(host: Host, config: string): string | undefined {
  const folders = host.folders.filter((uri) => relativePath(uri, config) !== undefined);
  const folder = folders.sort((a, b) => b.length - a.length)[0] ?? parentUri(config);
  return folder?.startsWith('file:') ? `${folder.replace(/\/$/, '')}/${PROJECT_FILE_NAMES[0]}` : undefined;
}
