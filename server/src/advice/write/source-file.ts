import type { ConfigDocument } from '../../config/node';
import type { Dialect, Reading } from '../../dialects/dialect';

/** A file of the run as it stands, and what its family reads in it. */
export interface SourceFile {
  readonly uri: string;
  readonly text: string;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
}
