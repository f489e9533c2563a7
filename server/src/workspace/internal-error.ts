import type { ConfigDocument } from '../config/node';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import { firstKey } from './verdict';

/** Oomlint failed on this file; the rest of what is known still counts. */
export function internalError(error: unknown, document: ConfigDocument): Problem {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    code: 'internal-error',
    severity: 'warning',
    message: say('Oomlint failed on this file: {0}. Please report it with the file.', reason.slice(0, 200)),
    range: firstKey(document),
  };
}
