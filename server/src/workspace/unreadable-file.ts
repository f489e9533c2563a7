import { isBroken } from '../config/problems';
import type { FileLink } from '../dialects/dialect';
import { ROLES } from '../dialects/link-roles';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { ConfigReading } from './config-reading';
import type { Files } from './files';

/** A file of a run of which nothing counts, though it may shard or offload. */
export interface UnseenFile {
  /** As it is written. */
  readonly path: string;
  /** It is there; otherwise nobody knows where it is. */
  readonly isHere: boolean;
}

/** Whether a run may be sharded by what a link names. */
export const mayShard = ({ role, optional }: FileLink): boolean =>
  ROLES[role].shards === true && optional !== true;

/** Of a text that is no UTF-8 bytes were replaced as it was read; one of UTF-16 has zeros between its letters. */
const NO_UTF8 = /\0|\uFFFD/;

/**
 * What is wrong with a file that is there and holds no keys that count; undefined where it has some. Frameworks stop on all but those
 * that only this machine cannot read: information alone.
 */
export async function unreadable(
  { path, range }: FileLink,
  uri: string,
  reading: ConfigReading | undefined,
  files: Files,
): Promise<Problem | undefined> {
  const found = (message: string, severity: Problem['severity'] = 'warning'): Problem => ({
    code: 'missing-file',
    severity,
    message: `${message} ${say('What it says is not part of the estimate.')}`,
    range,
  });
  const text = await files.readText(uri);
  if (text === undefined) {
    const isFolder = (await files.list(uri)) !== undefined || (await files.listFolders(uri)) !== undefined;
    return isFolder
      ? found(say('"{0}" is a folder.', path))
      : found(
          say('"{0}" cannot be read: it is too large, no plain file, or does not answer.', path),
          'information',
        );
  }
  if (text.trim() === '') return found(say('"{0}" is empty.', path));
  if (NO_UTF8.test(text)) return found(say('"{0}" is no text in UTF-8.', path));
  if (!reading) return found(say('"{0}" is no config that can be read.', path), 'information');
  // While a file is edited it is broken now and then, which its own problems report.
  if (reading.document.problems.some(({ code }) => code === 'syntax') && isBroken(reading.document))
    return found(say('"{0}" has errors in its syntax.', path), 'information');
  if (isBroken(reading.document) || (reading.whole?.document ?? reading.document).root?.kind === 'map')
    return undefined;
  return found(say('"{0}" holds no keys at its top.', path));
}
