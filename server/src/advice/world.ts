import type { Analysis } from '../workspace/analysis';
import type { ProjectPlace } from '../workspace/project-place';
import type { SourceFile } from './write/source-file';

/** What advice needs of a workspace: the files of a run, and a look at what other texts would mean. */
export interface World {
  /** A config file as it stands; undefined where it is none. */
  source(uri: string): Promise<SourceFile | undefined>;
  /** The project file that holds for a config, or would if it existed; undefined where there is no place for one. */
  project(analysis: Analysis): Promise<ProjectPlace | undefined>;
  /** Folders that are open. */
  readonly folders: readonly string[];
  /** Whether there is a file, of any kind. */
  exists(uri: string): Promise<boolean>;
  /** The analysis that a file would have if files had these texts (by URI). Nothing of it is kept. */
  preview(uri: string, texts: ReadonlyMap<string, string>): Promise<Analysis | undefined>;
}
