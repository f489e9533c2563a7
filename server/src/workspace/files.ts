import type { MapNode } from '../config/node';
import type { ConfigReading } from './config-reading';
import type { Confinement } from './host';

/** What following links needs from the workspace. Every question asked becomes a dependency of the analysis. */
export interface Files {
  exists(uri: string): Promise<boolean>;
  /** Names of the files in a folder, links to nowhere among them; undefined where there is none, or none can be listed. */
  list(uri: string): Promise<readonly string[] | undefined>;
  listFolders(uri: string): Promise<readonly string[] | undefined>;
  /** Undefined where there is no such file. */
  readText(uri: string): Promise<string | undefined>;
  /**
   * Reads a config; `dialect` is the family that the link states it is, where it is not known from the text. `choices` are
   * options of groups that the launch takes.
   */
  read(uri: string, dialect?: string, choices?: MapNode): Promise<ConfigReading | undefined>;
  readonly folders: readonly string[];
  /** Of `folders` those that hold a project of their own. */
  readonly apart?: readonly string[];
  /** Why nothing outside `folders` is read. */
  readonly confined?: Confinement;
  readonly home?: string;
}
