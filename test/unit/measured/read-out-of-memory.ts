import { logLinesOf } from '../../../server/src/measured/log-line';
import { OutOfMemoryReader } from '../../../server/src/measured/out-of-memory';

/** What a log that is in memory states of memory that ran out. */
export function readOutOfMemory(text: string): ReturnType<OutOfMemoryReader['finish']> {
  const reader = new OutOfMemoryReader();
  for (const line of logLinesOf(text)) reader.add(line);
  return reader.finish();
}
