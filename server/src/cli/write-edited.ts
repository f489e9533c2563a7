import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { type TextChange, textEdits, withEdits } from '../advice/write/text-edits';
import { say } from '../wording/say';
import { readBytes } from '../workspace/bounded-read';

const LARGEST_FILE = 16 * 2 ** 20;
const LINE_FEED = 10;
/** Byte order mark of UTF-8. */
const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Changes a file from one text to another. Lines that do not change keep their bytes, whatever encoding they are in; a byte
 * order mark in front stays. The new file takes the place of the old one whole: where it cannot be written, on a full disk for
 * example, the old one stands. Throws where the file cannot be read or a changed line is not UTF-8.
 */
export async function writeEdited(file: string, before: string, after: string): Promise<void> {
  const target = await realpath(file);
  const bytes = await readBytes(target, LARGEST_FILE);
  if (!bytes) throw new Error(say('{0} cannot be read.', file));
  // Positions do not count the mark, but where the text at hand has it, too.
  const marked = bytes.subarray(0, MARK.length).equals(MARK) && !before.startsWith('\ufeff');
  const content = edited(marked ? bytes.subarray(MARK.length) : bytes, before, after, file);
  await replace(target, marked ? Buffer.concat([MARK, content]) : content);
}

function edited(bytes: Buffer, before: string, after: string, file: string): Buffer {
  const text = decoded(bytes);
  const edits = textEdits(before, after);
  if (text !== undefined) return Buffer.from(text === before ? after : withEdits(text, edits));
  const lines = linesOf(bytes);
  // From the end, so that the lines of the edits in front stay where they are.
  for (const edit of [...edits].reverse()) {
    const { start, end } = edit.range;
    const touched = decoded(Buffer.concat(lines.slice(start.line, end.line + 1)));
    if (touched === undefined)
      throw new Error(say('{0}: line {1} is not UTF-8 and cannot be changed.', file, String(start.line + 1)));
    const moved: TextChange = {
      ...edit,
      range: {
        start: { line: 0, character: start.character },
        end: { line: end.line - start.line, character: end.character },
      },
    };
    const made = Buffer.from(withEdits(touched, [moved]));
    lines.splice(start.line, end.line + 1 - start.line, made);
  }
  return Buffer.concat(lines);
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** With their line feeds. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, start)) {
    lines.push(bytes.subarray(start, at + 1));
    start = at + 1;
  }
  return [...lines, bytes.subarray(start)];
}

async function replace(target: string, content: Buffer): Promise<void> {
  const { mode } = await stat(target);
  const beside = path.join(path.dirname(target), `.${path.basename(target)}.${process.pid}.oomlint`);
  try {
    const file = await open(beside, 'wx', mode);
    try {
      await file.chmod(mode);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, target);
  } catch (error) {
    await unlink(beside).catch(() => undefined);
    throw error;
  }
}
